"""The figures of a device profile that a prediction uses, by page size, line and core.

A random access over 4 KiB pages waits for page walks too, and the curves differ a lot: 166 and
271 ns a miss were measured on one machine. Near time must be explained by the curve of the pages
that the program had.
"""

from __future__ import annotations

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.units import LINE_BYTES, PAGE_BYTES, parse_size_bytes
from nearfar.devices import curves
from nearfar.documents.device import (
    BandwidthFigure,
    ChainsFigure,
    DeviceProfile,
    LatencyFigure,
    Operation,
    Pattern,
)
from nearfar.predict.memory import RegionWalks
from nearfar.predict.traffic import Array

PATTERNS: tuple[Pattern, Pattern] = ("random", "sequential")

MAX_HIT_REGION_BYTES = 32 << 10
"""Largest region that every first-level data cache of the last decade holds."""

MIN_WRITE_BACK_SHARE = 0.25
"""Minimum share of an ordinary store's time per line that is its write-back: noise in two
bandwidths must not make write-backs free."""

ERROR_OF = {"measured": 0.03, "published": 0.05, "fitted": 0.08, "assumed": 0.20}
"""Relative half-width of a figure without an interval. measured: medians moved 6 % between runs
minutes apart. published: two papers on one device differ by about 5 %. assumed: a guess."""


def parse_page_bytes(text: str) -> int:
    """Parse a page size; raise NearfarError for a size that is not a power of two from 4 KiB."""
    size_bytes = parse_size_bytes(text)
    if size_bytes < PAGE_BYTES or size_bytes & (size_bytes - 1):
        raise NearfarError(f"{text!r} is not a page size: write 4KiB, 2MiB or 1GiB")
    return size_bytes


def program_page_bytes(near: DeviceProfile) -> int | None:
    """Return the page size programs get where `near` was measured; None: the largest measured.

    A program that does not request transparent huge pages has small pages, unless all get them.
    """
    if near.measured is None:
        return None
    setting = near.measured.environment.get("transparent_huge_pages", "")
    return PAGE_BYTES if setting in ("madvise", "never") else None


def chains(device: DeviceProfile, page_bytes: int | None) -> list[ChainsFigure]:
    """Return the chains curve for pages of `page_bytes`, else for the largest pages."""
    exact = {f.chains: f for f in device.chains if page_bytes and f.page_bytes == page_bytes}
    return [exact[count] for count in sorted(exact)] or curves.chains(device)


def chains_costs(figures: list[ChainsFigure]) -> tuple[Array, Array]:
    """Return a chains curve as counts and costs, ns per miss."""
    counts = np.array([float(figure.chains) for figure in figures])
    # More chains never make a miss more expensive; a measured point that shows it is noise.
    costs = np.minimum.accumulate(np.array([figure.value_ns for figure in figures]))
    return counts, costs


def unwalked_costs(
    device: DeviceProfile, figures: list[ChainsFigure], costs: Array
) -> Array | None:
    """Return the costs of a chains curve over the largest pages; None: it uses these already."""
    large = {figure.chains: figure.value_ns for figure in curves.chains(device)}
    if curves.chains(device)[0].page_bytes == figures[0].page_bytes:
        return None
    if not all(figure.chains in large for figure in figures):
        return None
    unwalked = np.array([large[figure.chains] for figure in figures])
    # A page walk never makes a miss cheaper; a measured point that shows this is noise.
    return np.asarray(np.minimum(np.minimum.accumulate(unwalked), costs))


def walk_ns(device: DeviceProfile, page_bytes: int | None) -> float:
    """Return the time that page walks add to one miss with pages of `page_bytes`, ns.

    The difference of one chain's cost with these pages and with the largest measured.
    """
    small, large = chains(device, page_bytes), curves.chains(device)
    if not small or not large:
        return 0.0
    return max(0.0, small[0].value_ns - large[0].value_ns)


def region_walks(device: DeviceProfile, page_bytes: int | None) -> RegionWalks | None:
    """Return the time that pages of `page_bytes` add, by size of the region.

    None: fewer than two regions were measured both with these pages and with others.
    """
    chases = _by_pages(curves.random_reads(device), page_bytes)
    sizes = sorted(chases)
    if len(sizes) < 2:
        return None
    walked_ns, others_ns = (np.array([chases[size][i] for size in sizes]) for i in (0, 1))
    of_pages = [
        figure
        for figure in curves.idle_latencies(device, "read", "strided")
        if figure.stride_bytes is not None and figure.stride_bytes > (page_bytes or 0)
    ]
    of_pages = [figure for figure in of_pages if figure.stride_bytes == of_pages[0].stride_bytes]
    hits = _by_pages(of_pages, page_bytes)
    return RegionWalks(
        np.array(sizes, dtype=float),
        np.maximum(walked_ns - others_ns, 0.0),
        walked_ns,
        np.array([max(hits[size][0] - hits[size][1], 0.0) for size in sizes])
        if hits.keys() >= set(sizes)
        else None,
    )


def _by_pages(
    figures: list[LatencyFigure], page_bytes: int | None
) -> dict[int, tuple[float, float]]:
    """Return latencies with pages of `page_bytes` and with others, by region measured with both."""
    by_region: dict[int, dict[bool, float]] = {}
    for figure in figures:
        if figure.region_bytes:
            by_pages = by_region.setdefault(figure.region_bytes, {})
            by_pages.setdefault(figure.page_bytes == page_bytes, figure.value_ns)
    return {
        size: (by_pages[True], by_pages[False])
        for size, by_pages in by_region.items()
        if len(by_pages) > 1
    }


def hit_ns(device: DeviceProfile) -> float | None:
    """Return the latency of the first-level cache, ns; None where it was not measured."""
    latencies = [
        figure.value_ns
        for figure in curves.random_reads(device)
        if figure.region_bytes is not None and figure.region_bytes <= MAX_HIT_REGION_BYTES
    ]
    return min(latencies, default=None)


def in_order_ns(device: DeviceProfile) -> float | None:
    """Return the measured latency of a dependent read of the next line, ns; None: unknown.

    Published ones are of machines whose prefetchers are off.
    """
    figure = curves.idle_latency_ns(device, "read", "sequential")
    if device.measured is None or figure is None or figure.how != "measured":
        return None
    return figure.value_ns


def latencies_by_region(device: DeviceProfile, page_bytes: int | None) -> dict[int, float]:
    """Return latencies of random reads by region, ns, with these pages where they were measured."""
    reads = [figure for figure in curves.random_reads(device) if figure.region_bytes is not None]
    exact = [figure for figure in reads if figure.page_bytes == page_bytes]
    return {
        figure.region_bytes: figure.value_ns
        for figure in exact or reads
        if figure.region_bytes is not None
    }


def is_of_one_core(device: DeviceProfile) -> bool:
    """Return whether the device is local DRAM whose sequential reads one thread measured.

    The core may be alone or next to a contending one. On a link with separate directions, stores
    show nothing about reads.
    """
    reads = [f for f in device.bandwidth if f.operation == "read" and f.pattern == "sequential"]
    local = device.measured is not None and device.technology == "dram"
    return local and {f.threads for f in reads} <= {1, None}


def core_stream_ns(device: DeviceProfile, page_bytes: int | None) -> tuple[float, float]:
    """Return the time of a line of one core's sequential read, and the part of page ends, ns."""
    figures = [
        curves.bandwidth(device, "read", threads=1, page_bytes=size) for size in (page_bytes, None)
    ]
    # The bandwidth of a mixture includes writes; reads have `read_share` of it.
    line_ns, best_ns = (
        LINE_BYTES / (figure.value_gb_per_s * (figure.read_share or 1.0))
        if figure.operation == "mixed"
        else LINE_BYTES / figure.value_gb_per_s
        for figure in figures
    )
    return line_ns, max(line_ns - best_ns, 0.0)


def copied_line_ns(device: DeviceProfile, page_bytes: int | None) -> tuple[float | None, float]:
    """Return the time of a line read while one core copies, and the part of page ends, ns.

    For each copied line, a copy reads two: the source, and the destination for ownership. None: not
    measured.
    """
    copies = [
        (figure.page_bytes, LINE_BYTES / figure.value_gb_per_s)
        for figure in device.bandwidth
        if figure.operation == "copy" and figure.threads == 1 and figure.pattern == "sequential"
    ]
    # As for chains: without a page size, the largest that was measured.
    required = page_bytes or max((size or 0 for size, _ in copies), default=0)
    exact = [ns for size, ns in copies if (size or 0) == required]
    if device.measured is None or not exact:
        return None, 0.0
    return min(exact), min(exact) - min(ns for _, ns in copies)


def line_bandwidth(
    device: DeviceProfile, operation: Operation, pattern: Pattern
) -> BandwidthFigure:
    """Return the bandwidth of single 64 B lines, all threads together.

    Random lines smaller than the medium's granularity move whole blocks: without a figure for 64 B
    accesses, the sequential figure is divided by the amplification.
    """
    figure = curves.bandwidth(device, operation, pattern)
    if pattern == "sequential":
        return figure
    exact = [
        f
        for f in device.bandwidth
        if f.operation == operation and f.pattern == "random" and f.access_bytes == LINE_BYTES
    ]
    if exact:
        return max(exact, key=lambda f: f.value_gb_per_s)
    amplification = max(1.0, device.granularity_bytes / LINE_BYTES)
    of_lines = figure.pattern == "random" and figure.access_bytes is None
    if of_lines or amplification == 1.0:
        return figure
    return BandwidthFigure(
        how="assumed",
        source=figure.source,
        note=f"{figure.note}; divided by {amplification:g} for 64 B of {device.granularity_bytes}",
        operation=operation,
        pattern="random",
        value_gb_per_s=figure.value_gb_per_s / amplification,
    )


def random_store_ns(device: DeviceProfile) -> float | None:
    """Return the time in which one core stores to a random line.

    Each store reads its line first and writes it back later. None: not measured, or more than one
    core measured.
    """
    if not is_of_one_core(device):
        return None
    stores = [
        LINE_BYTES / figure.value_gb_per_s
        for figure in device.bandwidth
        if figure.operation == "write"
        and figure.pattern == "random"
        and figure.access_bytes in (None, LINE_BYTES)
    ]
    # The fastest store is that with the fewest page walks; a write-back needs none.
    return min(stores, default=None)


def write_back_ns(figure: BandwidthFigure, read_ns: float) -> float:
    """Return the cost of writing one line back, ns, from the device's best write figure.

    A non-temporal store moves just its line, as a write-back does. An ordinary store moves two
    lines (it reads the line first, then writes it back), a mixture moves `read_share` reads.
    """
    line_ns = LINE_BYTES / figure.value_gb_per_s
    if figure.operation in ("write", "clwb"):
        return max(line_ns - read_ns, MIN_WRITE_BACK_SHARE * line_ns)
    if figure.operation in ("mixed", "copy") and figure.read_share not in (None, 1.0):
        share = figure.read_share or 0.0
        return max((line_ns - share * read_ns) / (1.0 - share), MIN_WRITE_BACK_SHARE * line_ns)
    return line_ns


def evicted_line_ns(device: DeviceProfile, read_ns: float) -> float | None:
    """Return the cost of a line of a sequence that caches evict, ns, from plain stores.

    None: unknown, or no other than of a line that bypasses the caches. Caches evict the lines of a
    sequence in another order, which matters to a medium with larger blocks.
    """
    if device.technology == "file" or device.granularity_bytes <= LINE_BYTES:
        return None
    stores = curves.bandwidth(device, "write")
    if (stores.operation, stores.pattern) != ("write", "sequential"):
        return None
    return write_back_ns(stores, read_ns)


def latency_error(figure: LatencyFigure) -> float:
    """Return the relative half-width of a latency."""
    if figure.low_ns is not None and figure.high_ns is not None:
        return max((figure.high_ns - figure.low_ns) / 2 / figure.value_ns, ERROR_OF["measured"])
    return ERROR_OF[figure.how]


def bandwidth_error(figure: BandwidthFigure) -> float:
    """Return the relative half-width of a bandwidth."""
    if figure.low_gb_per_s is not None and figure.high_gb_per_s is not None:
        width = figure.high_gb_per_s - figure.low_gb_per_s
        return max(width / 2 / figure.value_gb_per_s, ERROR_OF["measured"])
    return ERROR_OF[figure.how]


def same_figures(first: DeviceProfile, second: DeviceProfile) -> bool:
    """Return whether two profiles describe one memory: equal figures, whatever their names."""
    return all(
        getattr(first, key) == getattr(second, key)
        for key in ("latency", "bandwidth", "chains", "loaded_latency", "granularity_bytes")
    )
