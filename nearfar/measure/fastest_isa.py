"""Choice of the instruction set whose loop moves most bytes on this processor.

The widest is not always the fastest: an AMD EPYC (family 25, model 17) reads 18 GB/s with AVX-512,
27 GB/s with AVX2 and 25 GB/s with SSE2 (likwid-bench: 23, 26 and 28), while an Intel Xeon (Emerald
Rapids) reads most with AVX-512.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nearfar.measure.native import _measure

if TYPE_CHECKING:
    from nearfar._measure import Worker

ROUNDS = 5
TRIAL_NS = 5e6
WARM_UP_NS = 1e6
"""Turns of each instruction set, and the time of one: 90 ms a kernel. Sets whose difference this
does not show may as well be used."""


@dataclass
class FastestIsa:
    """The fastest instruction set of each kernel, tried once."""

    _chosen: dict[str, str] = field(default_factory=dict, init=False)

    def of_kernel(self, kernel: str, make: Callable[[str], Worker]) -> str:
        """Return the instruction set (sse2, avx2, avx512) of a kernel.

        The first call for a kernel runs the workers that `make` makes for each set, one at a time.
        They must not pause between accesses.
        """
        if kernel not in self._chosen:
            self._chosen[kernel] = _fastest(kernel, make)
        return self._chosen[kernel]

    def chosen(self, kernel: str) -> str:
        """Return the instruction set of a kernel; empty: none was chosen yet."""
        return self._chosen.get(kernel, "")

    def all_chosen(self) -> list[str]:
        """Return the instruction sets in use, sorted."""
        return sorted(set(self._chosen.values()))


def _fastest(name: str, make: Callable[[str], Worker]) -> str:
    kernel = next(kernel for kernel in _measure.kernels() if kernel.name == name)
    usable = [isa for isa in _measure.isas() if not kernel.missing(isa)]
    candidates = [isa for isa in usable if isa != "scalar"] or usable
    if len(candidates) < 2:
        return candidates[0]
    workers = {isa: make(isa) for isa in candidates}
    rates: dict[str, list[float]] = {isa: [] for isa in candidates}
    for _ in range(ROUNDS):
        for isa, worker in workers.items():
            together = _measure.together([worker], TRIAL_NS, WARM_UP_NS)
            rates[isa].append(together.each[0].gb_per_s)
    return max(candidates, key=lambda isa: statistics.median(rates[isa]))
