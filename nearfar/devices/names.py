"""Names of the devices that come with nearfar: one TOML file each."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent

PAGED_FOLDER = FOLDER / "paged"
"""Paged memories: only the model `paged` can predict with them."""


def device_names() -> list[str]:
    """Return the names of the library's devices that serve single accesses, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def paged_names() -> list[str]:
    """Return the names of the library's paged memories, sorted."""
    return sorted(path.stem for path in PAGED_FOLDER.glob("*.toml"))
