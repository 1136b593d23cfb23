"""The requested target: ``--to mixed:50%`` and the like, parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.units import parse_size_bytes

FORMS = {
    "app-direct": "all Optane capacity as persistent memory",
    "memory-mode": "all Optane capacity as memory, DRAM as its cache",
    "mixed:N%": "N % of it as memory, the rest persistent",
    "fsdax": "a namespace with a file system, mounted with DAX",
    "devdax": "a device that programs map",
    "system-ram": "memory of a node of its own",
    "emulated-pmem:SIZE": "DRAM set aside at boot as persistent memory (0B gives it back)",
}


@dataclass(frozen=True)
class ConversionRequest:
    """One conversion."""

    to: str
    """The request as the user typed it, such as mixed:50%."""
    target: str
    """Name of its target, such as mixed."""
    percent: int = 0
    size_bytes: int = 0
    device: str | None = None
    file_system: str = "ext4"


def parse_request(to: str, device: str | None, file_system: str) -> ConversionRequest:
    """Return the parsed request; raises NearfarError for an invalid one."""
    name, colon, argument = to.partition(":")
    percent = size = 0
    if name == "mixed":
        match = re.fullmatch(r"([0-9]{1,2})%", argument)
        percent = int(match[1]) if match else 0
        if percent == 0:
            raise NearfarError(
                f"cannot read --to {to!r}: write a share from 1% to 99%, such as mixed:50% "
                "(for all or nothing: memory-mode, app-direct)"
            )
    elif name == "emulated-pmem":
        if not colon:
            raise NearfarError("--to emulated-pmem needs a size, such as emulated-pmem:4GiB")
        size = parse_size_bytes(argument)
        if size % EMULATED_STEP_BYTES:
            raise NearfarError(
                f"emulated persistent memory of {argument} would be misaligned: give a multiple "
                "of 128MiB"
            )
    elif to not in FORMS:
        hint = nearest(name, [form.partition(":")[0] for form in FORMS])
        raise NearfarError(f"there is no --to {to!r}{hint}; there are: {', '.join(FORMS)}")
    if device is not None:
        device = device.removeprefix("/dev/")
        if not re.fullmatch(r"(namespace|pmem|dax|region)[0-9]+(\.[0-9]+)?s?", device):
            raise NearfarError(
                f"{device!r} is no name of far memory: give one such as namespace0.0, pmem0, "
                "dax0.0 or region0"
            )
    return ConversionRequest(
        to=to,
        target=name,
        percent=percent,
        size_bytes=size,
        device=device,
        file_system=file_system,
    )


EMULATED_STEP_BYTES = 128 << 20
"""The kernel's memory section on x86-64: a region that begins or ends inside one is misaligned."""
