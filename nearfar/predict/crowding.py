"""Bandwidth that a memory loses when more threads use it than give it its best.

Optane combines neighbouring lines in a buffer of 16 KiB a module: the lines of many threads push
each other out, and sequential writes fall to half of their peak and less. Published figures by
number of threads show by how much; a device without them loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import numpy as np

from nearfar.devices import curves
from nearfar.documents.device import DeviceProfile, Operation

Crowding = tuple[tuple[float, float], ...]
"""Numbers of threads, rising, and the time of a sequential line with each over that at the best."""

UNCROWDED: Crowding = ((1.0, 1.0),)


def crowding(device: DeviceProfile, operation: Operation) -> Crowding:
    """Return what threads beyond the best number cost sequential lines of `operation`."""
    best = curves.bandwidth(device, operation)
    if best.operation != operation or best.pattern != "sequential" or best.threads is None:
        return UNCROWDED
    kind = (operation, best.pattern, best.access_bytes, best.page_bytes)
    more = {
        float(figure.threads): best.value_gb_per_s / figure.value_gb_per_s
        for figure in device.bandwidth
        if figure.threads is not None
        and figure.threads > best.threads
        and kind == (figure.operation, figure.pattern, figure.access_bytes, figure.page_bytes)
    }
    return ((float(best.threads), 1.0), *sorted(more.items()))


def crowded(points: Crowding, threads: float) -> float:
    """Return the time of a line with `threads` over the best, at least 1."""
    if threads <= points[0][0] or len(points) == 1:
        return 1.0
    counts, factors = zip(*points, strict=True)
    return max(1.0, float(np.interp(log2(threads), _logs(counts), factors)))


def _logs(counts: Sequence[float]) -> list[float]:
    return [log2(count) for count in counts]
