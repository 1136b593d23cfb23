"""Bandwidth by number of threads: what one thread loses to others, and what too many lose.

The more cores read in sequence, the slower each of them is, long before the memory reaches its peak
bandwidth. Beyond the best number of threads, Optane loses bandwidth: it combines neighbouring lines
in a buffer of 16 KiB a module, and the lines of many sequences push each other out; sequential
writes fall to half of their peak and less. Published figures by number of threads, each with one
sequence, give the loss; a device without them is assumed to lose nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import numpy as np

from nearfar.devices import curves
from nearfar.documents.device import BandwidthFigure, DeviceProfile, Operation

Crowding = tuple[tuple[float, float], ...]
"""Numbers of threads in rising order, each with the time of a sequential line relative to that at
the best number."""

UNCROWDED: Crowding = ((1.0, 1.0),)


def crowding(device: DeviceProfile, operation: Operation) -> Crowding:
    """Return how sequential lines of `operation` slow down beyond the best number of threads."""
    like = curves.bandwidth(device, operation)
    figures = _by_threads(device, like)
    if not figures or (like.operation, like.pattern) != (operation, "sequential"):
        return UNCROWDED
    best = max(figures, key=lambda figure: figure.value_gb_per_s)
    slowdowns = {
        float(figure.threads or 1): best.value_gb_per_s / figure.value_gb_per_s
        for figure in figures[figures.index(best) :]
    }
    return tuple(slowdowns.items())


def sharing(device: DeviceProfile) -> Crowding:
    """Return how one core's sequential reads slow down, by number of reading threads."""
    alone = curves.bandwidth(device, "read", threads=1)
    if alone.threads != 1:
        return UNCROWDED
    figures = _by_threads(device, alone)
    best = max(figures, key=lambda figure: figure.value_gb_per_s)
    slowdowns = {
        float(threads): threads * alone.value_gb_per_s / figure.value_gb_per_s
        for figure in figures[: figures.index(best) + 1]
        if (threads := figure.threads) is not None
    }
    return tuple({1.0: 1.0, **slowdowns}.items())


def crowded(points: Crowding, threads: float) -> float:
    """Return the time of a line with `threads` over that of the first point, at least 1."""
    if threads <= points[0][0] or len(points) == 1:
        return 1.0
    counts, factors = zip(*points, strict=True)
    return max(1.0, float(np.interp(log2(threads), _logs(counts), factors)))


def _logs(counts: Sequence[float]) -> list[float]:
    return [log2(count) for count in counts]


def _by_threads(device: DeviceProfile, like: BandwidthFigure) -> list[BandwidthFigure]:
    """Return the best figure of `like`'s kind for each number of threads, in rising order.

    Figures without a number of threads are left out; `like` may be such a figure.
    """
    by_threads: dict[int, BandwidthFigure] = {}
    for figure in device.bandwidth:
        if figure.threads is not None and _kind(figure) == _kind(like):
            best = by_threads.setdefault(figure.threads, figure)
            if figure.value_gb_per_s > best.value_gb_per_s:
                by_threads[figure.threads] = figure
    return [by_threads[threads] for threads in sorted(by_threads)]


def _kind(figure: BandwidthFigure) -> tuple[object, ...]:
    """Return what two figures must share besides the number of threads."""
    return (
        figure.operation,
        figure.read_share,
        figure.pattern,
        figure.access_bytes,
        figure.page_bytes,
    )
