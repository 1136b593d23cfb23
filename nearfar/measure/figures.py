"""From samples to the figures of a DeviceProfile, and the A/A noise floor."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from nearfar.base.statistics import median_estimate
from nearfar.base.units import format_bytes
from nearfar.documents.device import (
    BandwidthFigure,
    ChainsFigure,
    LatencyFigure,
    LoadedLatencyCurve,
)
from nearfar.measure.points import BANDWIDTH, LATENCY, Point
from nearfar.measure.rounds import half_width
from nearfar.measure.sampler import Sample

SOURCE = "here"
"""Key of the one source of a measured device."""

HAD: dict[str, Any] = {"how": "measured", "source": SOURCE}

NOISE_QUANTILE = 0.9
"""The A/A floor is this quantile over points: all but one in ten differ less from themselves."""

WIDE = 0.1
"""Relative half-width of an interval beyond which a figure is warned of."""

LIKE_MEMORY = 0.6
"""Latency of half the last-level cache over memory's beyond which that cache is doubted: a third is
usual (15-30 ns against 80-120 ns)."""

Samples = Mapping[Point, Sequence[Sample]]


def latency_figures(samples: Samples) -> list[LatencyFigure]:
    """Return idle latencies by region; that of the largest region and pages also without region."""
    taken = {point: values for point, values in samples.items() if point.figure == "latency"}
    figures: list[LatencyFigure] = []
    best_pages = max((point.page_bytes for point in taken), default=0)
    largest = max((point.region_bytes for point in taken), default=0)
    for point, values in taken.items():
        figure = LatencyFigure(
            pattern=LATENCY[point.kernel],
            region_bytes=point.region_bytes,
            page_bytes=point.page_bytes,
            **_ns(values),
            **HAD,
        )
        figures.append(figure)
        if point.page_bytes == best_pages and point.region_bytes == largest:
            note = f"the {largest >> 20} MiB region"
            figures.append(msgspec.structs.replace(figure, region_bytes=None, note=note))
    return figures


def chains_figures(samples: Samples) -> list[ChainsFigure]:
    """Return ns per access by number of chains and page size."""
    return [
        ChainsFigure(chains=point.chains, page_bytes=point.page_bytes, **_ns(values), **HAD)
        for point, values in samples.items()
        if point.figure == "chains"
    ]


def bandwidth_figures(samples: Samples) -> list[BandwidthFigure]:
    """Return bandwidths by threads, and for each kernel the best of its thread counts."""
    figures: list[BandwidthFigure] = []
    for kernel, (operation, pattern) in BANDWIDTH.items():
        of_kernel = []
        for point, values in samples.items():
            if point.figure != "bandwidth" or point.kernel != kernel:
                continue
            estimate = median_estimate([one.value for one in values])
            of_kernel.append(
                BandwidthFigure(
                    operation=operation,
                    pattern=pattern,
                    threads=point.threads,
                    value_gb_per_s=estimate.value,
                    low_gb_per_s=estimate.low,
                    high_gb_per_s=estimate.high,
                    note="" if pattern == "sequential" else "the line each access moves counts",
                    **HAD,
                )
            )
        figures += of_kernel
        if of_kernel:
            best = max(of_kernel, key=lambda figure: figure.value_gb_per_s)
            note = f"the best: {best.threads} thread{'s' if best.threads != 1 else ''}"
            note = f"{note}; {best.note}" if best.note else note
            figures.append(msgspec.structs.replace(best, threads=None, note=note))
    return figures


def loaded_curves(
    samples: Samples, read_share: Callable[[str], float], generators: int
) -> list[LoadedLatencyCurve]:
    """Return one curve per generator kernel, in order of rising load.

    `read_share` gives a kernel's reads over its traffic, from what it declares.
    """
    from nearfar.devices.oddities import detect_oddities

    by_generator: dict[str, list[Point]] = {}
    for point in samples:
        if point.figure == "loaded":
            by_generator.setdefault(point.generator, []).append(point)
    curves: list[LoadedLatencyCurve] = []
    for generator, loaded in by_generator.items():
        loaded.sort(key=lambda point: (point.pause_ns is not None, -(point.pause_ns or 0.0)))
        points = [
            (
                statistics.median(one.drawn_gb_per_s for one in samples[point]),
                statistics.median(one.value for one in samples[point]),
            )
            for point in loaded
        ]
        cores = f"{generators} core{'s' if generators != 1 else ''}"
        curves.append(
            LoadedLatencyCurve(
                read_share=read_share(generator),
                points=points,
                oddities=detect_oddities(points),
                note=f"load by {cores} running {generator}; bandwidth includes the chase's own",
                **HAD,
            )
        )
    return curves


def noise_floor(samples: Samples, figure: str = "") -> float:
    """Return the relative difference of medians, first half of rounds against second.

    Over all points, or those of one `figure`; see `NOISE_QUANTILE`.
    """
    differences: list[float] = []
    for point, values in samples.items():
        half = len(values) // 2
        if half and figure in ("", point.figure):
            first = statistics.median(one.value for one in values[:half])
            second = statistics.median(one.value for one in values[half:])
            differences.append(abs(first - second) / second)
    if not differences:
        return 0.0
    differences.sort()
    return differences[min(int(NOISE_QUANTILE * len(differences)), len(differences) - 1)]


def _ns(values: Sequence[Sample]) -> dict[str, Any]:
    estimate = median_estimate([one.value for one in values])
    return {"value_ns": estimate.value, "low_ns": estimate.low, "high_ns": estimate.high}


def random_latency_ns(samples: Samples) -> dict[int, float]:
    """Return the median ns of a random chase by region size, on the largest pages measured."""
    pages = max(point.page_bytes for point in samples)
    return {
        point.region_bytes: statistics.median(one.value for one in values)
        for point, values in samples.items()
        if (point.figure, point.kernel, point.page_bytes) == ("latency", "chase", pages)
    }


def doubts(samples: Samples, llc_bytes: int) -> list[str]:
    """Return what the samples themselves give reason to doubt, one sentence each."""
    found: list[str] = []
    wide = sum(half_width([one.value for one in values]) > WIDE for values in samples.values())
    if wide:
        found.append(
            f"{wide} of {len(samples)} medians have an interval wider than +-{WIDE:.0%}: "
            "measure longer or at a quieter time"
        )
    by_region = random_latency_ns(samples)
    inside = [size for size in by_region if size <= llc_bytes // 2]
    if inside and max(by_region) > llc_bytes:
        size = max(inside)
        share = by_region[size] / by_region[max(by_region)]
        if share > LIKE_MEMORY:
            found.append(
                f"a region of {format_bytes(size)} takes {share:.0%} of memory's latency although "
                f"the last-level cache is said to hold {format_bytes(llc_bytes)}: others use that "
                "cache too, or this virtual machine has less of it"
            )
    return found
