"""The devices that come with nearfar, and devices in files, by one spec."""

from __future__ import annotations

from pathlib import Path

from nearfar.base.errors import NearfarError, nearest
from nearfar.devices.check import check_device
from nearfar.devices.toml_read import read_toml
from nearfar.documents import DeviceProfile, load

FOLDER = Path(__file__).parent


def device_names() -> list[str]:
    """Return the names of the library's devices, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_device(spec: str) -> DeviceProfile:
    """Return the device `spec` names: one of the library, or a path to a .toml or .json file."""
    path = Path(spec)
    if path.suffix.lower() in (".toml", ".json") or "/" in spec:
        return _from_file(path)
    name = spec.lower()
    if name not in device_names():
        beside = f" (for a file write ./{spec})" if path.is_file() else ""
        hint = nearest(name, device_names()) or "; `nearfar device list` shows all"
        raise NearfarError(f"there is no device {spec!r}{beside}{hint}")
    return read_toml(FOLDER / f"{name}.toml")


def load_near(spec: str) -> DeviceProfile:
    """Return the near memory that `spec` names: the same specs as for the far one."""
    return load_device(spec)


def _from_file(path: Path) -> DeviceProfile:
    if path.suffix.lower() == ".toml":
        return read_toml(path)
    device = load(path, DeviceProfile)
    problem = check_device(device)
    if problem is not None:
        where, what = problem
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where)
        raise NearfarError(f"{path} is not a valid device: at ${place}: {what}")
    return device
