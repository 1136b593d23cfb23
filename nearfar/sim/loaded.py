"""Loaded latency: the published curves of a device, or a closed form if there are none.

With M lines in flight, bandwidth B and latency L(B) satisfy B = 64 bytes x M / L(B); beyond the
curve's end, B is constant and Little's law gives the latency. The solution is the steady state. A
simulated feedback controller agrees to four digits up to M = 128 on the library's curves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nearfar.base.units import LINE_BYTES

Curve = Sequence[tuple[float, float]]

QUEUEING = 0.35
"""q of the closed form L = L0 (1 + q u^2 / (1 - u)), u = B / Bmax: latency added at half the
bandwidth, over idle. The library's DDR4 and DDR5 curves rise by 0.05-0.25 of idle there."""

MAX_LOAD = 0.92
"""Load u at which the closed form ends, at 4.7 x idle: measured curves end at 2 to 5 x."""
MAX_SHARE_DISTANCE = 0.26
"""Largest difference of read shares at which a curve is used."""


@dataclass(frozen=True)
class LoadedLatency:
    """Latency of a device at any bandwidth and read share."""

    idle_ns: float
    max_gb_per_s: Callable[[float], float]
    """Largest bandwidth as a function of the read share."""
    curves: tuple[tuple[float, Curve], ...] = ()

    def latency_ns(self, bandwidth_gb_per_s: float, read_share: float = 1.0) -> float:
        """Return the latency at a bandwidth, between the curves of the nearest read shares."""
        close = [curve for curve in self.curves if abs(curve[0] - read_share) <= MAX_SHARE_DISTANCE]
        if not close:
            return self._closed_form(bandwidth_gb_per_s, read_share)
        close.sort(key=lambda curve: abs(curve[0] - read_share))
        values = [self._on_curve(curve, bandwidth_gb_per_s) for _share, curve in close[:2]]
        if len(values) == 1 or close[0][0] == read_share:
            return values[0]
        step = close[1][0] - close[0][0]
        weight = min(max((read_share - close[0][0]) / step, 0.0), 1.0) if step else 0.0
        return values[0] + weight * (values[1] - values[0])

    def _on_curve(self, curve: Curve, bandwidth_gb_per_s: float) -> float:
        """Return the latency on `curve`, scaled so that the curve starts at this idle latency."""
        rising = _rising(curve)
        first = rising[0][1]
        at = np.interp(
            bandwidth_gb_per_s, [point[0] for point in rising], [point[1] for point in rising]
        )
        return self.idle_ns * float(at) / first

    def _closed_form(self, bandwidth_gb_per_s: float, read_share: float) -> float:
        used = bandwidth_gb_per_s / self.max_gb_per_s(read_share)
        used = min(max(used, 0.0), MAX_LOAD)
        return self.idle_ns * (1 + QUEUEING * used**2 / (1 - used))

    def fixed_point(self, in_flight: float) -> tuple[float, float]:
        """Return (GB/s, ns) of reads with `in_flight` lines in flight, by bisection.

        Beyond the curve's end, bandwidth is constant and latency follows Little's law.
        """
        low, high, reads_only = 0.0, self._max_bandwidth(1.0), 1.0
        if LINE_BYTES * in_flight / self.latency_ns(high, reads_only) >= high:
            return high, LINE_BYTES * in_flight / high
        for _ in range(60):  # more halvings than a float resolves
            middle = (low + high) / 2
            if LINE_BYTES * in_flight / self.latency_ns(middle, reads_only) > middle:
                low = middle
            else:
                high = middle
        return low, self.latency_ns(low, reads_only)

    def _max_bandwidth(self, read_share: float) -> float:
        near = [
            curve for share, curve in self.curves if abs(share - read_share) <= MAX_SHARE_DISTANCE
        ]
        if near:
            return max(bandwidth for curve in near for bandwidth, _ns in curve)
        return MAX_LOAD * self.max_gb_per_s(read_share)


def _rising(curve: Curve) -> list[tuple[float, float]]:
    """Return the points of `curve` whose bandwidth exceeds that of all points before them."""
    rising: list[tuple[float, float]] = []
    for point in curve:
        if not rising or point[0] > rising[-1][0]:
            rising.append((float(point[0]), float(point[1])))
    return rising
