"""Time per access with more and more independent chains in one core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.plots import _axes
from nearfar.plots._data import FIGURES, Drawing, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nearfar.documents.device import ChainsFigure


@FIGURES.register("chains")
def panels(drawing: Drawing) -> list[Panel]:
    """Return one panel if there are chains."""
    figures = drawing.device.chains
    if not figures:
        return []
    return [Panel("Independent chains in one core", lambda axes: _draw(axes, figures))]


def _draw(axes: Axes, figures: list[ChainsFigure]) -> None:
    for page_bytes in sorted({one.page_bytes or 0 for one in figures}):
        line = sorted(
            (one for one in figures if (one.page_bytes or 0) == page_bytes),
            key=lambda one: one.chains,
        )
        x, y = [one.chains for one in line], [one.value_ns for one in line]
        pages = f"{_axes.size_text(page_bytes)} pages" if page_bytes else "measured"
        (drawn,) = axes.plot(x, y, marker="o", ms=3, lw=1.3, label=pages)
        colour = drawn.get_color()
        low = [one.value_ns if one.low_ns is None else one.low_ns for one in line]
        high = [one.value_ns if one.high_ns is None else one.high_ns for one in line]
        axes.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
        ideal = [line[0].value_ns * line[0].chains / one.chains for one in line]
        axes.plot(x, ideal, ls="--", lw=0.8, color=colour, label=f"{pages}: all at once")
    axes.set_xscale("log", base=2)
    counts = sorted({one.chains for one in figures})
    ticks = [count for count in counts if count & (count - 1) == 0] or counts
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    _axes.time_axis(axes, [one.value_ns for one in figures])
    axes.set(xlabel="chains", ylabel="time per access")
    axes.grid(alpha=0.25)
    _axes.legend(axes)
