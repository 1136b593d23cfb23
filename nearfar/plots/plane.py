"""The read/write plane: bandwidth by read share, and by threads or access size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

from nearfar.documents.device import BandwidthFigure, Pattern
from nearfar.plots import _axes
from nearfar.plots._data import PICTURES, Drawing, Panel
from nearfar.plots.bandwidth import OTHER, Key, fixed_text

Plane = dict[tuple[float, int], float]
"""(read share, threads or bytes) to GB/s."""

MAX_CELLS = 150
"""With more, numbers in the cells are too small to read; the colours stay."""


@PICTURES.register("plane")
def panels(drawing: Drawing) -> list[Panel]:
    """Return a panel for each pattern, by threads and by access size, if these vary."""
    drawn = []
    patterns: tuple[Pattern, ...] = ("sequential", "random")
    keys: tuple[tuple[Key, str], ...] = (("threads", "threads"), ("access_bytes", "access size"))
    for pattern in patterns:
        chosen = [f for f in drawing.device.bandwidth if f.pattern == pattern]
        for key, word in keys:
            fixed, plane = _plane(chosen, key)
            if plane:
                of = fixed_text(OTHER[key], fixed)
                title = f"Traffic by reads and {word}, {pattern}{of}, GB/s"
                drawn.append(Panel(title, _painter(plane, key)))
    return drawn


def _plane(figures: list[BandwidthFigure], key: Key) -> tuple[int | None, Plane]:
    """Return (value of the other key, GB/s at each (read share, `key`)).

    The other key (access size for threads, threads for access size) is fixed at the value that has
    the most mixtures. The plane is empty if there are too few mixtures.
    """
    mixed: dict[int | None, int] = {}
    for figure in figures:
        if figure.operation == "mixed" and getattr(figure, key) is not None:
            other = getattr(figure, OTHER[key])
            mixed[other] = mixed.get(other, 0) + 1
    if not mixed:
        return None, {}
    fixed = max(mixed, key=lambda other: (mixed[other], -(other or 0)))
    plane: Plane = {}
    for figure in figures:
        at = getattr(figure, key)
        # Payload is all the traffic of reads and nt-stores; ordinary stores also read lines.
        share = {"read": 1.0, "nt-store": 0.0, "mixed": figure.read_share}.get(figure.operation)
        if at is not None and share is not None and getattr(figure, OTHER[key]) == fixed:
            place = (share, at)
            plane[place] = max(figure.value_gb_per_s, plane.get(place, 0.0))
    shares, rows = {share for share, _ in plane}, {at for _, at in plane}
    return fixed, plane if len(shares) > 2 and len(rows) > 1 else {}


def _painter(plane: Plane, key: Key) -> Callable[[Axes], None]:
    def draw(axes: Axes) -> None:
        shares, rows = sorted({s for s, _ in plane}), sorted({r for _, r in plane})
        grid = np.array([[plane.get((s, r), np.nan) for s in shares] for r in rows])
        image = axes.imshow(grid, origin="lower", aspect="auto", cmap="viridis", vmin=0)
        axes.set_xticks(range(len(shares)), [f"{share:.0%}" for share in shares])
        if len(shares) > 8:
            axes.tick_params(axis="x", rotation=60)
        named = [_axes.size_text(r) if key == "access_bytes" else str(r) for r in rows]
        axes.set_yticks(range(len(rows)), named)
        axes.set(
            xlabel="reads of all traffic",
            ylabel="bytes of one access" if key == "access_bytes" else "threads",
        )
        if grid.size <= MAX_CELLS:
            _numbers(axes, grid)
        axes.figure.colorbar(image, ax=axes, label="traffic, GB/s (1e9 B/s)")

    return draw


def _numbers(axes: Axes, grid: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    bright = np.nanmax(grid) * 0.6
    for (row, column), value in np.ndenumerate(grid):
        if np.isfinite(value):
            colour = "black" if value > bright else "white"
            text = f"{value:.3g}"
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=7)
