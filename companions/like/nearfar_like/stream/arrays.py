"""STREAM's functions and the interface of their arrays.

Elements are 64-bit integers below 2^32, not doubles: loads, stores, multiplications and additions
have the same number and width, and results can be checked exactly. STREAM's arrays change roles
from kernel to kernel; here every kernel writes the last of its arrays, and the arrays that it reads
must remain unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

ELEMENT_BYTES = 8
SCALAR = 3
"""Factor of Scale and Triad, as in STREAM."""


@dataclass(frozen=True)
class StreamFunction:
    """A function of STREAM."""

    name: str
    kernel: str
    arrays: int
    """Number of arrays read and written; as STREAM, without reads for ownership."""
    factors: tuple[int, ...] = ()
    """Factor of each source in the target; empty: nothing is written."""


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
        """Number of threads."""

    @property
    def llc_bytes(self) -> int:
        """Size of all last-level caches of the threads, bytes."""

    @property
    def notes(self) -> list[str]:
        """Notes to print before the table."""

    @property
    def verdict(self) -> str:
        """Sentence to print if all elements are right."""

    def prepare(self, elements: int) -> int:
        """Allocate three arrays of at least `elements`; return how many elements they have."""

    def fill(self, function: StreamFunction) -> None:
        """Write known values to all arrays."""

    def gb_per_s(self, function: StreamFunction) -> float:
        """Run one trial, about one pass."""

    def wrong(self, function: StreamFunction) -> list[str]:
        """Check every element; return what is wrong."""
