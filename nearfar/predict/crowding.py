"""Bandwidth by number of threads: what others take from one, and what too many lose together.

A core reads in sequence the slower, the more cores do so too, long before the memory gives its
best. Beyond the best, Optane loses bandwidth: it combines neighbouring lines in a buffer of 16 KiB
a module, and the lines of many sequences push each other out; sequential writes fall to half of
their peak and less. Published figures by number of threads, each with one sequence, show by how
much; a device without them loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import numpy as np

from nearfar.devices import curves
from nearfar.documents.device import BandwidthFigure, DeviceProfile, Operation

Crowding = tuple[tuple[float, float], ...]
"""Numbers of threads, rising, and the time of a sequential line with each over that at the best."""

UNCROWDED: Crowding = ((1.0, 1.0),)


def crowding(device: DeviceProfile, operation: Operation) -> Crowding:
    """Return what threads beyond the best number cost sequential lines of `operation`."""
    best = curves.bandwidth(device, operation)
    if best.operation != operation or best.pattern != "sequential" or best.threads is None:
        return UNCROWDED
    more = {
        float(figure.threads): best.value_gb_per_s / figure.value_gb_per_s
        for figure in device.bandwidth
        if figure.threads is not None
        and figure.threads > best.threads
        and _kind(figure) == _kind(best)
    }
    return ((float(best.threads), 1.0), *sorted(more.items()))


def sharing(device: DeviceProfile) -> Crowding:
    """Return how much longer one core's sequential line takes while as many threads read."""
    alone, best = (curves.bandwidth(device, "read", threads=threads) for threads in (1, None))
    if alone.threads != 1 or best.threads is None:
        return UNCROWDED
    longer = {
        float(figure.threads): figure.threads * alone.value_gb_per_s / figure.value_gb_per_s
        for figure in device.bandwidth
        if figure.threads is not None
        and figure.threads <= best.threads
        and _kind(figure) == _kind(alone)
    }
    return tuple(sorted({**longer, 1.0: 1.0}.items()))


def crowded(points: Crowding, threads: float) -> float:
    """Return the time of a line with `threads` over that of the first point, at least 1."""
    if threads <= points[0][0] or len(points) == 1:
        return 1.0
    counts, factors = zip(*points, strict=True)
    return max(1.0, float(np.interp(log2(threads), _logs(counts), factors)))


def _logs(counts: Sequence[float]) -> list[float]:
    return [log2(count) for count in counts]


def _kind(figure: BandwidthFigure) -> tuple[object, ...]:
    """Return what two figures must share besides the number of threads."""
    return (
        figure.operation,
        figure.read_share,
        figure.pattern,
        figure.access_bytes,
        figure.page_bytes,
    )
