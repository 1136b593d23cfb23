"""Time per access with more and more independent chains in one core."""

from __future__ import annotations

from matplotlib.axes import Axes

from nearfar.documents.device import ChainsFigure
from nearfar.plots import _axes
from nearfar.plots._data import PICTURES, Drawing, Panel


@PICTURES.register("chains")
def panels(drawing: Drawing) -> list[Panel]:
    """Return one panel if there are chains."""
    figures = drawing.device.chains
    if not figures:
        return []
    return [Panel("Independent chains in one core", lambda axes: _draw(axes, figures))]


def _draw(axes: Axes, figures: list[ChainsFigure]) -> None:
    """Draw ns per access over the number of chains and the ideal scaling, for each page size."""
    for page_bytes in sorted({figure.page_bytes or 0 for figure in figures}):
        line = sorted(
            (figure for figure in figures if (figure.page_bytes or 0) == page_bytes),
            key=lambda figure: figure.chains,
        )
        x, y = [figure.chains for figure in line], [figure.value_ns for figure in line]
        pages = f"{_axes.size_text(page_bytes)} pages" if page_bytes else "measured"
        (drawn,) = axes.plot(x, y, marker="o", ms=3, lw=1.3, label=pages)
        colour = drawn.get_color()
        low = [figure.value_ns if figure.low_ns is None else figure.low_ns for figure in line]
        high = [figure.value_ns if figure.high_ns is None else figure.high_ns for figure in line]
        axes.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
        ideal = [line[0].value_ns * line[0].chains / figure.chains for figure in line]
        axes.plot(x, ideal, ls="--", lw=0.8, color=colour, label=f"{pages}: all at once")
    axes.set_xscale("log", base=2)
    counts = sorted({figure.chains for figure in figures})
    ticks = [count for count in counts if count & (count - 1) == 0] or counts
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    _axes.time_axis(axes, [figure.value_ns for figure in figures])
    axes.set(xlabel="chains", ylabel="time per access")
    axes.grid(alpha=0.25)
    _axes.legend(axes)
