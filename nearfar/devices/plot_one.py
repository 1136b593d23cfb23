"""Everything there is to draw of one device: its profile, and samples and limits beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.devices.library import load_device
from nearfar.devices.plot import plot as plot_loaded
from nearfar.documents import DeviceProfile, MachineProfile, load
from nearfar.plots import Drawing, panels_of, plot_drawing
from nearfar.samples.parquet import read_evidence, read_parquet


def plot_one(
    spec: str, path: Path, figures: Sequence[str] = (), machine: Path | None = None
) -> list[str]:
    """Draw the device `spec` to `path`; return the caption: the panels' titles, then sources.

    Samples are read from the Parquet file that a measured profile names, if it lies beside it;
    `machine` is a MachineProfile whose joint limits are drawn.
    """
    device = load_device(spec)
    kept = _samples_file(device, Path(spec))
    drawing = Drawing(device)
    missing = ""
    if kept is not None and kept.is_file():
        _, records = read_parquet(kept)
        drawing = Drawing(device, records, read_evidence(kept))
    elif kept is not None:
        missing = f"Its samples, {kept}, are not there: tails and evidence are not drawn."
    if machine is not None:
        limits = load(machine, MachineProfile).joint_limits
        if not limits:
            raise CommandError(
                f"{machine} has no joint limits to draw: measure them with nearfar machine "
                "--measure"
            )
        drawing = Drawing(device, drawing.records, drawing.evidence, limits)
    if not figures and not panels_of(drawing):
        # Single figures only: drawn as the line that several are compared by.
        return plot_loaded([device], path)
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
