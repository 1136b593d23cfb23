"""Latency percentiles in a slower memory, from near latencies and the mean time that it adds.

A profile gives the mean time that a kind of request takes longer, not the time of each request. Two
ways to distribute it bracket the truth. *Evenly*: every request of a kind waits equally longer
(requests that are slow near are slow for reasons other than memory: interrupts, neighbours). *In
proportion*: requests that are slow near miss more, and take longer by the kind's factor.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

BUCKET = 1 / 32
"""Relative width of a latency bucket: percentiles are not known more precisely than that."""

Array = NDArray[np.float64]
Distribution = Literal["evenly", "in proportion"]


@dataclass(frozen=True, eq=False)
class Histogram:
    """Latencies of one kind of request."""

    up_to_ns: Array
    """Upper ends of the buckets, ascending."""
    counts: Array
    total_ns: float

    @property
    def mean_ns(self) -> float:
        """Mean latency."""
        return self.total_ns / float(self.counts.sum())


@dataclass(frozen=True)
class MeanTimes:
    """Mean times of requests of one kind, in ns."""

    here: float
    """In near memory of the machine where latencies were measured."""
    near: float
    """In near memory of the machine of the prediction."""
    far: float


def read_histograms(path: Path) -> dict[str, Histogram]:
    """Read the output of `--latencies` of examples/applications, by kind."""
    totals: dict[str, float] = {}
    buckets: dict[str, list[tuple[float, float]]] = {}
    with path.open(newline="") as file:
        for kind, what, number in csv.reader(file):
            if what == "total":
                totals[kind] = float(number)
            else:
                buckets.setdefault(kind, []).append((float(what), float(number)))
    histograms = {}
    for kind, rows in buckets.items():
        up_to_ns, counts = np.array(rows).T
        histograms[kind] = Histogram(up_to_ns, counts, totals[kind])
    return histograms


def percentiles_ns(
    latencies: Mapping[str, Histogram],
    shares: Sequence[float],
    times: Mapping[str, MeanTimes] | None = None,
    distribution: Distribution = "evenly",
) -> Array:
    """Return percentiles of all requests together; with `times`, in far memory.

    The time that the other machine's near memory adds or saves is distributed in the same way.
    """
    bucket_ns = [
        _in_far_memory(histogram, times[kind] if times else None, distribution)
        for kind, histogram in latencies.items()
    ]
    values, counts = (
        np.concatenate(bucket_ns),
        np.concatenate([h.counts for h in latencies.values()]),
    )
    order = np.argsort(values, kind="stable")
    seen = np.cumsum(counts[order])
    places = np.searchsorted(seen, np.asarray(shares) * seen[-1])
    return np.asarray(values[order][np.minimum(places, len(values) - 1)])


def slowdowns(
    latencies: Mapping[str, Histogram],
    shares: Sequence[float],
    times: Mapping[str, MeanTimes],
) -> list[tuple[float, float]]:
    """Return low and high of each percentile's slowdown in far memory, by both distributions.

    The range is widened by one bucket on either side.
    """
    ways: list[Distribution] = ["evenly", "in proportion"]
    ratios = [
        percentiles_ns(latencies, shares, times, way) / near_ns(latencies, shares, times, way)
        for way in ways
    ]
    lows, highs = np.minimum(*ratios) / (1 + BUCKET), np.maximum(*ratios) * (1 + BUCKET)
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


def near_ns(
    latencies: Mapping[str, Histogram],
    shares: Sequence[float],
    times: Mapping[str, MeanTimes],
    distribution: Distribution,
) -> Array:
    """Return percentiles of all requests with everything in the other machine's near memory."""
    near = {kind: MeanTimes(mean.here, mean.near, mean.near) for kind, mean in times.items()}
    return percentiles_ns(latencies, shares, near, distribution)


def _in_far_memory(
    histogram: Histogram, times: MeanTimes | None, distribution: Distribution
) -> Array:
    """Return the buckets' ends in far memory, ns; without `times`, as they were measured."""
    if times is None:
        return histogram.up_to_ns
    if distribution == "in proportion":
        return histogram.up_to_ns * (times.far / times.here)
    # A faster memory shortens a request at most by the ratio of the mean times.
    least = histogram.up_to_ns * min(1.0, times.far / times.here)
    return np.maximum(histogram.up_to_ns + times.far - times.here, least)
