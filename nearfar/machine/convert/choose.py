"""Which device a request means: the one it names, or the only one there is."""

from __future__ import annotations

from nearfar.base.errors import ExitCode, NearfarError, nearest
from nearfar.base.units import format_bytes
from nearfar.machine.convert.request import ConversionRequest
from nearfar.machine.convert.state import ConvertibleMemory, all_far
from nearfar.machine.sysfs import Tree


def choose(tree: Tree, request: ConversionRequest) -> ConvertibleMemory:
    """Return the device; refuse where there is none, or several and no name."""
    devices = all_far(tree)
    if not devices:
        raise NearfarError(
            "this machine has no persistent memory, no device-dax and no CXL region to convert; "
            "see what there is with: nearfar machine --check",
            ExitCode.MACHINE_LACKS,
        )
    shown = ", ".join(f"{far.name} ({far.mode}, {format_bytes(far.size_bytes)})" for far in devices)
    if request.device is None:
        if len(devices) == 1:
            return devices[0]
        raise NearfarError(f"there are several devices, name the one to convert: {shown}")
    for far in devices:
        if request.device in far.names():
            return far
    names = sorted(name for far in devices for name in far.names())
    raise NearfarError(
        f"there is no {request.device}{nearest(request.device, names)}; there are: {shown}"
    )
