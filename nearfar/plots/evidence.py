"""What each inference was made from: the samples, and what the profile says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from nearfar.plots import _axes
from nearfar.plots._answers import EvidenceAnswer, answer_of
from nearfar.plots._data import FIGURES, Drawing, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from nearfar.samples.evidence import Evidence

WIDE = 8.0
"""From this ratio of the greatest to the least y on, a linear axis would hide the lower steps."""

FLAT = 0.3
"""Below this spread of y over its middle the axis shows more than y, or noise would fill it."""

REJECTED = "0.6"
"""Grey of what was looked at and is no answer."""


@FIGURES.register("evidence")
def panels(drawing: Drawing) -> list[Panel]:
    """Return one panel for each piece of evidence."""
    found = []
    for name, one in drawing.evidence.items():
        if np.size(one.x) > 0:
            answer = answer_of(name, one, drawing.device)
            found.append(Panel(one.title or name, _painter(one, answer), _note(answer)))
    return found


def _painter(one: Evidence, answer: EvidenceAnswer) -> Callable[[Axes], None]:
    return lambda axes: draw(axes, one, answer)


def draw(axes: Axes, one: Evidence, answer: EvidenceAnswer) -> None:
    """Draw one curve with its quartiles, and what the profile says of it.

    Knees that the profile has are marked; what an inference considered and the profile has not
    is grey, with the reason.
    """
    order = np.argsort(one.x, kind="stable")
    x, y = np.asarray(one.x)[order], np.asarray(one.y)[order]
    mark = "o" if x.size <= 200 else ""
    axes.plot(x, y, marker=mark, ms=2.5, lw=1.1, color="C0", label="median")
    if np.size(one.y_low) == x.size and np.size(one.y_high) == x.size:
        low, high = np.asarray(one.y_low)[order], np.asarray(one.y_high)[order]
        axes.fill_between(x, low, high, color="C0", alpha=0.25, lw=0, label="quartiles")
    if one.fitted is not None:
        predicted = ("C1", "as the answer predicts")
        colour, label = predicted if answer.marks else (REJECTED, "fitted, no answer")
        fitted = np.asarray(one.fitted)[order]
        axes.plot(x, fitted, color=colour, lw=1.1, ls="--", label=label)
    in_bytes = "byte" in one.x_name.lower()
    for place in answer.marks:
        _axes.mark_knee(axes, place.at, place.text, place.low, place.high)
    if not answer.marks:
        for knee in one.knees:
            axes.axvline(knee, color=REJECTED, ls=(0, (1, 4)), lw=1)
    ends = [float(x[0]), float(x[-1]), *(place.at for place in answer.marks)]
    if one.log_x and in_bytes and min(ends) > 0:
        _axes.size_axis(axes, min(ends), max(ends))
    elif one.log_x and min(ends) > 0:
        _axes.log_axis(axes, "x", ends)
    else:
        axes.xaxis.set_major_formatter("{x:,.0f}")
    _y_axis(axes, y)
    name = one.x_name.replace(" (bytes)", "") if one.log_x and in_bytes else one.x_name
    axes.set(xlabel=name, ylabel=one.y_name)
    axes.grid(alpha=0.25)
    _axes.legend(axes, columns=3)


def _y_axis(axes: Axes, y: NDArray[np.float64]) -> None:
    least, most = float(y.min()), float(y.max())
    if least > 0 and most > WIDE * least:
        _axes.log_axis(axes, "y", [least, most])
    elif least > 0 and most - least < FLAT * (middle := float(np.median(y))):
        axes.set_ylim(0.5 * middle, 1.5 * middle)


def _note(answer: EvidenceAnswer) -> str:
    """Return what marks do not say, and why something is not seen."""
    lines = [answer.said] if answer.said else []
    if answer.not_seen:
        lines.append(f"not seen: {answer.not_seen}")
    return "; ".join(lines)
