"""Trials of system calls, which show what this machine allows.

Each function returns 0 or the error number of its call; a trial changes nothing.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
import struct

NUMBERS = {
    "x86_64": {"perf_event_open": 298, "move_pages": 279, "userfaultfd": 323},
    "aarch64": {"perf_event_open": 241, "move_pages": 239, "userfaultfd": 282},
}
"""From Linux' arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h."""

ATTR_BYTES = 64  # PERF_ATTR_SIZE_VER0: every kernel takes it
HARDWARE, CACHE_MISSES = 0, 3  # PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES
DISABLED_USER_ONLY = 1 | 1 << 5 | 1 << 6  # disabled, exclude_kernel, exclude_hv
USER_MODE_ONLY = 1  # UFFD_USER_MODE_ONLY, since Linux 5.11


def try_cache_miss_counter() -> int:
    """Open a hardware counter of this process' own cache misses."""
    attr = struct.pack("=IIQQQQQ", HARDWARE, ATTR_BYTES, CACHE_MISSES, 0, 0, 0, DISABLED_USER_ONLY)
    attr = attr.ljust(ATTR_BYTES, b"\0")
    return _try_open("perf_event_open", ctypes.c_char_p(attr), 0, -1, -1, 0)


def try_userfaultfd() -> int:
    """Open a userfaultfd for faults of user mode, which needs no privilege."""
    return _try_open("userfaultfd", os.O_CLOEXEC | USER_MODE_ONLY)


def try_move_pages() -> int:
    """Query the node of a page of this process."""
    page = mmap.mmap(-1, mmap.PAGESIZE)
    page[0] = 1
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    pages = (ctypes.c_void_p * 1)(address)
    status = (ctypes.c_int * 1)()
    _, error = _call("move_pages", 0, ctypes.c_ulong(1), pages, None, status, 0)
    return error


def _try_open(name: str, *arguments: object) -> int:
    descriptor, error = _call(name, *arguments)
    if descriptor >= 0:
        os.close(descriptor)
    return error


def _call(name: str, *arguments: object) -> tuple[int, int]:
    """Return (result, 0) or (-1, error number)."""
    number = NUMBERS.get(platform.machine(), {}).get(name)
    if number is None:
        return -1, errno.ENOSYS
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    result = library.syscall(ctypes.c_long(number), *arguments)
    return result, 0 if result >= 0 else ctypes.get_errno()
