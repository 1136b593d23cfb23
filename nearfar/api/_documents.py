"""Documents that options name: already in memory, or in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from nearfar.documents import DeviceProfile, Document

DocumentT = TypeVar("DocumentT", bound="Document")


def loaded(value: Path | DocumentT, kind: type[DocumentT]) -> DocumentT:
    """Return a document, read from its file if a path is given."""
    from nearfar.documents import load

    return load(value, kind) if isinstance(value, Path) else value


def origin(value: object) -> str:
    """Return the path of a document, or nothing if it was given in memory."""
    return str(value) if isinstance(value, Path) else ""


def near_device(value: str | DeviceProfile) -> DeviceProfile:
    """Return near memory."""
    from nearfar.devices.library import load_near

    return load_near(value) if isinstance(value, str) else value


def devices(values: Sequence[str | DeviceProfile]) -> list[DeviceProfile]:
    """Return memories without repetition; ``all`` alone is the whole library."""
    from nearfar.devices.library import device_names, load_device

    if list(values) == ["all"]:
        return [load_device(name) for name in device_names()]
    specs: dict[object, str | DeviceProfile] = {}
    for value in values:
        specs.setdefault(value if isinstance(value, str) else id(value), value)
    return [load_device(spec) if isinstance(spec, str) else spec for spec in specs.values()]
