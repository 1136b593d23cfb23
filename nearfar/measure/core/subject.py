"""The interface through which a core is probed, and this machine's core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes
from nearfar.measure import room
from nearfar.measure.native import _measure
from nearfar.memories.topology import Topology

Array = NDArray[np.float64]

CHAIN_BYTES, MOST_CHAIN_BYTES = 256 << 20, 2 << 30
"""Size of the memory whose misses are used, at least and at most: reads of a line are far apart in
time, and to link it takes some seconds a GiB."""

PAGES_BYTES = 256 << 20
"""Size of the memory of each page size: the largest footprint of page walks."""

HUGE_BYTES = 2 << 20


class CoreLacksError(NearfarError):
    """A probe cannot run here; the sentence says why."""


class CoreSubject(Protocol):
    """A core that can be probed. Arrays are ns by point and by trial, or by trial alone."""

    def overlap(self, fillers: Sequence[str], counts: Sequence[int], trials: int) -> Array:
        """Return ns per round of two misses, each with so many `fillers` behind it."""

    def chains(self, counts: Sequence[int], trials: int) -> Array:
        """Return ns per round of so many misses at once."""

    def dependent(self, operation: str, trials: int) -> Array:
        """Return ns per operation, each on the result of the one before."""

    def throughput(self, filler: str, trials: int) -> Array:
        """Return ns per instruction of independent ones."""

    def branches(self, trials: int) -> Array:
        """Return ns per branch, in one direction and in random directions."""

    def chase(self, step_bytes: int, count: int, page_bytes: int, trials: int) -> Array:
        """Return ns per dependent read of `count` lines, one in each step of the memory."""

    def after_stream(
        self, length: int, stride_bytes: int, ahead: int, trials: int, *, at_page_end: bool = False
    ) -> Array:
        """Return ns of a read `ahead` strides beyond a stream of `length` reads."""


class NativeCore:
    """The core of one of this machine's CPUs; holds memory while it exists."""

    def __init__(self, machine: Topology) -> None:
        """Map memory for misses: eight times the last-level cache, less where memory is short."""
        wanted = max(CHAIN_BYTES, room.CACHES_PER_REGION * machine.llc_bytes)
        usable = int(room.available_bytes() * room.USABLE_SHARE)
        size = min(wanted, MOST_CHAIN_BYTES, usable // 2)
        if usable < CHAIN_BYTES:
            raise CoreLacksError(
                f"measuring a core needs {format_bytes(CHAIN_BYTES)} of memory, and only "
                f"{format_bytes(usable)} may be used: end other programs",
                ExitCode.MACHINE_LACKS,
            )
        self._cpu = machine.cpus[0]
        self._largest = min(PAGES_BYTES, usable // 4) // HUGE_BYTES * HUGE_BYTES
        self._probe = _measure.CoreProbe(size // HUGE_BYTES * HUGE_BYTES, self._cpu, 1)
        self._pages: dict[int, Any] = {}

    def overlap(self, fillers: Sequence[str], counts: Sequence[int], trials: int) -> Array:
        """Return ns per round of two misses, each with so many `fillers` behind it."""
        check_code()
        return _rows(self._probe.overlap(list(fillers), list(counts), trials), len(counts))

    def chains(self, counts: Sequence[int], trials: int) -> Array:
        """Return ns per round of so many misses at once."""
        check_code()
        return _rows(self._probe.chains(list(counts), trials), len(counts))

    def dependent(self, operation: str, trials: int) -> Array:
        """Return ns per operation, each on the result of the one before."""
        check_code()
        if operation not in _measure.operation_names():
            raise CoreLacksError(f"this processor has no {operation}")
        return _trials(self._probe.dependent(operation, trials))

    def throughput(self, filler: str, trials: int) -> Array:
        """Return ns per instruction of independent ones."""
        check_code()
        return _trials(self._probe.throughput(filler, trials))

    def branches(self, trials: int) -> Array:
        """Return ns per branch, in one direction and in random directions."""
        check_code()
        return _rows(self._probe.branches(trials), 2)

    def chase(self, step_bytes: int, count: int, page_bytes: int, trials: int) -> Array:
        """Return ns per dependent read of `count` lines, one in each step of the memory."""
        if step_bytes * count > self._largest:
            raise CoreLacksError(f"only {format_bytes(self._largest)} of memory are free")
        if page_bytes not in self._pages:
            pages = "thp" if page_bytes == HUGE_BYTES else "4k"
            self._pages[page_bytes] = _measure.Memory.anonymous(self._largest, pages, None)
        memory = self._pages[page_bytes]
        return _trials(_measure.spread_chase(memory, step_bytes, count, self._cpu, trials))

    def after_stream(
        self, length: int, stride_bytes: int, ahead: int, trials: int, *, at_page_end: bool = False
    ) -> Array:
        """Return ns of a read `ahead` strides beyond a stream of `length` reads."""
        times = self._probe.after_stream(length, stride_bytes, ahead, at_page_end, trials)
        return _trials(times)


def check_code() -> None:
    """Raise CoreLacksError if code cannot be generated: by this architecture or this system."""
    missing = _measure.missing_code()
    if missing:
        raise CoreLacksError(missing)
    try:
        _measure.check_code()
    except OSError as error:
        raise CoreLacksError(
            f"this system forbids generated code ({error.strerror}): allow memory that is first "
            "written and then executed (SELinux: execmem)"
        ) from error


def _rows(times: Any, rows: int) -> Array:
    return np.asarray(times, dtype=np.float64).reshape(rows, -1)


def _trials(times: Any) -> Array:
    return np.asarray(times, dtype=np.float64)
