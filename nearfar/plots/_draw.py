"""Lay out the panels of a memory and write them as one picture."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from nearfar.base.errors import NearfarError
from nearfar.base.files import atomic_path
from nearfar.documents.device import DeviceProfile
from nearfar.documents.machine import JointLimit
from nearfar.plots._axes import SMALL
from nearfar.plots._data import PICTURES, Drawing, Panel
from nearfar.samples.evidence import Evidence
from nearfar.samples.store import SampleRecord

ENDINGS = (".png", ".svg", ".pdf")
COLUMNS = 3
PANEL_INCHES = (5.2, 4.3)
NOTE_WIDTH = 84
"""Characters of a line of a note: as wide as a panel's axes."""
NOTE_LEADING = 1.25 * SMALL
"""Points from one line of a note to the next."""
MAX_PANELS = 60
"""Beyond, a PNG would be taller than programs show; what is over is said in the heading."""


def check_ending(path: Path) -> None:
    """Refuse a file name ending that matplotlib cannot write."""
    if path.suffix.lower() not in ENDINGS:
        raise NearfarError(f"cannot draw {path}: its name must end in {', '.join(ENDINGS)}")


def plot(
    device: DeviceProfile,
    path: Path,
    *,
    records: Sequence[SampleRecord] = (),
    evidence: Mapping[str, Evidence] | None = None,
    joint_limits: Sequence[JointLimit] = (),
    kinds: Sequence[str] = (),
) -> list[str]:
    """Draw all data of `device` to `path` and return the panels' titles.

    `records` are samples (of a store or a Parquet file), `evidence` is the result of inference.
    `kinds` names the kinds to draw; empty: all. The ending of `path` determines the format.
    """
    return plot_drawing(Drawing(device, records, evidence or {}, joint_limits), path, kinds)


def plot_drawing(drawing: Drawing, path: Path, kinds: Sequence[str] = ()) -> list[str]:
    """Draw `drawing` to `path`; see `plot`."""
    check_ending(path)
    panels = panels_of(drawing, kinds)
    if not panels:
        of_kind = f" of the kind {', '.join(kinds)}" if kinds else ""
        raise NearfarError(f"{drawing.device.name} holds nothing to draw{of_kind}")
    mpl.use("Agg")
    # Fixed ids and no date: the same data give the same file.
    mpl.rcParams["svg.hashsalt"] = "nearfar"
    shown = panels[:MAX_PANELS]
    columns = min(COLUMNS, len(shown))
    rows = math.ceil(len(shown) / columns)
    width, height = PANEL_INCHES[0] * columns, PANEL_INCHES[1] * rows + 0.5
    # Pads, in inches, separate the headings of a row from the legends of the row above.
    layout = ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.1)
    figure = Figure(figsize=(width, height), layout=layout)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, axes in zip(shown, grid, strict=False):
        panel.draw(axes)
        _head(axes, panel)
    for axes in grid[len(shown) :]:
        axes.set_axis_off()
    more = f" ({len(panels) - len(shown)} more not drawn)" if len(panels) > len(shown) else ""
    figure.suptitle(drawing.device.title + more, fontsize=12)
    form = path.suffix[1:].lower()
    metadata: dict[str, Any] = {"Date": None} if form == "svg" else {}
    if form == "pdf":
        metadata = {"CreationDate": None}
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=form, dpi=110, metadata=metadata)
    return [panel.title for panel in shown]


def _head(axes: Axes, panel: Panel) -> None:
    """Write the heading, and the note between it and the axes."""
    note = textwrap.wrap(panel.note, NOTE_WIDTH)
    pad = 6 + NOTE_LEADING * len(note)
    axes.set_title(textwrap.fill(panel.title, 62), fontsize=10, pad=pad)
    if note:
        axes.annotate(
            "\n".join(note),
            (0.5, 1.0),
            xycoords="axes fraction",
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=SMALL,
            color="0.35",
        )


def panels_of(drawing: Drawing, kinds: Sequence[str] = ()) -> list[Panel]:
    """Return all panels of `kinds` (empty: all) that `drawing` has data for."""
    for name in kinds:
        PICTURES.get(name)
    names = [name for name in ORDER if name in PICTURES.names()]
    names += [name for name in PICTURES.names() if name not in names]
    return [
        panel
        for name in names
        if not kinds or name in kinds
        for panel in PICTURES.get(name)(drawing)
    ]


ORDER = ("latency", "chains", "bandwidth", "plane", "loaded", "tails", "splits", "evidence")
"""As people read a memory: idle, loaded, then how it is known. Others follow by name."""
