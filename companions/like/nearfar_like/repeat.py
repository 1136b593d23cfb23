"""Repeats a sample until the time is up, and sums up what came."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

FEWEST = 3
"""Samples, however short the time: an interval needs as many."""

T = TypeVar("T")


@dataclass(frozen=True)
class Effort:
    """How long one figure is measured."""

    seconds: float
    samples: int | None = None
    """Exactly so many (at least `FEWEST`), however long they take; None: by the time."""


def repeat(
    sample: Callable[[], T], effort: Effort, clock: Callable[[], float] = time.monotonic
) -> list[T]:
    """Call `sample` as often as `effort` says, at least `FEWEST` times."""
    if effort.samples is not None:
        return [sample() for _ in range(max(effort.samples, FEWEST))]
    end = clock() + effort.seconds
    found: list[T] = []
    while len(found) < FEWEST or clock() < end:
        found.append(sample())
    return found


def summed(values: Sequence[float], unit: str) -> dict[str, float | int]:
    """Return median, 95 % interval and number of samples, the keys ending in `unit`."""
    from nearfar.base.statistics import median_estimate

    found = median_estimate(values)
    return {
        f"value_{unit}": found.value,
        f"low_{unit}": found.low,
        f"high_{unit}": found.high,
        "samples": len(values),
    }
