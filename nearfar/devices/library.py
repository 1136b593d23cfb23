"""Devices by spec: those that come with nearfar, and files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from nearfar.base.errors import NearfarError, nearest
from nearfar.devices.check import check_device
from nearfar.devices.names import FOLDER, PAGED_FOLDER, device_names, paged_names
from nearfar.devices.toml_read import read_toml
from nearfar.documents import DeviceProfile, load

__all__ = ["FOLDER", "device_names", "host_dram", "load_device", "load_devices", "paged_names"]


def load_device(spec: str | DeviceProfile) -> DeviceProfile:
    """Return the device that `spec` is or names: of the library, or of a .toml or .json file."""
    if isinstance(spec, DeviceProfile):
        return spec
    path = Path(spec)
    if path.suffix.lower() in (".toml", ".json") or "/" in spec:
        return _from_file(path)
    name = spec.lower()
    if name in paged_names():
        return read_toml(PAGED_FOLDER / f"{name}.toml")
    if name not in device_names():
        file_hint = f" (for a file write ./{spec})" if path.is_file() else ""
        hint = nearest(name, [*device_names(), *paged_names()])
        hint = hint or "; `nearfar device list` shows all"
        if "," in name:
            hint = "; name each on its own, such as --far A --far B"
        raise NearfarError(f"there is no device {spec!r}{file_hint}{hint}")
    return read_toml(FOLDER / f"{name}.toml")


def load_devices(specs: Sequence[str | DeviceProfile]) -> list[DeviceProfile]:
    """Return the devices without repetition; ``all``: the library's, without paged ones."""
    if list(specs) == ["all"]:
        return [load_device(name) for name in device_names()]
    distinct: dict[object, str | DeviceProfile] = {}
    for spec in specs:
        distinct.setdefault(spec if isinstance(spec, str) else id(spec), spec)
    return [load_device(spec) for spec in distinct.values()]


def host_dram(device: DeviceProfile) -> DeviceProfile | None:
    """Return the local DRAM of the machine on which `device` was measured, None if unknown.

    Raises NearfarError if the named device is a far memory itself.
    """
    if device.host_dram is None:
        return None
    host = _library_device(device.host_dram)
    if host.host_dram is not None:
        raise NearfarError(
            f"device {device.name!r} names {host.name!r} as local DRAM (host_dram), but that is a "
            f"far memory next to {host.host_dram!r}: name local DRAM, or leave the key out"
        )
    return host


@cache
def _library_device(name: str) -> DeviceProfile:
    return load_device(name)


def _from_file(path: Path) -> DeviceProfile:
    if path.suffix.lower() == ".toml":
        return read_toml(path)
    device = load(path, DeviceProfile)
    problem = check_device(device)
    if problem is not None:
        where, clause = problem
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where)
        raise NearfarError(f"{path} is not a valid device: at ${place}: {clause}")
    return device
