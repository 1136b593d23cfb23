"""How long a line takes from one CPU to another, for all pairs or a sample of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence

from nearfar.base.statistics import median_estimate
from nearfar.documents.machine import CoreToCore
from nearfar.measure.native import _measure

MOST_PAIRS = 300
"""All pairs of 25 CPUs. Beyond, a random sample: at 9 rounds of 10 ms, half a minute."""

ROUNDS = 9

LINES_BYTES = 2 << 20
"""Of the memory whose lines are handed over; one huge page, so that no TLB miss is in it."""

HandOver = Callable[[int, int], float]
"""From two CPUs to ns one way."""


def chosen_pairs(cpus: Sequence[int], most: int = MOST_PAIRS) -> list[tuple[int, int]]:
    """Return all pairs of `cpus`, or `most` of them.

    Of many CPUs, each still has its neighbour in number: those share a core or a cache, and a
    random sample of a large machine would hold few such pairs.
    """
    every = list(itertools.combinations(sorted(cpus), 2))
    if len(every) <= most:
        return every
    near = list(itertools.pairwise(sorted(cpus)))[:most]
    kept = set(near)
    rest = [pair for pair in every if pair not in kept]
    return sorted([*near, *random.Random(1).sample(rest, most - len(near))])


def measure_core_to_core(
    cpus: Sequence[int],
    progress: Callable[[str, float], None] = lambda _what, _share: None,
    *,
    hand_over: HandOver | None = None,
    rounds: int = ROUNDS,
) -> tuple[list[CoreToCore], list[str]]:
    """Return the time of a line between the CPUs of each pair, and what has to be said."""
    pairs = chosen_pairs(cpus)
    if not pairs:
        return [], ["core-to-core was not measured: this process may use one CPU only"]
    hand_over = hand_over or _native()
    times: dict[tuple[int, int], list[float]] = {pair: [] for pair in pairs}
    dice = random.Random(1)
    for number in range(rounds):
        for index, pair in enumerate(dice.sample(pairs, len(pairs))):
            times[pair].append(hand_over(*pair))
            done = (number + (index + 1) / len(pairs)) / rounds
            progress(f"core to core, {len(pairs)} pair{'s' if len(pairs) > 1 else ''}", done)
    warnings = []
    every = len(cpus) * (len(cpus) - 1) // 2
    if len(pairs) < every:
        warnings.append(f"core-to-core: {len(pairs)} of {every} pairs were measured, by lot")
    found = []
    for (one, other), values in times.items():
        estimate = median_estimate(values)
        found.append(
            CoreToCore(
                cpu=one,
                other_cpu=other,
                value_ns=estimate.value,
                low_ns=estimate.low,
                high_ns=estimate.high,
            )
        )
    return found, warnings


def _native() -> HandOver:
    memory = _measure.Memory.anonymous(LINES_BYTES, "thp", None)
    return lambda one, other: float(_measure.core_to_core(one, other, memory).line_ns)
