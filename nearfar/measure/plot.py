"""The picture beside a measured profile: latency by region, chains, latency under load."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.base.errors import NearfarError
from nearfar.base.files import atomic_path
from nearfar.base.units import format_bytes
from nearfar.documents import DeviceProfile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENDINGS = (".png", ".svg", ".pdf")


def check_ending(path: Path) -> None:
    """Refuse a picture whose ending matplotlib has no writer for."""
    if path.suffix.lower() not in ENDINGS:
        raise NearfarError(f"cannot draw {path}: its name must end in {', '.join(ENDINGS)}")


def plot(device: DeviceProfile, path: Path) -> None:
    """Draw `device` to `path`; the ending chooses the format."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 4.5), layout="constrained")
    axes = figure.subplots(1, 3)
    _latency(axes[0], device)
    _chains(axes[1], device)
    _loaded(axes[2], device)
    figure.suptitle(device.title)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:].lower(), dpi=120)


def _latency(axes: Axes, device: DeviceProfile) -> None:
    axes.set(title="Idle latency by region", xlabel="region", ylabel="ns per dependent load")
    kinds = sorted({(one.pattern, one.page_bytes or 0) for one in device.latency})
    sizes: set[int] = set()
    for pattern, page_bytes in kinds:
        points = sorted(
            (one.region_bytes, one.value_ns)
            for one in device.latency
            if (one.pattern, one.page_bytes or 0) == (pattern, page_bytes) and one.region_bytes
        )
        sizes.update(size for size, _ in points)
        label = f"{pattern}, {format_bytes(page_bytes)} pages"
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.grid(alpha=0.3, which="both")
    shown = sorted(sizes)[:: max(1, len(sizes) // 5)]
    axes.set_xticks(shown, [format_bytes(size) for size in shown], rotation=30)
    if device.measured is not None:
        llc = device.measured.llc_bytes
        axes.axvline(
            llc, color="grey", linestyle=":", label=f"last-level cache {format_bytes(llc)}"
        )
    axes.legend(fontsize="small")


def _chains(axes: Axes, device: DeviceProfile) -> None:
    axes.set(title="Independent chains in one core", xlabel="chains", ylabel="ns per access")
    for page_bytes in sorted({one.page_bytes or 0 for one in device.chains}):
        chosen = [one for one in device.chains if (one.page_bytes or 0) == page_bytes]
        chosen.sort(key=lambda one: one.chains)
        axes.plot(
            [one.chains for one in chosen],
            [one.value_ns for one in chosen],
            marker="o",
            markersize=3,
            label=f"{format_bytes(page_bytes)} pages",
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(alpha=0.3)
    if device.chains:
        axes.legend(fontsize="small")


def _loaded(axes: Axes, device: DeviceProfile) -> None:
    axes.set(
        title="Latency under load", xlabel="bandwidth drawn, GB/s", ylabel="ns per dependent load"
    )
    for curve in device.loaded_latency:
        label = f"{curve.read_share:.0%} reads"
        axes.plot(*zip(*curve.points, strict=True), marker="o", markersize=3, label=label)
    if device.loaded_latency:
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    else:
        axes.text(0.5, 0.5, "not measured", ha="center", transform=axes.transAxes)
