"""Loaded latency: the time of an access while other cores use bandwidth."""

from __future__ import annotations

from matplotlib import colormaps
from matplotlib.axes import Axes

from nearfar.documents.device import LoadedLatencyCurve, Tail
from nearfar.plots import _axes
from nearfar.plots._data import PICTURES, Drawing, Panel

PERCENTILES = {
    "p50": "p50_ns",
    "p90": "p90_ns",
    "p99": "p99_ns",
    "p99.9": "p99_9_ns",
    "p99.99": "p99_99_ns",
}
MIN_BEYOND = 5
"""Minimum number of accesses beyond a percentile; with fewer it is chance, and not drawn."""


@PICTURES.register("loaded")
def panels(drawing: Drawing) -> list[Panel]:
    """Return a panel of all curves for each instruction, and a panel of each curve's tail."""
    drawn = []
    curves = drawing.device.loaded_latency
    whole = [curve for curve in curves if curve.threads is None and curve.pattern == "sequential"]
    curves = whole or curves
    for instruction in sorted({curve.instruction for curve in curves}):
        family = sorted(
            (curve for curve in curves if curve.instruction == instruction),
            key=lambda curve: -curve.read_share,
        )
        drawn.append(
            Panel(
                f"{_called(instruction)} while others draw bandwidth",
                lambda axes, family=family: _family(axes, family),  # type: ignore[misc]
            )
        )
        drawn += [
            Panel(
                f"Percentiles of {_called(instruction).lower()} under load, "
                f"{curve.read_share:.0%} reads",
                lambda axes, curve=curve: _percentiles(axes, curve),  # type: ignore[misc]
            )
            for curve in family
            if curve.tails
        ]
    return drawn


def _called(instruction: str) -> str:
    """Return what `instruction` times, for a heading."""
    return "Loads" if instruction == "load" else instruction


def _family(axes: Axes, family: list[LoadedLatencyCurve]) -> None:
    shares = [curve.read_share for curve in family]
    colours = colormaps["viridis"]
    for curve in family:
        place = (max(shares) - curve.read_share) / ((max(shares) - min(shares)) or 1)
        x, y = zip(*curve.points, strict=True)
        label = f"{curve.read_share:.0%} reads"
        axes.plot(x, y, marker="o", ms=2.5, lw=1.2, color=colours(place * 0.88), label=label)
    _axes.time_axis(axes, [ns for curve in family for _, ns in curve.points])
    axes.set_xlim(left=0)
    axes.set(xlabel="bandwidth drawn by all, GB/s (1e9 B/s)", ylabel="time per access")
    axes.grid(alpha=0.25)
    _axes.legend(axes, columns=4)


def _percentiles(axes: Axes, curve: LoadedLatencyCurve) -> None:
    colours = colormaps["plasma"]
    values = []
    for number, (name, key) in enumerate(PERCENTILES.items()):
        tails = [tail for tail in curve.tails if _counts(tail, float(name[1:]))]
        if not tails:
            continue
        x = [tail.bandwidth_gb_per_s for tail in tails]
        y = [getattr(tail, key) for tail in tails]
        axes.plot(x, y, marker="o", ms=2.5, lw=1.2, color=colours(number * 0.21), label=name)
        values += y
    _axes.time_axis(axes, values or [1.0])
    axes.set_xlim(left=0)
    axes.set(xlabel="bandwidth drawn by all, GB/s (1e9 B/s)", ylabel="time of single accesses")
    axes.grid(alpha=0.25)
    _axes.legend(axes, columns=5)


def _counts(tail: Tail, percentile: float) -> bool:
    return tail.accesses * (1 - percentile / 100) >= MIN_BEYOND
