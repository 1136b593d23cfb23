"""Bandwidth over threads and over access size; a line varies only one of the two."""

from __future__ import annotations

from typing import Literal

from matplotlib.axes import Axes

from nearfar.base.units import format_count
from nearfar.documents.device import BandwidthFigure
from nearfar.plots import _axes
from nearfar.plots._data import PICTURES, Drawing, Panel

Key = Literal["threads", "access_bytes"]
OTHER: dict[Key, Key] = {"threads": "access_bytes", "access_bytes": "threads"}


@PICTURES.register("bandwidth")
def panels(drawing: Drawing) -> list[Panel]:
    """Return up to two panels: by threads (one access size), by access size (one thread count)."""
    drawn = []
    by_threads = _lines(drawing.device.bandwidth, "threads")
    if by_threads:
        drawn.append(Panel("Bandwidth by threads", lambda axes: _draw_by_threads(axes, by_threads)))
    by_size = _lines(drawing.device.bandwidth, "access_bytes")
    if by_size:
        drawn.append(Panel("Bandwidth by access size", lambda axes: _draw_by_size(axes, by_size)))
    return drawn


def _lines(figures: list[BandwidthFigure], key: Key) -> dict[str, list[BandwidthFigure]]:
    """Return a line of figures over `key` for each kind of access, by the line's label.

    The line has a fixed value of the other key: the value with the most figures or, of several
    such values, the one with the greatest bandwidth. Lines of one figure are left out.
    """
    kinds: dict[tuple[str, str, int | None], dict[int | None, dict[int, BandwidthFigure]]] = {}
    for figure in figures:
        at = getattr(figure, key)
        if at is None or figure.operation == "mixed":
            continue
        kind = kinds.setdefault((figure.pattern, figure.operation, figure.stride_bytes), {})
        line = kind.setdefault(getattr(figure, OTHER[key]), {})
        # The first of several equal settings: a device's file lists the most trusted figure first.
        line.setdefault(at, figure)
    lines = {}
    for (pattern, operation, stride), kind in sorted(kinds.items(), key=str):
        other, line = max(kind.items(), key=lambda item: (len(item[1]), _most(item[1])))
        if len(line) > 1:
            every = f", one in {_axes.size_text(stride)}" if stride else ""
            name = f"{pattern} {operation}{every}{fixed_text(OTHER[key], other)}"
            lines[name] = [line[at] for at in sorted(line)]
    return lines


def _most(line: dict[int, BandwidthFigure]) -> float:
    return max(figure.value_gb_per_s for figure in line.values())


def fixed_text(key: Key, value: int | None) -> str:
    """Return the label's text for the fixed `key`; sequential accesses have no access size."""
    if key == "access_bytes":
        return f", {_axes.size_text(value)}" if value else ""
    if value is None:
        return ", best threads"
    return f", {format_count(value, 'thread')}"


def _draw_line(axes: Axes, name: str, line: list[BandwidthFigure], key: Key) -> None:
    x = [getattr(figure, key) for figure in line]
    (drawn,) = axes.plot(
        x, [figure.value_gb_per_s for figure in line], marker="o", ms=3, lw=1.3, label=name
    )
    low = [figure.low_gb_per_s or figure.value_gb_per_s for figure in line]
    high = [figure.high_gb_per_s or figure.value_gb_per_s for figure in line]
    axes.fill_between(x, low, high, color=drawn.get_color(), alpha=0.2, lw=0)


def _draw_by_threads(axes: Axes, lines: dict[str, list[BandwidthFigure]]) -> None:
    for name, line in lines.items():
        _draw_line(axes, name, line, "threads")
    counts = sorted({figure.threads or 1 for line in lines.values() for figure in line})
    step = max(1, len(counts) // 12)
    axes.set_xticks(counts[::step], [str(count) for count in counts[::step]])
    axes.set_xlabel("threads")
    _finish(axes)


def _draw_by_size(axes: Axes, lines: dict[str, list[BandwidthFigure]]) -> None:
    for name, line in lines.items():
        _draw_line(axes, name, line, "access_bytes")
    sizes = [figure.access_bytes or 64 for line in lines.values() for figure in line]
    _axes.size_axis(axes, min(sizes), max(sizes))
    axes.set_xlabel("bytes of one access")
    _finish(axes)


def _finish(axes: Axes) -> None:
    axes.set_ylabel("bandwidth of payload, GB/s (1e9 B/s)")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    _axes.legend(axes)
