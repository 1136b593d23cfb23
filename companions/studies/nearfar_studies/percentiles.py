"""Latency percentiles in a slower memory, from latencies near and what a request adds on average.

A profile says how much longer a request of a kind takes on average, not which. Two ways to deal it
out bracket the truth: *evenly*, every request of a kind waits the same longer (those that are slow
near are slow for reasons that are not memory: interrupts, neighbours); *in proportion*, those that
are slow near miss more, and wait longer by the kind's factor.
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
"""Width of a latency's bucket, as a share of it: no percentile is known better than that."""

Array = NDArray[np.float64]
Dealt = Literal["evenly", "in proportion"]


@dataclass(frozen=True, eq=False)
class Histogram:
    """Latencies of one kind of request."""

    up_to_ns: Array
    """Upper ends of the buckets, rising."""
    counts: Array
    total_ns: float

    @property
    def mean_ns(self) -> float:
        """Mean latency."""
        return self.total_ns / float(self.counts.sum())


@dataclass(frozen=True)
class MeanTimes:
    """ns of a request of one kind, on average."""

    here: float
    """Near, where latencies were measured."""
    near: float
    """Near, where it is asked about."""
    far: float


def read_histograms(path: Path) -> dict[str, Histogram]:
    """Read what `--latencies` of examples/applications wrote, by kind."""
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
    dealt: Dealt = "evenly",
) -> Array:
    """Return percentiles of all requests together; with `times`, in far memory.

    What the other machine's near memory adds, or takes off, is spread in the same way.
    """
    ends = [
        _moved(histogram, times[kind] if times else None, dealt)
        for kind, histogram in latencies.items()
    ]
    values, counts = np.concatenate(ends), np.concatenate([h.counts for h in latencies.values()])
    order = np.argsort(values, kind="stable")
    seen = np.cumsum(counts[order])
    places = np.searchsorted(seen, np.asarray(shares) * seen[-1])
    return np.asarray(values[order][np.minimum(places, len(values) - 1)])


def slowdowns(
    latencies: Mapping[str, Histogram],
    shares: Sequence[float],
    times: Mapping[str, MeanTimes],
) -> list[tuple[float, float]]:
    """Return low and high of each percentile's slowdown in far memory: both ways to deal it out.

    A bucket on either side is in them.
    """
    ways: list[Dealt] = ["evenly", "in proportion"]
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
    dealt: Dealt,
) -> Array:
    """Return percentiles of all requests with everything in the other machine's near memory."""
    near = {kind: MeanTimes(mean.here, mean.near, mean.near) for kind, mean in times.items()}
    return percentiles_ns(latencies, shares, near, dealt)


def _moved(histogram: Histogram, times: MeanTimes | None, dealt: Dealt) -> Array:
    if times is None:
        return histogram.up_to_ns
    if dealt == "in proportion":
        return histogram.up_to_ns * (times.far / times.here)
    # A quicker memory cannot make a request take no time.
    least = histogram.up_to_ns * min(1.0, times.far / times.here)
    return np.maximum(histogram.up_to_ns + times.far - times.here, least)
