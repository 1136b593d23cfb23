"""Choice of the instruction set whose loop moves most bytes on this processor.

The widest is not always the fastest: an AMD EPYC (family 25, model 17) reads 18 GB/s with AVX-512,
27 GB/s with AVX2 and 25 GB/s with SSE2 (likwid-bench: 23, 26 and 28), while an Intel Xeon (Emerald
Rapids) reads most with AVX-512.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from nearfar.measure.native import _measure

if TYPE_CHECKING:
    from nearfar._measure import Memory, Worker

ROUNDS = 9
QUICK_ROUNDS = 3
"""Turns of each instruction set. Sets whose difference they do not show may as well be used."""

TRIAL_NS = 20e6
WARM_UP_NS = 3e6
"""Timed and warm-up time, as in a sample: less would stay in a large last-level cache."""

MAX_BEHIND = 0.05
"""How far a set may be behind the fastest to go on after QUICK_ROUNDS."""


@dataclass
class FastestIsa:
    """The fastest instruction set of each kernel, tried once."""

    rounds: int = ROUNDS
    _chosen: dict[str, str] = field(default_factory=dict, init=False)

    def of_kernel(self, kernel: str, cpu: int, memory: Memory, second: Memory | None = None) -> str:
        """Return the instruction set (sse2, avx2, avx512) of a kernel.

        The first call for a kernel, or for one with its loop, runs that loop in sequence over
        `memory` with each set, one at a time. It writes to `memory`, or to `second`, if it stores.
        """
        loop = _loop_of(kernel)
        if loop not in self._chosen:
            self._chosen[loop] = self._find(
                loop, partial(_measure.Worker, cpu, loop, memory, second)
            )
        return self._chosen[loop]

    def chosen(self, kernel: str) -> str:
        """Return the instruction set of a kernel; empty: none was chosen yet."""
        return self._chosen.get(_loop_of(kernel), "")

    def all_chosen(self) -> dict[str, str]:
        """Return the chosen instruction sets by sequential kernel, in alphabetical order."""
        return dict(sorted(self._chosen.items()))

    def _find(self, loop: str, make: Callable[..., Worker]) -> str:
        kernel = next(kernel for kernel in _measure.kernels() if kernel.name == loop)
        usable = [isa for isa in _measure.isas() if not kernel.missing(isa)]
        left = [isa for isa in usable if isa != "scalar"] or usable
        workers = {isa: make(isa=isa) for isa in left}
        rates: dict[str, list[float]] = {isa: [] for isa in left}
        for done in range(self.rounds):
            if done >= QUICK_ROUNDS:
                left = _without_slow(rates, left)
            if len(left) == 1:
                return left[0]
            for isa in left:
                together = _measure.together([workers[isa]], TRIAL_NS, WARM_UP_NS)
                rates[isa].append(together.each[0].gb_per_s)
        return max(left, key=lambda isa: statistics.median(rates[isa]))


def _loop_of(kernel: str) -> str:
    """Return the kernel whose loop over lines a kernel of another order has."""
    return re.sub("-(random|strided|aliased)$", "", kernel)


def _without_slow(rates: Mapping[str, Sequence[float]], left: list[str]) -> list[str]:
    """Return the sets of `left` that are at most MAX_BEHIND behind the fastest, by medians."""
    medians = {isa: statistics.median(rates[isa]) for isa in left}
    return [isa for isa in left if medians[isa] >= (1 - MAX_BEHIND) * max(medians.values())]
