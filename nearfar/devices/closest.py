"""The memories of the library most similar to a measured one, and why.

The distance of two memories compares the figures that both have. It is the weighted root mean
square (`WEIGHTS`) of the natural logarithms of their ratios: 0.1 is a difference of about 10 % in
every figure. A figure of the measured memory that the other memory lacks counts as
`MISSING_DISTANCE`, so a memory with few published figures does not win. Assumed figures, names and
technologies do not count.

- idle latencies weigh 1 each: they belong to the memory and its interconnect;
- bandwidths weigh 0.5: they also grow with channels and cores;
- the shape of the loaded-latency curve weighs 1 in total: latency over idle at 25, 50, 75 and
  90 % of the best bandwidth, reads only;
- granularity weighs 0.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_count
from nearfar.devices.curves import (
    bandwidth,
    idle_latency_ns,
    idle_read_latency_ns,
    loaded_curve,
)
from nearfar.devices.library import device_names, load_device
from nearfar.devices.load_order import rising_load
from nearfar.documents.device import (
    BandwidthFigure,
    DeviceProfile,
    Figure,
    LatencyFigure,
    LoadedLatencyCurve,
)

WEIGHTS = {
    "idle random read": 1.0,
    "idle sequential read": 1.0,
    "idle nt-store": 1.0,
    "idle persisted store": 1.0,
    "read bandwidth": 0.5,
    "random read bandwidth": 0.5,
    "write bandwidth": 0.5,
    "nt-store bandwidth": 0.5,
    "latency at 25% load": 0.25,
    "latency at 50% load": 0.25,
    "latency at 75% load": 0.25,
    "latency at 90% load": 0.25,
    "granularity": 0.5,
}

MISSING_DISTANCE = math.log(1.5)
"""Distance of a missing figure: a factor of 1.5, about what local memories differ by."""

MIN_SHARED_FIGURES = 2
"""Fewest figures, granularity aside, that two memories must share to be compared."""

MIN_READ_SHARE = 0.95
"""Share of reads from which a curve counts as one of reads."""

Figures = dict[str, tuple[float, str]]
"""Values and units by name."""


@dataclass(frozen=True)
class Likeness:
    """Similarity of one device of the library to the measured one."""

    name: str
    title: str
    distance: float
    shared: dict[str, tuple[float, float, str]]
    """The measured value, this device's value and the unit, by figure."""
    missing: list[str]
    """Figures of the measured device that this one does not have."""

    def why(self) -> str:
        """Return a clause with the figures that agree most and least."""
        # Most memories have a granularity of 64 B: name it only if the two differ.
        same = {name for name in self.shared if name == "granularity" and not self._distance(name)}
        order = sorted(set(self.shared) - same, key=lambda name: (self._distance(name), name))
        nearest = order[:2]
        farthest = [name for name in order[2:][-1:] if self._distance(name) > math.log(1.2)]
        parts = [self._pair(name) for name in nearest]
        text = "near in " + " and ".join(parts)
        if farthest:
            text += f"; farthest in {self._pair(farthest[0])}"
        if self.missing:
            count = len(self.missing)
            text += f"; {format_count(count, 'figure')} of it unknown"
        return text

    def _distance(self, name: str) -> float:
        measured, other, _ = self.shared[name]
        return abs(math.log(measured / other))

    def _pair(self, name: str) -> str:
        measured, other, unit = self.shared[name]
        digits = ".0f" if unit == " B" else ".3g"
        return f"{name} ({measured:{digits}} against {other:{digits}}{unit})"


def closest(device: DeviceProfile) -> list[Likeness]:
    """Return the three devices of the library closest to `device`, closest first."""
    figures = figures_of(device)
    likenesses = []
    for name in device_names():
        other = load_device(name)
        if other.name == device.name and other.sources == device.sources:
            continue  # the same device
        likeness = compare_figures(figures, figures_of(other), other)
        if likeness is not None:
            likenesses.append(likeness)
    return sorted(likenesses, key=lambda likeness: (likeness.distance, likeness.name))[:3]


def compare_figures(mine: Figures, theirs: Figures, other: DeviceProfile) -> Likeness | None:
    """Return how similar two sets of figures are, None if they share too few."""
    shared = {
        name: (value, theirs[name][0], unit)
        for name, (value, unit) in mine.items()
        if name in theirs
    }
    measured = [name for name in shared if name != "granularity"]
    if len(measured) < MIN_SHARED_FIGURES:
        return None
    missing = [name for name in mine if name not in theirs]
    squares = sum(WEIGHTS[name] * math.log(a / b) ** 2 for name, (a, b, _) in shared.items())
    squares += sum(WEIGHTS[name] * MISSING_DISTANCE**2 for name in missing)
    distance = math.sqrt(squares / sum(WEIGHTS[name] for name in mine))
    return Likeness(other.name, other.title, distance, shared, missing)


def figures_of(device: DeviceProfile) -> Figures:
    """Return the figures of `device` to compare: all except assumed figures."""
    figures: Figures = {"granularity": (float(device.granularity_bytes), " B")}
    getters: dict[str, Callable[[], Figure | None]] = {
        "idle random read": lambda: idle_read_latency_ns(device),
        "idle sequential read": lambda: idle_latency_ns(device, "read", "sequential"),
        "idle nt-store": lambda: idle_latency_ns(device, "nt-store"),
        "idle persisted store": lambda: idle_latency_ns(device, "clwb"),
        "read bandwidth": lambda: bandwidth(device, "read"),
        "random read bandwidth": lambda: bandwidth(device, "read", "random"),
        "write bandwidth": lambda: bandwidth(device, "write"),
        "nt-store bandwidth": lambda: bandwidth(device, "nt-store"),
    }
    for name, get in getters.items():
        try:
            figure = get()
        except NearfarError:
            continue
        if figure is None or figure.how == "assumed":
            continue
        if isinstance(figure, LatencyFigure):
            figures[name] = figure.value_ns, " ns"
        elif isinstance(figure, BandwidthFigure):
            figures[name] = figure.value_gb_per_s, " GB/s"
    curve = loaded_curve(device, 1.0)
    if curve is not None and curve.read_share >= MIN_READ_SHARE:
        figures |= _shape(curve)
    return figures


def _shape(curve: LoadedLatencyCurve) -> Figures:
    """Return latency over idle at parts of the best bandwidth, on the rising part of the curve."""
    points = rising_load(curve.points)
    best = max(range(len(points)), key=lambda index: points[index][0])
    rising = sorted(points[: best + 1])
    rates = np.array([rate for rate, _ in rising])
    times = np.array([ns for _, ns in rising])
    if rates.size < 3 or rates[-1] <= 0:
        return {}
    return {
        f"latency at {part:.0%} load": (
            float(np.interp(part * rates[-1], rates, times) / times[0]),
            " times idle",
        )
        for part in (0.25, 0.5, 0.75, 0.9)
    }
