"""STREAM's functions, and what they run on.

Elements are 64-bit integers, not doubles: the loads, stores and additions are as many and as wide,
and results can be checked exactly. STREAM's arrays change roles from kernel to kernel; here every
kernel's target is the last of its arrays, and what it read is checked to be unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

ELEMENT_BYTES = 8
SCALAR = 3
"""STREAM's."""


@dataclass(frozen=True)
class StreamFunction:
    """One kernel."""

    name: str
    kernel: str
    arrays: int
    """Read and written; bytes counted as STREAM does, without reads for ownership."""
    factors: tuple[int, ...] = ()
    """What the target is of the sources: 3 means 3 times; empty: nothing is written."""


STREAM_FUNCTIONS: dict[str, StreamFunction] = {
    function.name: function
    for function in (
        StreamFunction("Copy", "stream-copy", 2, (1,)),
        StreamFunction("Scale", "stream-scale", 2, (SCALAR,)),
        StreamFunction("Add", "stream-add", 3, (1, 1)),
        StreamFunction("Triad", "stream-triad", 3, (1, SCALAR)),
        StreamFunction("Sum", "stream-sum", 1),
    )
}


class Arrays(Protocol):
    """Three arrays somewhere, and threads that work on them."""

    @property
    def threads(self) -> int:
        """How many work."""

    @property
    def llc_bytes(self) -> int:
        """Of all last-level caches that the threads have."""

    @property
    def notes(self) -> list[str]:
        """What is to be said before the table."""

    @property
    def verdict(self) -> str:
        """What is said if nothing is wrong."""

    def prepare(self, elements: int) -> int:
        """Take memory for three arrays of at least `elements`; return how many they have."""

    def fill(self, function: StreamFunction) -> None:
        """Write known values to all arrays."""

    def gb_per_s(self, function: StreamFunction) -> float:
        """Run one trial, about one pass."""

    def wrong(self, function: StreamFunction) -> list[str]:
        """Check every element; return what is wrong."""
