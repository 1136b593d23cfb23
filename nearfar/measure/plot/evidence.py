"""What each inference was made from: the samples, what the answer predicts, where it decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearfar.measure.plot import _axes
from nearfar.measure.plot._data import Drawing, Panel
from nearfar.measure.plot._registry import FIGURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nearfar.measure.infer.findings import Evidence

WIDE = 8.0
"""From this ratio of the greatest to the least y on, a linear axis would hide the lower steps."""


@FIGURES.register("evidence")
def panels(drawing: Drawing) -> list[Panel]:
    """Return one panel for each piece of evidence."""
    return [
        Panel(
            one.title or name,
            lambda axes, one=one: draw(axes, one),  # type: ignore[misc]
        )
        for name, one in drawing.evidence.items()
        if np.size(one.x) > 0
    ]


def draw(axes: Axes, one: Evidence) -> None:
    """Draw one curve with its quartiles, what the answer predicts, and its knees."""
    order = np.argsort(one.x, kind="stable")
    x, y = np.asarray(one.x)[order], np.asarray(one.y)[order]
    mark = "o" if x.size <= 200 else ""
    axes.plot(x, y, marker=mark, ms=2.5, lw=1.1, color="C0", label="median")
    if np.size(one.y_low) == x.size and np.size(one.y_high) == x.size:
        low, high = np.asarray(one.y_low)[order], np.asarray(one.y_high)[order]
        axes.fill_between(x, low, high, color="C0", alpha=0.25, lw=0, label="quartiles")
    if one.fitted is not None:
        fitted = np.asarray(one.fitted)[order]
        axes.plot(x, fitted, color="C1", lw=1.1, ls="--", label="as the answer predicts")
    in_bytes = "byte" in one.x_name.lower()
    for knee in one.knees:
        _axes.mark_knee(axes, knee, _axes.size_text(knee) if in_bytes else f"{knee:.3g}")
    ends = [float(x[0]), float(x[-1]), *one.knees]
    if one.log_x and in_bytes and min(ends) > 0:
        _axes.size_axis(axes, min(ends), max(ends))
    elif one.log_x and min(ends) > 0:
        _axes.log_axis(axes, "x", ends)
    positive = y[y > 0]
    if positive.size == y.size and y.size and y.max() > WIDE * y.min():
        _axes.log_axis(axes, "y", [float(y.min()), float(y.max())])
    name = one.x_name.replace(" (bytes)", "") if one.log_x and in_bytes else one.x_name
    axes.set(xlabel=name, ylabel=one.y_name)
    axes.grid(alpha=0.25)
    _axes.legend(axes, columns=3)
