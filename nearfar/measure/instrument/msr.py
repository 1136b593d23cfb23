"""Prefetchers that are switched off, from the processor's registers where they are readable.

Tools that switch prefetchers off for a measurement (MLC does) and are killed leave them off until
the next boot, and every later measurement differs.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nearfar.machine.sysfs import Tree
from nearfar.machine.virtualisation import read_virtualisation
from nearfar.measure.instrument.verdict import InstrumentVerdict


@dataclass(frozen=True)
class Register:
    """Model-specific register whose set bits switch prefetchers off."""

    address: int
    bits: Mapping[int, str]
    source: str


REGISTERS = {
    "GenuineIntel": Register(
        0x1A4,
        {0: "L2 stream", 1: "L2 adjacent line", 2: "L1 next line", 3: "L1 stride"},
        "Intel, Disclosure of H/W prefetcher control on some Intel processors, 2014",
    ),
    "AuthenticAMD": Register(
        0xC0000108,
        {0: "L1 stream", 1: "L1 stride", 2: "L1 region", 3: "L2 stream", 5: "L2 up/down"},
        "AMD64 Architecture Programmer's Manual volume 2, PrefetchControl (Zen 4 and later)",
    ),
}


def judge(cpus: tuple[int, ...], root: Path = Path("/")) -> InstrumentVerdict:
    """Judge which prefetchers of `cpus` are switched off."""
    tree = Tree(root)
    vendor = tree.table("proc/cpuinfo").get("vendor_id", "")
    register = REGISTERS.get(vendor)
    if register is None:
        return _unread(f"processors of {vendor or 'this maker'} have no register known to nearfar")
    off: set[str] = set()
    for cpu in cpus:
        path = root / f"dev/cpu/{cpu}/msr"
        try:
            value = _read(path, register.address)
        except FileNotFoundError:
            return _unread(f"{path} is missing", "modprobe msr")
        except PermissionError:
            return _unread(f"{path} may only be read by root", "run as root once to see it")
        except OSError as error:
            if error.errno in (errno.EIO, errno.ENXIO):
                return _unread(f"this processor has no register {register.address:#x}")
            return _unread(f"{path}: {error.strerror}")
        off |= {name for bit, name in register.bits.items() if value >> bit & 1}
    hypervisor = read_virtualisation(tree)
    shown = "" if hypervisor == "none" else f", as {hypervisor} shows it"
    kept = {"prefetchers_off": ",".join(sorted(off)) or "none"}
    if off:
        text = f"prefetchers are switched off ({', '.join(sorted(off))}{shown})"
        remedy = (
            "if you did not do this, a tool left them switched off: "
            f"wrmsr -a {register.address:#x} 0, or reboot"
        )
        return InstrumentVerdict("prefetchers", "doubtful", text, remedy, kept)
    return InstrumentVerdict(
        "prefetchers", "good", f"all prefetchers are switched on{shown}", facts=kept
    )


def _read(path: Path, address: int) -> int:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        data = os.pread(descriptor, 8, address)
    finally:
        os.close(descriptor)
    if len(data) != 8:
        raise OSError(errno.EIO, "short read")
    return int.from_bytes(data, "little")


def _unread(why: str, remedy: str = "") -> InstrumentVerdict:
    return InstrumentVerdict(
        "prefetchers",
        "unknown",
        f"whether prefetchers are switched off could not be read: {why}",
        remedy,
        {"prefetchers_off": f"unknown: {why}" + (f" ({remedy})" if remedy else "")},
    )
