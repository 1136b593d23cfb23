"""Where a process' pages are, asked of the kernel by move_pages and not by nearfar."""

from __future__ import annotations

import ctypes
from collections import Counter
from pathlib import Path

PAGE = 4096
MOVE_PAGES = 279
"""System call number, x86-64."""
NEAR_SLOTS = range(16 << 40, 24 << 40)
FAR_SLOTS = range(24 << 40, 72 << 40)
"""Addresses of blocks under `nearfar run` (nearfar/run/layout.py): near, then every far target."""

_libc = ctypes.CDLL(None, use_errno=True)


def resident_by_node(pid: int, where: range) -> Counter[int]:
    """Return bytes by node of the pages that the process has in these addresses."""
    pages: list[int] = []
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        low, high = (int(word, 16) for word in line.split()[0].split("-"))
        if low in where and " r" in line:
            pages += range(low, high, PAGE)
    found: Counter[int] = Counter()
    if not pages:
        return found
    count = len(pages)
    addresses = (ctypes.c_void_p * count)(*pages)
    status = (ctypes.c_int * count)()
    if _libc.syscall(MOVE_PAGES, pid, ctypes.c_ulong(count), addresses, None, status, 0) != 0:
        raise OSError(ctypes.get_errno(), "move_pages")
    for node in status:
        if node >= 0:  # Below: no page there.
            found[node] += PAGE
    return found
