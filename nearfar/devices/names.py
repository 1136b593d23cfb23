"""Names of the devices that come with nearfar: one TOML file each."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def device_names() -> list[str]:
    """Return the names of the library's devices, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))
