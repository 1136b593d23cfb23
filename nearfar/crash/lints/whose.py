"""Whose store or flush it is: the program's, or libpmemobj's own affair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nearfar.crash.sites import Sites
from nearfar.documents.workload import Frame

_BY_ORDER = (
    "pmemobj_mem",
    "pmemobj_persist",
    "pmemobj_xpersist",
    "pmemobj_flush",
    "pmemobj_xflush",
)
"""Functions of libpmemobj that do to the pool just what the program says."""
_BELOW = ("libc.so", "libc-", "libpthread", "ld-linux", "libnearfar_", "libpmem.")


def is_copy(frames: Sequence[Frame]) -> bool:
    """Return whether a flush is the end of libpmem's memcpy, memmove or memset."""
    return any(frame.function.startswith(("pmem_mem", "pmemobj_mem")) for frame in frames)


def is_users(frames: Sequence[Frame], *, flush: bool = False) -> bool:
    """Return whether a stack's store or flush was ordered by the program itself."""
    at = 0
    while at < len(frames) and frames[at].module.startswith(_BELOW):
        at += 1
    begin = at
    while at < len(frames) and frames[at].module.startswith("libpmemobj"):
        at += 1
    if at == begin:
        return True
    # pmemobj_persist and pmemobj_flush jump to a function without a name, and are not on the stack.
    if flush and at == begin + 1 and frames[begin].function.startswith("libpmemobj"):
        return True
    return frames[at - 1].function.startswith(_BY_ORDER)


class Whose:
    """Answers for stacks quickly: most are told apart by the files that their frames are in."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self._known: dict[tuple[int, ...], bool] = {}
        self._modules: dict[int, str] = {}

    def users(self, stack: tuple[int, ...]) -> bool:
        """Return whether the program itself ordered it."""
        if stack not in self._known:
            self._known[stack] = self._look(stack)
        return self._known[stack]

    def _look(self, stack: tuple[int, ...]) -> bool:
        for address in stack:
            module = self._module(address)
            if module.startswith("libpmemobj"):
                return is_users(self._sites.frames(stack))
            if module and not module.startswith(_BELOW):
                return True
        return True

    def _module(self, address: int) -> str:
        if address not in self._modules:
            self._modules[address] = Path(self._sites.place(address).module).name
        return self._modules[address]
