"""What is measured: the list of points, short or full, for a machine's cores and caches."""

from __future__ import annotations

from nearfar.documents.device import Operation, Pattern
from nearfar.measure.subject import Point

__all__ = ["Point", "points", "region_sizes", "thread_counts"]

CHAINS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)

SMALLEST_REGION_BYTES = 16 << 10
"""Half of the smallest first-level data cache in use (32 KiB): a latency of the cache itself."""

BANDWIDTH: dict[str, tuple[Operation, Pattern]] = {
    "read": ("read", "sequential"),
    "read-random": ("read", "random"),
    "write": ("write", "sequential"),
    "write-random": ("write", "random"),
    "nt-store": ("nt-store", "sequential"),
    "nt-store-random": ("nt-store", "random"),
}
"""Kernel to what its figure is called."""

LATENCY: dict[str, Pattern] = {"chase": "random", "chase-sequential": "sequential"}

PAUSES_NS = (5000.0, 2000.0, 1000.0, 500.0, 200.0, 100.0, 50.0, 25.0, 0.0)
"""Rests of a load generator after every 2 KiB, from about 0.4 GB/s a core to its full speed."""
QUICK_PAUSES_NS = (2000.0, 200.0, 50.0, 0.0)

GENERATORS = ("read", "copy", "nt-store")
"""Load of read share 1, 0.5 and 0."""
QUICK_GENERATORS = ("read", "copy")


def region_sizes(largest_bytes: int, step: int) -> list[int]:
    """Return sizes up to `largest_bytes`, each `step` times the one before, ascending."""
    sizes = [largest_bytes]
    while sizes[-1] // step >= SMALLEST_REGION_BYTES:
        sizes.append(sizes[-1] // step // 4096 * 4096)
    return sizes[::-1]


def thread_counts(most: int, quick: bool) -> list[int]:
    """Return 1 and `most`, and the powers of two between where there is time for them."""
    between = [] if quick else [2**power for power in range(1, 16) if 2**power < most]
    return sorted({1, *between, most})


def points(
    *,
    quick: bool,
    page_sizes: list[int],
    largest_bytes: int,
    buffer_bytes: int,
    threads: int,
    has_nt_store: bool,
    loaded: bool,
) -> list[Point]:
    """Return all points; `page_sizes` largest first, of which the first has the bandwidth buffer.

    `loaded`: whether latency under load can be measured (it takes a second CPU).
    """
    found: list[Point] = []
    for page_bytes in page_sizes:
        for size in region_sizes(largest_bytes, 4 if quick else 2):
            found += [Point("latency", kernel, page_bytes, size) for kernel in LATENCY]
        found += [Point("chains", "chains", page_bytes, largest_bytes, chains=k) for k in CHAINS]
    page_bytes = page_sizes[0]
    for kernel in BANDWIDTH:
        if kernel.startswith("nt-store") and not has_nt_store:
            continue
        found += [
            Point("bandwidth", kernel, page_bytes, buffer_bytes, threads=count)
            for count in thread_counts(threads, quick)
        ]
    if loaded:
        for generator in QUICK_GENERATORS if quick else GENERATORS:
            if generator == "nt-store" and not has_nt_store:
                continue
            pauses: list[float | None] = [None, *(QUICK_PAUSES_NS if quick else PAUSES_NS)]
            found += [
                Point(
                    "loaded",
                    "chase",
                    page_bytes,
                    largest_bytes,
                    generator=generator,
                    pause_ns=pause,
                )
                for pause in pauses
            ]
    return found
