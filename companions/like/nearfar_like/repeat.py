"""Repetition of a sample for a time, and its summary."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nearfar.base.statistics import median_estimate

MIN_SAMPLES = 3
"""Minimum number of samples, even for a short time, because an interval needs them."""

T = TypeVar("T")


@dataclass(frozen=True)
class Effort:
    """Time or number of samples for one value."""

    seconds: float
    samples: int | None = None
    """Number of samples (at least `MIN_SAMPLES`); None: as many as fit in `seconds`."""


def repeat(
    sample: Callable[[], T], effort: Effort, clock: Callable[[], float] = time.monotonic
) -> list[T]:
    """Call `sample` as often as `effort` says, at least `MIN_SAMPLES` times."""
    if effort.samples is not None:
        return [sample() for _ in range(max(effort.samples, MIN_SAMPLES))]
    end = clock() + effort.seconds
    samples: list[T] = []
    while len(samples) < MIN_SAMPLES or clock() < end:
        samples.append(sample())
    return samples


def summed(values: Sequence[float], unit: str) -> dict[str, float | int]:
    """Return median, 95 % interval and number of samples, the keys ending in `unit`."""
    estimate = median_estimate(values)
    return {
        f"value_{unit}": estimate.value,
        f"low_{unit}": estimate.low,
        f"high_{unit}": estimate.high,
        "samples": len(values),
    }
