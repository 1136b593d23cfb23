"""Tails of single accesses: the share that takes longer than a time, a line for each point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from nearfar.base.units import format_ns
from nearfar.plots import _axes
from nearfar.plots._data import PICTURES, Drawing, Panel
from nearfar.samples.point import SamplePoint
from nearfar.samples.store import SampleRecord

MAX_LINES = 8
"""Lines of one panel that can be distinguished; of more points, evenly chosen ones are drawn."""

Tail = tuple["NDArray[np.float64]", "NDArray[np.float64]"]
"""Times, ascending, and the share of accesses that take longer."""


@PICTURES.register("tails")
def panels(drawing: Drawing) -> list[Panel]:
    """Return a panel for each (group, kernel) whose single accesses were timed."""
    groups: dict[tuple[str, str], dict[SamplePoint, list[SampleRecord]]] = {}
    for record in drawing.records:
        if record.point.each:
            group = groups.setdefault((record.point.figure, record.point.kernel), {})
            group.setdefault(record.point, []).append(record)
    return [
        Panel(f"Tails of {_timed(kernel)}{WHERE.get(figure, '')}", _painter(points))
        for (figure, kernel), points in sorted(groups.items())
    ]


WHERE: dict[str, str] = {
    "loaded": " under load",
    "instrument": ", as the instrument was examined",
    "protocol": ", as other tools measure",
}
"""Addition to the heading, by group of samples; the others need none."""

KERNELS = {
    "chase": "dependent loads",
    "overwrite": "persisted writes to one place",
    "persist-store": "stores, each with its fence",
}


def _timed(kernel: str) -> str:
    """Return the text for the access that a kernel times."""
    if kernel in KERNELS:
        return KERNELS[kernel]
    if kernel.startswith("persist-"):
        how = kernel.removeprefix("persist-")
        return f"writes persisted by {how if how == 'nt-store' else f'store + {how}'}"
    return kernel


def tail_of(records: list[SampleRecord]) -> Tail:
    """Return (times in ns, share of accesses that take longer), sorted by time."""
    values, weights = [], []
    for record in records:
        each = record.sample.each_ns
        summary = getattr(record, "summary", None)
        if each is not None and each.size:
            values.append(np.asarray(each, np.float64))
            weights.append(np.ones(each.size))
        elif summary is not None and summary.count:
            # Each quantile of the bulk represents the accesses between two quantiles.
            bulk = summary.quantiles_ns[: int(summary.quantiles_ns.size * 0.99)]
            share = (summary.count - summary.tail_ns.size) / bulk.size
            values += [bulk.astype(np.float64), summary.tail_ns.astype(np.float64)]
            weights += [np.full(bulk.size, share), np.ones(summary.tail_ns.size)]
    if not values:
        return np.empty(0), np.empty(0)
    times, counts = np.concatenate(values), np.concatenate(weights)
    order = np.argsort(times, kind="stable")
    times, counts = times[order], counts[order]
    beyond = 1 - (np.cumsum(counts) - counts / 2) / counts.sum()
    return times, beyond


def _painter(points: dict[SamplePoint, list[SampleRecord]]) -> Callable[[Axes], None]:
    def draw(axes: Axes) -> None:
        chosen = list(points)
        if len(chosen) > MAX_LINES:
            places = np.linspace(0, len(chosen) - 1, MAX_LINES).round().astype(int)
            chosen = [chosen[place] for place in places]
        names = _names(chosen)
        ends: list[float] = []
        for point in chosen:
            times, beyond = tail_of(points[point])
            if times.size:
                kept = _thinned(times, beyond)
                axes.plot(times[kept], beyond[kept], lw=1.2, label=names[point])
                ends += [max(0.1, float(times[0])), float(times[-1])]
        _axes.log_axis(axes, "x", ends or [1.0])
        axes.xaxis.set_major_formatter(lambda value, _: format_ns(value))
        axes.set_yscale("log")
        shares = [1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6]
        low = axes.get_ylim()[0]
        ticks = [share for share in shares if share >= low]
        axes.set_yticks(ticks, ["all", *(f"1 in {round(1 / share):,}" for share in ticks[1:])])
        axes.set_yticks([], minor=True)
        axes.set(xlabel="time of one access", ylabel="accesses that take longer")
        axes.tick_params(axis="x", rotation=30)
        axes.grid(alpha=0.25)
        _axes.legend(axes, rows_below=2)

    return draw


def _thinned(times: NDArray[np.float64], beyond: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the indices of about 2000 points, evenly spaced on the logarithmic share axis."""
    if times.size <= 2000:
        return np.arange(times.size)
    ranks = np.geomspace(beyond[-1], beyond[0], 2000)
    return np.unique(np.clip(np.searchsorted(-beyond, -ranks), 0, times.size - 1))


def _names(points: list[SamplePoint]) -> dict[SamplePoint, str]:
    """Return a name for each point, made of the fields in which the points differ."""
    words: dict[str, Callable[[SamplePoint], str]] = {
        "region_bytes": lambda point: _axes.size_text(point.region_bytes),
        "page_bytes": lambda point: f"{_axes.size_text(point.page_bytes)} pages",
        "access_bytes": lambda point: f"accesses of {_axes.size_text(point.access_bytes)}",
        "fence_every": lambda point: f"fence every {point.fence_every}",
        "generator": lambda point: f"with {point.generator}" if point.generator else "alone",
        "read_share": lambda point: "" if point.read_share is None else f"{point.read_share:.0%} r",
        "pause_ns": lambda point: (
            "idle" if point.pause_ns is None else f"others rest {format_ns(point.pause_ns)}"
        ),
        "rest_ns": lambda point: f"rest {format_ns(point.rest_ns)}" if point.rest_ns else "",
        "threads": lambda point: f"{point.threads} threads",
        "window_bytes": lambda point: f"window {_axes.size_text(point.window_bytes)}",
        "stride_bytes": lambda point: f"one in {_axes.size_text(point.stride_bytes)}",
        "accesses": lambda point: f"{point.accesses:,} accesses",
    }
    varying = [key for key in words if len({getattr(point, key) for point in points}) > 1]
    shown = [key for key in varying if key != "accesses"] or ["region_bytes"]
    if len({tuple(getattr(point, key) for key in shown) for point in points}) < len(points):
        # Runs of growing length differ only in their number of accesses.
        shown.append("accesses")
    return {
        point: ", ".join(filter(None, (words[key](point) for key in shown))) for point in points
    }
