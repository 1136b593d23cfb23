"""Finds whether the program requested a store or flush, or libpmemobj made it for itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nearfar.crash.symbols import TraceSymbols
from nearfar.documents.workload import Frame

_DIRECT_FUNCTIONS = (
    "pmemobj_mem",
    "pmemobj_persist",
    "pmemobj_xpersist",
    "pmemobj_flush",
    "pmemobj_xflush",
)
"""Functions of libpmemobj that do exactly what the program requests."""
_LOWER_LIBRARIES = ("libc.so", "libc-", "libpthread", "ld-linux", "libnearfar_", "libpmem.")


def is_copy(frames: Sequence[Frame]) -> bool:
    """Return whether a flush is the end of libpmem's memcpy, memmove or memset."""
    return any(frame.function.startswith(("pmem_mem", "pmemobj_mem")) for frame in frames)


def is_from_program(frames: Sequence[Frame], *, flush: bool = False) -> bool:
    """Return whether the program itself requested the store or flush with this stack."""
    at = 0
    while at < len(frames) and frames[at].module.startswith(_LOWER_LIBRARIES):
        at += 1
    begin = at
    while at < len(frames) and frames[at].module.startswith("libpmemobj"):
        at += 1
    if at == begin:
        return True
    # pmemobj_persist and pmemobj_flush jump to a function without a name, and are not on the stack.
    if flush and at == begin + 1 and frames[begin].function.startswith("libpmemobj"):
        return True
    return frames[at - 1].function.startswith(_DIRECT_FUNCTIONS)


class StackOrigins:
    """Cached answers by stack; the files of its frames decide most stacks without symbols."""

    def __init__(self, symbols: TraceSymbols) -> None:
        self._symbols = symbols
        self._cache: dict[tuple[int, ...], bool] = {}
        self._modules: dict[int, str] = {}

    def from_program(self, stack: tuple[int, ...]) -> bool:
        """Return whether the program itself requested the store or flush."""
        if stack not in self._cache:
            self._cache[stack] = self._is_from_program(stack)
        return self._cache[stack]

    def _is_from_program(self, stack: tuple[int, ...]) -> bool:
        for address in stack:
            module = self._module(address)
            if module.startswith("libpmemobj"):
                return is_from_program(self._symbols.frames(stack))
            if module and not module.startswith(_LOWER_LIBRARIES):
                return True
        return True

    def _module(self, address: int) -> str:
        if address not in self._modules:
            self._modules[address] = Path(self._symbols.place(address).module).name
        return self._modules[address]
