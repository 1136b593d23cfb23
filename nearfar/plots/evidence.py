"""Evidence of each inference: the samples, and the profile's answer."""

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
"""Ratio of largest to smallest y from which the axis is logarithmic, to show the lower steps."""

FLAT = 0.3
"""Relative spread of y below which the axis is widened, so that noise does not fill it."""

REJECTED = "0.6"
"""Grey of a candidate that is not the answer."""


@FIGURES.register("evidence")
def panels(drawing: Drawing) -> list[Panel]:
    """Return one panel for each piece of evidence."""
    drawn = []
    for name, evidence in drawing.evidence.items():
        if np.size(evidence.x) > 0:
            answer = answer_of(name, evidence, drawing.device)
            drawn.append(Panel(evidence.title or name, _painter(evidence, answer), _note(answer)))
    return drawn


def _painter(evidence: Evidence, answer: EvidenceAnswer) -> Callable[[Axes], None]:
    return lambda axes: draw(axes, evidence, answer)


def draw(axes: Axes, evidence: Evidence, answer: EvidenceAnswer) -> None:
    """Draw one curve with its quartiles, and the profile's answer.

    Knees in the profile are marked; rejected ones are grey, with the reason.
    """
    order = np.argsort(evidence.x, kind="stable")
    x, y = np.asarray(evidence.x)[order], np.asarray(evidence.y)[order]
    mark = "o" if x.size <= 200 else ""
    axes.plot(x, y, marker=mark, ms=2.5, lw=1.1, color="C0", label="median")
    if np.size(evidence.y_low) == x.size and np.size(evidence.y_high) == x.size:
        low, high = np.asarray(evidence.y_low)[order], np.asarray(evidence.y_high)[order]
        axes.fill_between(x, low, high, color="C0", alpha=0.25, lw=0, label="quartiles")
    if evidence.fitted is not None:
        predicted = ("C1", "as the answer predicts")
        colour, label = predicted if answer.marks else (REJECTED, "fitted, no answer")
        fitted = np.asarray(evidence.fitted)[order]
        axes.plot(x, fitted, color=colour, lw=1.1, ls="--", label=label)
    in_bytes = "byte" in evidence.x_name.lower()
    for place in answer.marks:
        _axes.mark_knee(axes, place.at, place.text, place.low, place.high)
    if not answer.marks:
        for knee in evidence.knees:
            axes.axvline(knee, color=REJECTED, ls=(0, (1, 4)), lw=1)
    ends = [float(x[0]), float(x[-1]), *(place.at for place in answer.marks)]
    if evidence.log_x and in_bytes and min(ends) > 0:
        _axes.size_axis(axes, min(ends), max(ends))
    elif evidence.log_x and min(ends) > 0:
        _axes.log_axis(axes, "x", ends)
    else:
        axes.xaxis.set_major_formatter("{x:,.0f}")
    _y_axis(axes, y)
    name = (
        evidence.x_name.replace(" (bytes)", "") if evidence.log_x and in_bytes else evidence.x_name
    )
    axes.set(xlabel=name, ylabel=evidence.y_name)
    axes.grid(alpha=0.25)
    _axes.legend(axes, columns=3)


def _y_axis(axes: Axes, y: NDArray[np.float64]) -> None:
    least, most = float(y.min()), float(y.max())
    if least > 0 and most > WIDE * least:
        _axes.log_axis(axes, "y", [least, most])
    elif least > 0 and most - least < FLAT * (middle := float(np.median(y))):
        axes.set_ylim(0.5 * middle, 1.5 * middle)


def _note(answer: EvidenceAnswer) -> str:
    """Return the note: text without a mark, and why something is not seen."""
    lines = [answer.text] if answer.text else []
    if answer.not_seen:
        lines.append(f"not seen: {answer.not_seen}")
    return "; ".join(lines)
