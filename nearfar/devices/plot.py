"""Latency-load curves of devices as a picture, with a caption that explains it."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearfar.base.errors import CommandError
from nearfar.base.files import atomic_path
from nearfar.devices.curves import bandwidth, idle_read_latency_ns, loaded_curve
from nearfar.devices.oddities import odd_indices
from nearfar.documents.device import DeviceProfile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = ("png", "svg", "pdf")
WIDE_RANGE = 8.0
"""From this ratio of best bandwidths on, the slower device would be a smear on a linear axis."""
CAPTION_COLUMNS = 145
CAPTION_LINE_INCHES = 0.13
"""What fits into 9 inches, and what a line takes, at 7.5 points."""
MARKS = "osD^vP*X"


def plot(devices: list[DeviceProfile], path: Path, read_share: float = 1.0) -> list[str]:
    """Draw `devices` to `path` (png, svg, pdf) and return the caption's lines."""
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise CommandError(f"cannot draw {path}: its ending must be one of .{', .'.join(FORMATS)}")
    import matplotlib as mpl

    mpl.use("Agg")
    # Fixed ids and no date: the same devices give the same file.
    mpl.rcParams["svg.hashsalt"] = "nearfar"
    from matplotlib import pyplot

    caption = caption_lines(devices, read_share)
    text = "\n".join(line for part in caption for line in textwrap.wrap(part, CAPTION_COLUMNS))
    room = CAPTION_LINE_INCHES * (text.count("\n") + 2)
    figure, axes = pyplot.subplots(figsize=(9, 5 + room))
    figure.subplots_adjust(left=0.08, right=0.98, top=0.97, bottom=(room + 0.55) / (5 + room))
    best = [_best_gb_per_s(device, read_share) for device in devices]
    floor = min(best) / 100 if max(best) / min(best) > WIDE_RANGE else None
    for number, device in enumerate(devices):
        _draw(axes, device, read_share, number, floor)
    if floor is not None:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:.0f}")
    axes.yaxis.set_minor_formatter("{x:.0f}")
    axes.set_xlabel("bandwidth drawn by all cores, GB/s (1 GB = 1e9 B)")
    axes.set_ylabel("read latency, ns (log)")
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend(fontsize=8)
    figure.text(0.02, 0.01, text, fontsize=7.5, va="bottom", family="sans-serif")
    metadata: dict[str, Any] = {"Date": None} if form == "svg" else {}
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=form, dpi=150, metadata=metadata)
    pyplot.close(figure)
    return caption


def caption_lines(devices: list[DeviceProfile], read_share: float) -> list[str]:
    """Return what the picture shows and where every curve comes from, a paragraph each."""
    lines = [
        "Latency of reads while other cores draw bandwidth from the same memory, one colour each, "
        f"the curve nearest to {read_share:.0%} reads; below left is better. A ring marks what is "
        "odd in the published curve (dips, fold-backs) and was kept. A dashed line stands for a "
        "memory without a curve: its idle latency up to its best read bandwidth."
    ]
    for device in devices:
        curve = loaded_curve(device, read_share)
        figure = curve or idle_read_latency_ns(device)
        share = f", {curve.read_share:.0%} reads" if curve else ", no curve"
        source = device.sources[figure.source]
        where = f", {source.where}" if source.where else ""
        lines.append(f"{device.name}{share} ({figure.how}): {source.citation}{where}.")
    return lines


def _best_gb_per_s(device: DeviceProfile, read_share: float) -> float:
    curve = loaded_curve(device, read_share)
    return max(curve.points)[0] if curve else bandwidth(device, "read").value_gb_per_s


def _draw(
    axes: Axes, device: DeviceProfile, read_share: float, number: int, floor: float | None
) -> None:
    colour, mark = f"C{number % 10}", MARKS[number % len(MARKS)]
    curve = loaded_curve(device, read_share)
    if curve is None:
        idle = idle_read_latency_ns(device).value_ns
        end = bandwidth(device, "read").value_gb_per_s
        axes.plot([floor or 0.0, end], [idle, idle], "--", color=colour, marker=mark, ms=4)
        axes.plot([], [], "--", color=colour, marker=mark, ms=4, label=device.name)
        return
    # A log axis has no room for idle: it is drawn at the left edge.
    x = [max(point[0], floor) if floor else point[0] for point in curve.points]
    y = [point[1] for point in curve.points]
    axes.plot(x, y, color=colour, marker=mark, ms=3, lw=1.2, label=device.name)
    odd = sorted(odd_indices(curve.points))
    axes.plot([x[i] for i in odd], [y[i] for i in odd], "o", ms=8, mfc="none", mec=colour, mew=1.0)
