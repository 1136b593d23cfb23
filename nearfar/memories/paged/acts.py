"""Acts that change the machine to set up swap and limits; each can be shown, done, recorded."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import re
import shlex
import signal
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from nearfar.base.errors import ExitCode, NearfarError

ZRAM_CONTROL = Path("/sys/class/zram-control")
_PRIORITY_FLAG = 0x8000
"""SWAP_FLAG_PREFER of swapon(2)."""
_YOUNG_S = 5.0
"""Time between the record of an intention and its act, at most."""
_PATIENCE_S = 20.0
"""Time that a group's processes may take to end after SIGKILL: swapped pages are freed first."""

Kind = Literal[
    "write", "allocate", "unlink", "mkswap", "swapon", "swapoff", "remove-zram",
    "remove-new-zram", "make-group", "end-group",
]  # fmt: skip


class Act(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One act."""

    kind: Kind
    path: str
    text: str = ""

    def command(self) -> str:
        """Return the shell command that does the same as this act."""
        path = shlex.quote(self.path)
        shown = {
            "write": f"echo {shlex.quote(self.text)} > {path}",
            "allocate": f"fallocate -l {self.text} {path}",
            "unlink": f"rm {path}",
            "swapon": f"swapon --priority {self.text} {path}",
            "remove-zram": f"echo {number_of(self.path)} > {ZRAM_CONTROL}/hot_remove",
            "remove-new-zram": f"echo N > {ZRAM_CONTROL}/hot_remove",
            "make-group": f"mkdir {path}",
            "end-group": f"rmdir {path}",
        }
        return shown.get(self.kind, f"{self.kind} {path}")

    def do(self) -> None:
        """Do the act; raises NearfarError if it fails."""
        try:
            _DO[self.kind](self)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise NearfarError(
                f"cannot set up the paged memory: `{self.command()}` failed ({why})",
                ExitCode.MACHINE_LACKS,
            ) from error


def number_of(path: str) -> str:
    """Return the number at the end of a device's name."""
    match = re.search(r"[0-9]+$", path)
    return match[0] if match else "N"


def write(path: Path, text: str) -> None:
    """Write to an existing file of the Linux kernel's interface."""
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def _allocate(act: Act) -> None:
    handle = os.open(act.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(handle, 0, int(act.text))
    finally:
        os.close(handle)


def _mkswap(act: Act) -> None:
    """Write the header of swap space (version 1) into its first page."""
    handle = os.open(act.path, os.O_RDWR | os.O_CLOEXEC)
    try:
        pages = os.lseek(handle, 0, os.SEEK_END) // mmap.PAGESIZE
        header = bytearray(mmap.PAGESIZE)
        struct.pack_into("=III", header, 1024, 1, pages - 1, 0)
        header[-10:] = b"SWAPSPACE2"
        os.pwrite(handle, header, 0)
        os.fsync(handle)
    finally:
        os.close(handle)


def _swap(name: str, *arguments: object) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    while getattr(library, name)(*arguments) != 0:
        # A signal ends swapoff while pages are still swapped, even if it is held back.
        if (number := ctypes.get_errno()) != errno.EINTR:
            raise OSError(number, name)


def _swapon(act: Act) -> None:
    _swap("swapon", os.fsencode(act.path), _PRIORITY_FLAG | int(act.text))


def _swapoff(act: Act) -> None:
    if is_swap(act.path):
        _swap("swapoff", os.fsencode(act.path))


def is_swap(path: str) -> bool:
    """Return whether the kernel swaps to `path` now."""
    lines = Path("/proc/swaps").read_text().splitlines()[1:]
    return any(line.split()[0] == path for line in lines)


def _remove_zram(act: Act) -> None:
    if Path(act.path).exists():
        write(ZRAM_CONTROL / "hot_remove", number_of(act.path))


def _remove_new_zram(act: Act) -> None:
    """Remove an unused zram device that appeared after its creation was recorded.

    Its number was not recorded, because the process was killed while the kernel made the device.
    """
    when_s, *before = act.text.split()
    for folder in Path("/sys/block").glob("zram*"):
        device = Path("/dev") / folder.name
        with contextlib.suppress(OSError):
            young = 0 <= device.stat().st_ctime - float(when_s) + 1 <= _YOUNG_S
            unused = (folder / "disksize").read_text().strip() == "0"
            if folder.name not in before and young and unused:
                write(ZRAM_CONTROL / "hot_remove", number_of(folder.name))


def _end_group(act: Act) -> None:
    """End all processes of the group and of the groups below it, then remove it."""
    group = Path(act.path)
    begun = time.monotonic()
    while group.is_dir():
        for below in sorted(group.glob("**/cgroup.procs"), reverse=True):
            for word in below.read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(word), signal.SIGKILL)
        try:
            for folder in sorted((p.parent for p in group.glob("**/cgroup.procs")), reverse=True):
                folder.rmdir()
        except OSError:
            if time.monotonic() - begun > _PATIENCE_S:
                raise
            time.sleep(0.02)


_DO: dict[Kind, Callable[[Act], None]] = {
    "write": lambda act: write(Path(act.path), act.text),
    "allocate": _allocate,
    "unlink": lambda act: Path(act.path).unlink(missing_ok=True),
    "mkswap": _mkswap,
    "swapon": _swapon,
    "swapoff": _swapoff,
    "remove-zram": _remove_zram,
    "remove-new-zram": _remove_new_zram,
    "make-group": lambda act: Path(act.path).mkdir(),
    "end-group": _end_group,
}
