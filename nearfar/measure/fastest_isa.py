"""Choice of the instruction set whose loop moves most bytes on this processor.

The widest is not always the fastest. One core of an AMD EPYC (family 25, model 17) reads 18 GB/s
with AVX-512 (eight lines at a time; now two), 27 GB/s with AVX2 and 25 GB/s with SSE2
(likwid-bench: 23, 26 and 28 GB/s). On an Intel Xeon (Emerald Rapids) likwid-bench reads most with
AVX-512.
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
"""Turns of each instruction set. If they show no difference between two, either may be used."""

TRIAL_NS = 20e6
WARM_UP_NS = 3e6
"""Timed and warm-up time, as in a sample: less data would stay in a large last-level cache."""

TRIED_READ_SHARE = 0.5
"""Read share of mixtures while they are tried."""


@dataclass
class FastestIsa:
    """The fastest instruction set of each kernel, tried once in the first memory that needs it."""

    rounds: int = ROUNDS
    _chosen: dict[str, str] = field(default_factory=dict, init=False)

    def of_kernel(self, kernel: str, cpu: int, memory: Memory, second: Memory | None = None) -> str:
        """Return the instruction set (sse2, avx2, avx512) of a kernel; empty: any.

        The first call for a kernel, or for one with its loop, runs that loop in sequence over
        `memory` with each set, one at a time. It writes to `memory`, or to `second`, if it stores.
        Kernels that chase links or fence use no vectors worth choosing and are not run.
        """
        loop = _loop_of(kernel)
        if loop not in self._chosen:
            sequential = next(each for each in _measure.kernels() if each.name == loop)
            if sequential.traffic().dependent_loads > 0 or sequential.traffic().fences > 0:
                return ""
            shape = _measure.Shape(read_share=TRIED_READ_SHARE)
            make = partial(_measure.Worker, cpu, loop, memory, second, shape=shape)
            usable = [isa for isa in _measure.isas() if not sequential.missing(isa)]
            self._chosen[loop] = self._fastest([isa for isa in usable if isa != "scalar"], make)
        return self._chosen[loop]

    def chosen(self, kernel: str) -> str:
        """Return the instruction set of a kernel; empty: none was chosen yet."""
        return self._chosen.get(_loop_of(kernel), "")

    def all_chosen(self) -> dict[str, str]:
        """Return the chosen instruction sets by sequential kernel, in alphabetical order."""
        return dict(sorted(self._chosen.items()))

    def _fastest(self, left: list[str], make: Callable[..., Worker]) -> str:
        """Return the fastest of some sets; empty: there are none (other processors)."""
        runs = {isa: partial(_gb_per_s, make(isa=isa)) for isa in left}
        return fastest_in_turns(runs, lambda rounds: rounds < self.rounds)


def _loop_of(kernel: str) -> str:
    """Return the kernel whose loop over lines a kernel of another order has."""
    return re.sub("-(random|strided|aliased)$", "", kernel)


def _gb_per_s(worker: Worker) -> float:
    return float(_measure.together([worker], TRIAL_NS, WARM_UP_NS).each[0].gb_per_s)


def fastest_in_turns(
    runs: Mapping[str, Callable[[], float]], goes_on: Callable[[int], bool]
) -> str:
    """Return the name of the run with the highest median; empty: there are no runs.

    All run in turns, in rounds, while `goes_on` of the number of rounds done. From `QUICK_ROUNDS`
    on, slow ones run no more; a single run that is left does not run.
    """
    rates: dict[str, list[float]] = {name: [] for name in runs}
    left, rounds = list(runs), 0
    while len(left) > 1 and goes_on(rounds):
        for name in left:
            rates[name].append(runs[name]())
        rounds += 1
        if rounds >= QUICK_ROUNDS:
            left = _without_slow(rates, left)
    return max(left, key=lambda name: statistics.median(rates[name] or [0.0]), default="")


def _without_slow(rates: Mapping[str, Sequence[float]], left: list[str]) -> list[str]:
    """Return the sets of `left` whose best turn reaches the median of the fastest."""
    least = max(statistics.median(rates[isa]) for isa in left)
    return [isa for isa in left if max(rates[isa]) >= least]
