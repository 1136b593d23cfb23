"""Which memories of the library are most like one that was measured, and why.

The distance of two memories is the root mean square of the natural logarithms of the ratios of
the figures that both have, weighted by `WEIGHTS`: 0.1 is about 10 % apart in everything. A figure
that the measured one has and the other lacks counts as apart by `UNKNOWN`, so that a memory of
which little is published does not win by what it does not say. Stand-ins and assumed figures do
not count, nor do names and technologies.

- idle latencies weigh 1 each: they are the memory's and its interconnect's own;
- bandwidths weigh 0.5: they also grow with channels and with the cores that draw;
- the shape of the curve under load weighs 1 in all: latency over the idle one at 25, 50, 75 and
  90 % of the best bandwidth, with reads only;
- granularity weighs 0.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.devices.curves import (
    bandwidth,
    idle_latency_ns,
    idle_read_latency_ns,
    loaded_curve,
)
from nearfar.devices.library import device_names, load_device
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

UNKNOWN = math.log(1.5)
"""What a lacking figure counts as: half as much again, about what local memories differ by."""

FEWEST_SHARED = 2
"""Two memories that share a single figure are not compared."""

READS = 0.95
"""From this share of reads on a curve is one of reads."""

Figures = dict[str, tuple[float, str]]
"""Name to value and unit."""


@dataclass(frozen=True)
class Likeness:
    """One device of the library beside the measured one."""

    name: str
    title: str
    distance: float
    shared: dict[str, tuple[float, float, str]]
    """Figure to the measured one's value, this one's, and the unit."""
    lacking: list[str]
    """Figures of the measured one that this one does not have."""

    def why(self) -> str:
        """Return the figures that agree most and least, in a sentence's part."""
        # That both move 64 B says little: granularity is named only where it differs.
        same = {name for name in self.shared if name == "granularity" and not self._apart(name)}
        order = sorted(set(self.shared) - same, key=lambda name: (self._apart(name), name))
        nearest = order[:2]
        farthest = [name for name in order[2:][-1:] if self._apart(name) > math.log(1.2)]
        parts = [self._beside(name) for name in nearest]
        text = "near in " + " and ".join(parts)
        if farthest:
            text += f"; farthest in {self._beside(farthest[0])}"
        if self.lacking:
            count = len(self.lacking)
            text += f"; {count} figure{'s' if count > 1 else ''} of it not known"
        return text

    def _apart(self, name: str) -> float:
        one, other, _ = self.shared[name]
        return abs(math.log(one / other))

    def _beside(self, name: str) -> str:
        one, other, unit = self.shared[name]
        digits = ".0f" if unit == " B" else ".3g"
        return f"{name} ({one:{digits}} against {other:{digits}}{unit})"


def closest(device: DeviceProfile, most: int = 3) -> list[Likeness]:
    """Return the `most` devices of the library nearest to `device`, nearest first."""
    mine = figures_of(device)
    found = []
    for name in device_names():
        other = load_device(name)
        if other.name == device.name and other.sources == device.sources:
            continue  # itself
        likeness = compare_figures(mine, figures_of(other), other)
        if likeness is not None:
            found.append(likeness)
    return sorted(found, key=lambda one: (one.distance, one.name))[:most]


def compare_figures(mine: Figures, theirs: Figures, other: DeviceProfile) -> Likeness | None:
    """Return how near two sets of figures are; None if they share too few."""
    shared = {
        name: (value, theirs[name][0], unit)
        for name, (value, unit) in mine.items()
        if name in theirs
    }
    measured = [name for name in shared if name != "granularity"]
    if len(measured) < FEWEST_SHARED:
        return None
    lacking = [name for name in mine if name not in theirs]
    squares = sum(
        WEIGHTS[name] * math.log(one / two) ** 2 for name, (one, two, _) in shared.items()
    )
    squares += sum(WEIGHTS[name] * UNKNOWN**2 for name in lacking)
    distance = math.sqrt(squares / sum(WEIGHTS[name] for name in mine))
    return Likeness(other.name, other.title, distance, shared, lacking)


def figures_of(device: DeviceProfile) -> Figures:
    """Return what of `device` is compared: measured, published or fitted, never assumed."""
    found: Figures = {"granularity": (float(device.granularity_bytes), " B")}
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
            found[name] = figure.value_ns, " ns"
        elif isinstance(figure, BandwidthFigure):
            found[name] = figure.value_gb_per_s, " GB/s"
    curve = loaded_curve(device, 1.0)
    if curve is not None and curve.read_share >= READS:
        found |= _shape(curve)
    return found


def _shape(curve: LoadedLatencyCurve) -> Figures:
    """Return latency over idle at parts of the best bandwidth; the rising part of the curve."""
    best = max(range(len(curve.points)), key=lambda index: curve.points[index][0])
    rising = sorted(curve.points[: best + 1])
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
