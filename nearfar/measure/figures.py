"""Figures of all samples: A/A noise floor, warnings, and the last-level cache one core gets.

A virtual machine shares the last-level cache with neighbours, so a core gets less of it than the
processor claims. A random chase over a region R that does not fit takes h x cached + (1 - h) x
memory with h = C / R, so each region implies a capacity C = h R; a region that fits implies at
least itself.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from nearfar.base.units import format_bytes
from nearfar.devices.quality import THREADS_KIND
from nearfar.measure.rounds import half_width
from nearfar.measure.surfaces._surface import values
from nearfar.samples.point import Sample, SamplePoint

SMALLEST_SHARE = 1 / 16
"""Smallest share of the claimed capacity that is believed: below it the curve is noise."""


def effective_llc_bytes(
    latency_ns_by_region: Mapping[int, float],
    inner_bytes: int,
    llc_bytes: int,
    error: float = 0.0,
) -> int | None:
    """Return the last-level capacity the curve implies, at most `llc_bytes`; None: not seen.

    `inner_bytes` is the size of the cache before the last level; regions up to twice that size are
    ignored. `error` is the relative error of latencies of regions that the last level holds in
    part. None also if no region lies between twice `inner_bytes` and `llc_bytes`.
    """
    regions = sorted(latency_ns_by_region)
    inside = [size for size in regions if 2 * inner_bytes < size <= llc_bytes]
    if not inside or regions[-1] < 2 * llc_bytes:
        return None
    memory_ns = latency_ns_by_region[regions[-1]]
    cached_ns = min(latency_ns_by_region[size] for size in inside)
    if memory_ns <= cached_ns:
        return None
    implied = [
        size
        * (memory_ns - min(latency_ns_by_region[size] * (1.0 + error), memory_ns))
        / (memory_ns - cached_ns)
        for size in inside
    ]
    return int(min(llc_bytes, max(*implied, llc_bytes * SMALLEST_SHARE)))


NOISE_QUANTILE = 0.9
"""The A/A floor is this quantile of the points' differences: nine in ten points differ less."""

MAX_HALF_WIDTH = 0.1
"""Relative half-width of an interval beyond which a figure is warned of."""

LIKE_MEMORY = 0.6
"""Ratio of the latency of half the last-level cache to that of memory beyond which a warning doubts
the cache's size: a third is usual (15-30 ns against 80-120 ns)."""

Samples = Mapping[SamplePoint, Sequence[Sample]]


def noise_floor(samples: Samples, kind: str = "") -> float:
    """Return the relative difference of medians, first half of rounds against second.

    It covers the samples that figures are made of: all points, or those of one kind (`_kind`). See
    `NOISE_QUANTILE`.
    """
    differences: list[float] = []
    for point, taken in samples.items():
        if kind not in ("", _kind(point)):
            continue
        if (difference := halves_differ_by(taken)) is not None:
            differences.append(difference)
    if not differences:
        return 0.0
    differences.sort()
    return differences[min(int(NOISE_QUANTILE * len(differences)), len(differences) - 1)]


def halves_differ_by(taken: Sequence[Sample]) -> float | None:
    """Return the relative difference of medians, first half of one point's samples against second.

    None with fewer than two samples.
    """
    used = values(taken)
    half = len(used) // 2
    if not half:
        return None
    first, second = statistics.median(used[:half]), statistics.median(used[half:])
    return abs(first - second) / second


def noise_floors(samples: Samples) -> dict[str, float]:
    """Return the floor of each kind of point."""
    return {kind: noise_floor(samples, kind) for kind in sorted({_kind(p) for p in samples})}


def _kind(point: SamplePoint) -> str:
    """Return the figure that a point is for; bandwidth of one core or of several."""
    if point.figure == "bandwidth" and point.threads > 1:
        return THREADS_KIND
    return point.figure


def random_latency_ns(samples: Samples) -> dict[int, float]:
    """Return the median ns of a random chase by region size, on the largest pages measured."""
    pages = max((point.page_bytes for point in samples), default=0)
    return {
        point.region_bytes: statistics.median(sample.value for sample in values)
        for point, values in samples.items()
        if (point.figure, point.kernel, point.page_bytes) == ("latency", "chase", pages)
        and not point.stride_bytes
    }


def doubts(samples: Samples, llc_bytes: int) -> list[str]:
    """Return warnings about wide intervals and a shared last-level cache, one sentence each."""
    warnings: list[str] = []
    wide = sum(
        half_width([sample.value for sample in values]) > MAX_HALF_WIDTH
        for values in samples.values()
    )
    if wide:
        warnings.append(
            f"{wide} of {len(samples)} medians have an interval wider than +-{MAX_HALF_WIDTH:.0%}: "
            "measure longer, or at a quieter time"
        )
    by_region = random_latency_ns(samples)
    inside = [size for size in by_region if size <= llc_bytes // 2]
    if inside and llc_bytes and max(by_region) > llc_bytes:
        size = max(inside)
        share = by_region[size] / by_region[max(by_region)]
        if share > LIKE_MEMORY:
            warnings.append(
                f"a region of {format_bytes(size)} takes {share:.0%} of memory's latency although "
                f"the last-level cache reports {format_bytes(llc_bytes)}: other programs use that "
                "cache too, or this virtual machine has less of it"
            )
    return warnings
