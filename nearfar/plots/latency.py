"""Idle latency by size of the region, with the buffers that were inferred from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.axes import Axes

from nearfar.documents.device import BufferFigure, LatencyFigure, WriteQueueFigure
from nearfar.plots import _axes
from nearfar.plots._data import PICTURES, Drawing, Panel


@PICTURES.register("latency")
def panels(drawing: Drawing) -> list[Panel]:
    """Return a panel of reads and one of writes, each only if a line has two regions."""
    device = drawing.device
    drawn = []
    for title, chosen in (
        ("Idle read latency by region", [f for f in device.latency if f.operation == "read"]),
        ("Idle write latency by region", [f for f in device.latency if f.operation != "read"]),
    ):
        lines = _lines(chosen)
        if lines:
            reads = chosen[0].operation == "read"
            buffers = [b for b in device.buffers if (b.operation == "read") == reads]
            queues = [] if reads else device.write_queues
            llc = device.measured.llc_bytes if device.measured is not None and reads else 0
            drawn.append(Panel(title, _Painter(lines, buffers, queues, llc)))
    return drawn


@dataclass(frozen=True)
class _Painter:
    """Drawing of latencies by region, with the buffers and write queues that they show."""

    lines: dict[str, list[LatencyFigure]]
    buffers: list[BufferFigure]
    queues: list[WriteQueueFigure]
    llc_bytes: int

    def __call__(self, axes: Axes) -> None:
        sizes, values = [], []
        for number, (label, line) in enumerate(self.lines.items()):
            x = [float(f.region_bytes or 0) for f in line]
            y = [f.value_ns for f in line]
            # Lower lines are wider, so that overlapping lines stay visible.
            width = 1.3 + 0.7 * (len(self.lines) - 1 - number)
            (drawn,) = axes.plot(x, y, marker="o", ms=2 + width, lw=width, label=label)
            low = [f.value_ns if f.low_ns is None else f.low_ns for f in line]
            high = [f.value_ns if f.high_ns is None else f.high_ns for f in line]
            axes.fill_between(x, low, high, color=drawn.get_color(), alpha=0.2, lw=0)
            sizes += x
            values += y
        for buffer in self.buffers:
            _axes.mark_knee(
                axes,
                buffer.capacity_bytes,
                f"{buffer.name} {_axes.size_text(buffer.capacity_bytes)}",
                buffer.capacity_low_bytes,
                buffer.capacity_high_bytes,
            )
            sizes.append(buffer.capacity_bytes)
        for queue in self.queues:
            _axes.mark_knee(
                axes,
                queue.capacity_bytes,
                f"write queue {_axes.size_text(queue.capacity_bytes)}",
                queue.capacity_low_bytes,
                queue.capacity_high_bytes,
            )
            sizes.append(queue.capacity_bytes)
        if self.llc_bytes and not self.buffers:
            text = f"last-level cache {_axes.size_text(self.llc_bytes)}, as the machine says"
            _axes.mark_knee(axes, self.llc_bytes, text)
            sizes.append(self.llc_bytes)
        _axes.size_axis(axes, min(sizes), max(sizes))
        _axes.time_axis(axes, values)
        axes.set(xlabel="region", ylabel="time per 64-byte access")
        axes.grid(alpha=0.25, which="major")
        _axes.legend(axes)


def _lines(figures: Iterable[LatencyFigure]) -> dict[str, list[LatencyFigure]]:
    """Return the figures that have a region, by kind of access, smallest region first.

    Only the first figure of a region is kept: a device's file lists the most trusted figure first.
    """
    lines: dict[str, dict[int, LatencyFigure]] = {}
    for figure in figures:
        if figure.region_bytes:
            pages = f", {_axes.size_text(figure.page_bytes)} pages" if figure.page_bytes else ""
            stride = figure.stride_bytes
            every = f", one in {_axes.size_text(stride)}" if stride else ""
            name = f"{figure.pattern} {figure.instruction}{every}{pages}"
            lines.setdefault(name, {}).setdefault(figure.region_bytes, figure)
    return {
        name: [line[region] for region in sorted(line)]
        for name, line in lines.items()
        if len(line) > 1
    }
