"""Pictures of devices: loaded latencies of several, or all figures of one."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot
from matplotlib.axes import Axes

from nearfar.base.errors import CommandError
from nearfar.base.files import atomic_path
from nearfar.devices.curves import bandwidth, idle_read_latency_ns, loaded_curve
from nearfar.devices.library import load_device
from nearfar.devices.oddities import odd_indices
from nearfar.documents import DeviceProfile, MachineProfile, load
from nearfar.plots import Drawing, panels_of, plot_drawing
from nearfar.samples.parquet import read_evidence, read_parquet

FORMATS = ("png", "svg", "pdf")
WIDE_RANGE = 8.0
"""Ratio of best bandwidths from which the x axis is logarithmic, to show slow devices too."""
CAPTION_COLUMNS = 145
CAPTION_LINE_INCHES = 0.13
"""Columns in a width of 9 inches and height of a line, at 7.5 points."""
MARKS = "osD^vP*X"


def plot_devices(devices: list[DeviceProfile], path: Path, read_share: float = 1.0) -> list[str]:
    """Draw `devices` to `path` (png, svg, pdf) and return the caption's lines."""
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise CommandError(f"cannot draw {path}: its ending must be one of .{', .'.join(FORMATS)}")
    mpl.use("Agg")
    # Fixed ids and no date: the same devices give the same file.
    mpl.rcParams["svg.hashsalt"] = "nearfar"
    caption = caption_lines(devices, read_share)
    text = "\n".join(line for part in caption for line in textwrap.wrap(part, CAPTION_COLUMNS))
    caption_inches = CAPTION_LINE_INCHES * (text.count("\n") + 2)
    figure, axes = pyplot.subplots(figsize=(9, 5 + caption_inches))
    bottom = (caption_inches + 0.55) / (5 + caption_inches)
    figure.subplots_adjust(left=0.08, right=0.98, top=0.97, bottom=bottom)
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
    """Return the caption: a paragraph about the picture, then one for each curve's source."""
    lines = [
        "Latency of reads while other cores use bandwidth of the same memory, one colour each, "
        f"the curve nearest to {read_share:.0%} reads; lower left is better. A ring marks an "
        "oddity of the published curve (dips, fold-backs), which is kept. A dashed line is a "
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
    # A logarithmic axis has no zero: idle is drawn at the left edge.
    x = [max(point[0], floor) if floor else point[0] for point in curve.points]
    y = [point[1] for point in curve.points]
    axes.plot(x, y, color=colour, marker=mark, ms=3, lw=1.2, label=device.name)
    odd = sorted(odd_indices(curve.points))
    axes.plot([x[i] for i in odd], [y[i] for i in odd], "o", ms=8, mfc="none", mec=colour, mew=1.0)


def plot_one(
    spec: str, path: Path, figures: Sequence[str] = (), machine: Path | None = None
) -> list[str]:
    """Draw all figures of the device `spec` to `path`; return the caption: titles, then sources.

    Samples come from the Parquet file next to a measured profile that the profile names. `machine`
    is a MachineProfile whose joint limits are drawn.
    """
    device = load_device(spec)
    samples = _samples_file(device, Path(spec))
    drawing = Drawing(device)
    missing = ""
    if samples is not None and samples.is_file():
        _, records = read_parquet(samples)
        drawing = Drawing(device, records, read_evidence(samples))
    elif samples is not None:
        missing = f"The samples {samples} do not exist: tails and evidence are not drawn."
    if machine is not None:
        limits = load(machine, MachineProfile).joint_limits
        if not limits:
            raise CommandError(
                f"{machine} has no joint limits to draw: measure them with nearfar machine "
                "--measure"
            )
        drawing = Drawing(device, drawing.records, drawing.evidence, limits)
    if not figures and not panels_of(drawing):
        # Without any panel, the device is drawn as in a comparison of several devices.
        return plot_devices([device], path)
    titles = plot_drawing(drawing, path, figures)
    sources = [
        f"{source.citation}{f', {source.where}' if source.where else ''}."
        for source in device.sources.values()
    ]
    return [*titles, *sources, *([missing] if missing else [])]


def _samples_file(device: DeviceProfile, path: Path) -> Path | None:
    if device.measured is None or not device.measured.samples_file:
        return None
    return path.parent / device.measured.samples_file
