"""Axes with readable units (4 KiB, 1.5 us), and legends below the data."""

from __future__ import annotations

import math
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullLocator

from nearfar.base.units import format_ns

MAX_TICKS = 6
"""Labels of sizes that fit side by side under one panel."""

SMALL = 7.5
"""Points: legends and notes inside a panel."""

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size_text(size_bytes: float) -> str:
    """Return bytes in their shortest form: ``64 B``, ``4 KiB``, ``1.5 MiB``."""
    value = float(size_bytes)
    for unit in UNITS[:-1]:
        if value < 1024:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} {UNITS[-1]}"


def size_ticks(low: float, high: float) -> list[int]:
    """Return powers of two from `low` to `high` bytes, evenly spaced, at most `MAX_TICKS`."""
    first, last = math.ceil(math.log2(max(1, low)) - 1e-9), math.floor(math.log2(high) + 1e-9)
    step = 1
    while (last - first) // step + 1 > MAX_TICKS:
        step += 1
    return [2**power for power in range(first, last + 1, step)]


def size_axis(axes: Axes, low: float, high: float) -> None:
    """Make x a logarithmic axis of bytes from `low` to `high`."""
    axes.set_xscale("log", base=2)
    ticks = size_ticks(low, high)
    axes.set_xticks(ticks, [size_text(tick) for tick in ticks], fontsize=SMALL + 1)
    axes.set_xticks([], minor=True)


def time_axis(axes: Axes, values_ns: list[float]) -> None:
    """Make y a logarithmic axis of times that covers `values_ns`, labelled at 1, 2 and 5."""
    log_axis(axes, "y", values_ns)
    axes.yaxis.set_major_formatter(lambda value, _: format_ns(value))


def log_axis(axes: Axes, which: Literal["x", "y"], values: list[float]) -> None:
    """Make an axis logarithmic, with fewer ticks per decade for a wider range."""
    positive = [value for value in values if value > 0]
    decades = math.log10(max(positive) / min(positive)) if positive else 1.0
    getattr(axes, f"set_{which}scale")("log")
    axis = axes.xaxis if which == "x" else axes.yaxis
    steps = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0) if decades < 1 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(10, subs=steps if decades < 3 else (1.0,)))
    if decades < 3:
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")
    if positive and decades < 0.3:
        # A range below a factor of two is widened, or noise would look like a cliff.
        middle = math.sqrt(max(positive) * min(positive))
        getattr(axes, f"set_{which}lim")(middle / 2, middle * 2)


def legend(axes: Axes, columns: int = 2, rows_below: int = 1) -> None:
    """Put the legend below the axes, where no data are, in up to `columns` columns."""
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    below = -0.17 - 0.05 * (rows_below - 1)
    axes.legend(
        handles,
        labels,
        loc="upper center",
        bbox_to_anchor=(0.5, below),
        ncols=min(columns, len(handles)),
        fontsize=SMALL,
        frameon=False,
    )


def mark_knee(
    axes: Axes, at: float, text: str, low: float | None = None, high: float | None = None
) -> None:
    """Draw a vertical line at `at` with its interval shaded and `text` along it at the top.

    Curves of memories rise to the right, so the area to the upper left of a knee has no data.
    """
    if low is not None and high is not None and low < high:
        axes.axvspan(low, high, color="0.5", alpha=0.15, lw=0)
    axes.axvline(at, color="0.35", ls=":", lw=1)
    axes.annotate(
        text,
        (at, 0.98),
        xycoords=("data", "axes fraction"),
        xytext=(-2, 0),
        textcoords="offset points",
        rotation=90,
        va="top",
        ha="right",
        fontsize=SMALL - 0.5,
        color="0.25",
        bbox={"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.5},
    )
