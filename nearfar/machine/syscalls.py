"""System calls that Python does not offer, and trials that show what this machine allows.

Each trial returns 0 or the error number of its call, and changes nothing.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
import struct

NUMBERS = {
    "x86_64": {
        "set_mempolicy": 238,
        "get_mempolicy": 239,
        "move_pages": 279,
        "perf_event_open": 298,
        "userfaultfd": 323,
        "process_madvise": 440,
    },
    "aarch64": {
        "get_mempolicy": 236,
        "set_mempolicy": 237,
        "move_pages": 239,
        "perf_event_open": 241,
        "userfaultfd": 282,
        "process_madvise": 440,
    },
}
"""From Linux' arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

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
    _, error = call("move_pages", 0, ctypes.c_ulong(1), pages, None, status, 0)
    return error


def _try_open(name: str, *arguments: object) -> int:
    descriptor, error = call(name, *arguments)
    if descriptor >= 0:
        os.close(descriptor)
    return error


def call(name: str, *arguments: object) -> tuple[int, int]:
    """Make a system call; return (result, 0) or (-1, error number).

    A call whose number is not known for this architecture fails as on a kernel that lacks it.
    """
    number = NUMBERS.get(platform.machine(), {}).get(name)
    if number is None:
        return -1, errno.ENOSYS
    result = _libc.syscall(ctypes.c_long(number), *arguments)
    return result, 0 if result >= 0 else ctypes.get_errno()
