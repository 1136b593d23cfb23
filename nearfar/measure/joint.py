"""Joint limits: bandwidth of two memories together, from competing copies under every split.

Two groups of threads copy at once, the first within A, the second within B, from B to A or from A
to B; with T threads there are T-1 splits of each (the NVDIMM thesis' 15 splits with 16 threads).
Memories on one channel do not add: the thesis' DRAM and NVDIMM reach 65-70 GB/s together at every
split, as much as either alone. GB/s are payload, read + written.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nearfar.base.estimate import Estimate
from nearfar.base.statistics import median_estimate
from nearfar.documents.machine import JointLimit, Split
from nearfar.memories.joint_bandwidth import FIRST

SECONDS = ("B->B", "B->A", "A->B")
"""Copies of the second group, while the first copies A->A."""

MIN_SHORTFALL = 0.1
"""Relative shortfall that means a shared channel: memories with separate channels still share the
last-level cache and the mesh, which costs a few per cent."""

ROUNDS = 9
MIN_ROUNDS = 3

CopyGroup = tuple[str, int]
"""A copy and the number of its threads."""
CopyRun = tuple[CopyGroup] | tuple[CopyGroup, CopyGroup]
"""One group, or two that compete."""
CopyPair = tuple[CopyGroup, CopyGroup]
CopySamples = Mapping[CopyRun, Sequence[tuple[float, ...]]]
"""Samples of every run, one a round: GB/s of each group."""


class Copier(Protocol):
    """Two memories that threads can copy within and between."""

    threads: int
    """Number of threads that may run at once."""

    def together(self, run: CopyRun) -> tuple[float, ...]:
        """Return GB/s of each group; all groups start and stop together."""


@dataclass(frozen=True)
class JointEffort:
    """Time and rounds for one pair of memories."""

    seconds: float
    """Time after which no round begins, once `MIN_ROUNDS` are made."""
    rounds: int = ROUNDS
    clock: Callable[[], float] = time.monotonic


def runs(threads: int) -> list[CopyRun]:
    """Return all runs with `threads` threads: each copy alone with 1 to all, and every split."""
    alone: list[CopyRun] = [
        ((copy, n),) for copy in ("A->A", "B->B") for n in range(1, threads + 1)
    ]
    split: list[CopyRun] = [
        ((FIRST, threads - n), (second, n)) for second in SECONDS for n in range(1, threads)
    ]
    return alone + split


def measure_joint(
    copier: Copier,
    memories: tuple[str, str],
    limits: JointEffort,
    *,
    one_memory: bool = False,
    progress: Callable[[str, float], None] = lambda _what, _share: None,
) -> JointLimit:
    """Measure every run once a round, and return whether A and B slow each other.

    `one_memory`: A and B are known to lie in the same memory, such as one node.
    """
    wanted = runs(copier.threads)
    samples: dict[CopyRun, list[tuple[float, ...]]] = {run: [] for run in wanted}
    dice = random.Random(1)
    start = limits.clock()
    done = 0
    while done < limits.rounds and (done < MIN_ROUNDS or limits.clock() - start < limits.seconds):
        for index, run in enumerate(dice.sample(wanted, len(wanted))):
            samples[run].append(copier.together(run))
            share = (done + (index + 1) / len(wanted)) / limits.rounds
            progress(f"competing copies, {memories[0]} and {memories[1]}", share)
        done += 1
    return joint_limit(memories, samples, one_memory=one_memory)


def joint_limit(
    memories: tuple[str, str], samples: CopySamples, *, one_memory: bool = False
) -> JointLimit:
    """Return the limit that samples show; `shared` only if the data or `one_memory` show it."""
    totals = {
        run: median_estimate([sum(rates) for rates in taken]) for run, taken in samples.items()
    }
    alone = {run[0]: estimate for run, estimate in totals.items() if len(run) == 1}
    competing: dict[CopyPair, Estimate] = {
        run: total for run, total in totals.items() if len(run) == 2
    }
    threads = max(n for _, n in alone)
    best_a, best_b = alone["A->A", threads], alone["B->B", threads]
    best = max(competing.values(), key=lambda total: total.value) if competing else None
    shared, note = decide(alone, competing, one_memory=one_memory)
    return JointLimit(
        memories=memories,
        alone_gb_per_s=(best_a.value, best_b.value),
        together_gb_per_s=best.value if best else max(best_a.value, best_b.value),
        low_gb_per_s=best.low if best else None,
        high_gb_per_s=best.high if best else None,
        shared=shared,
        splits=[_split(run, samples[run]) for run in competing],
        note=note,
    )


def decide(
    alone: Mapping[CopyGroup, Estimate],
    competing: Mapping[CopyPair, Estimate],
    *,
    one_memory: bool = False,
) -> tuple[bool, str]:
    """Return whether copies within A and copies within B slow each other, and why.

    The decisive split is the one whose two groups, run alone with as many threads, have the largest
    sum of GB/s. They slow each other if they reach less than that sum when they run together: the
    intervals do not overlap, and the shortfall exceeds `MIN_SHORTFALL`. If one memory alone could
    serve the sum, the cores set the limit and nothing follows.
    """
    pairs = {pair: rate for pair, rate in competing.items() if pair[1][0] == "B->B"}
    if not pairs:
        if one_memory:
            return True, "both are in one memory; one thread cannot run two competing copies"
        return False, "not seen: competing copies need two threads"
    run = max(pairs, key=lambda pair: alone[pair[0]].value + alone[pair[1]].value)
    a, b, together = alone[run[0]], alone[run[1]], pairs[run]
    apart = a.value + b.value
    split = f"{run[0][1]}+{run[1][1]} threads"
    rates = (
        f"{split} copy {apart:.1f} GB/s apart and {together.value:.1f} "
        f"[{together.low:.1f}, {together.high:.1f}] together"
    )
    is_short = together.high < min(a.low + b.low, apart * (1 - MIN_SHORTFALL))
    if is_short:
        return True, f"{rates}: they slow each other"
    if one_memory:
        return True, f"both are in one memory, although {split} do not fill it: {rates}"
    most = max(rate.high for (_, n), rate in alone.items() if n == max(m for _, m in alone))
    if together.low > most:
        return False, f"{rates}: more than either memory gives to all threads alone"
    return False, f"not seen: the cores set the limit, {rates}; one memory alone gives {most:.1f}"


def _split(run: CopyPair, samples: Sequence[tuple[float, ...]]) -> Split:
    (first, n), (second, m) = run
    return Split(
        copies=(first, second),
        threads=(n, m),
        gb_per_s=(
            float(np.median([rates[0] for rates in samples])),
            float(np.median([rates[1] for rates in samples])),
        ),
    )
