"""Live view of a measurement in the terminal: current step, growing curves, time left.

The sampling thread draws it between samples: another thread would run on a measured core.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from uniplot import plot_to_string

from nearfar.base.units import format_bytes
from nearfar.samples.point import Sample, SamplePoint

DRAWN_EVERY_S = 1.0
"""Time between two pictures: one takes some 20 ms, a fiftieth of the time."""
PLOT_LINES = 9
MIN_COLUMNS = 100
"""Columns of a terminal that two curves side by side need."""


MIN_SHARE_DONE = 0.05
"""Share of the work done from which the time left is shown: before, one slow sample would set the
pace."""


def time_left(elapsed_s: float, share: float, most_s: float | None) -> str:
    """Return ``about 40 s left`` of work of which `share` took `elapsed_s`; empty: not known.

    After `most_s` the estimate uses only the pace, because the minimum number of rounds is made
    however long they take.
    """
    paced_s = elapsed_s * (1 - share) / share if MIN_SHARE_DONE <= share < 1 else None
    given_s = most_s - elapsed_s if most_s is not None and elapsed_s < most_s else None
    known = [seconds for seconds in (paced_s, given_s) if seconds is not None]
    return f"about {min(known):.0f} s left" if known and share < 1 else ""


class LiveCurves:
    """Medians of the samples so far, by region and by chains."""

    def __init__(self) -> None:
        self._latency: dict[int, list[float]] = defaultdict(list)
        self._chains: dict[int, list[float]] = defaultdict(list)
        self._page_bytes = 0
        self.samples = 0

    def add(self, point: SamplePoint, sample: Sample) -> None:
        """Note a sample; of page sizes only the largest is drawn."""
        self.samples += 1
        if point.page_bytes > self._page_bytes:
            self._page_bytes = point.page_bytes
            self._latency.clear()
            self._chains.clear()
        if point.page_bytes != self._page_bytes or point.each or sample.value <= 0:
            return
        if point.figure == "latency" and point.kernel == "chase":
            self._latency[point.region_bytes].append(sample.value)
        elif point.figure == "chains":
            self._chains[point.chains].append(sample.value)

    def latency(self) -> list[tuple[int, float]]:
        """Return (region in bytes, median ns per line), regions growing."""
        return [(at, statistics.median(taken)) for at, taken in sorted(self._latency.items())]

    def chains(self) -> list[tuple[int, float]]:
        """Return (chains, median ns per line), chains growing."""
        return [(at, statistics.median(taken)) for at, taken in sorted(self._chains.items())]


class LiveView:
    """Bar, time left and curves; a measurement calls `tell` and `seen`."""

    def __init__(self, console: Console, most_s: float | None) -> None:
        self._curves = LiveCurves()
        self._most_s = most_s
        self._begin = time.monotonic()
        self._drawn = 0.0
        self._what, self._share = "", 0.0
        self._console = console
        # auto_refresh would start another thread.
        self.live = Live(console=console, auto_refresh=False, transient=True)

    def tell(self, what: str, share: float) -> None:
        """Take the current step and the share of the work done."""
        self._what, self._share = what, share
        self._draw()

    def seen(self, point: SamplePoint, sample: Sample) -> None:
        """Take a sample."""
        self._curves.add(point, sample)
        self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if now - self._drawn >= DRAWN_EVERY_S:
            self._drawn = now
            self.live.update(self._picture(now - self._begin), refresh=True)

    def _picture(self, elapsed_s: float) -> RenderableType:
        head = Table.grid(padding=(0, 2))
        left = time_left(elapsed_s, self._share, self._most_s)
        bar = ProgressBar(total=1.0, completed=self._share, width=30)
        head.add_row(self._what, bar, f"{self._share:.0%}", f"{elapsed_s:.0f} s", left)
        plots = [
            plot(self._curves.latency(), "ns per line, by region", region=True),
            plot(self._curves.chains(), "ns per line, by parallel chains"),
        ]
        drawn = [text for text in plots if text]
        if not drawn or self._console.width < MIN_COLUMNS:
            return head
        beside = Table.grid(padding=(0, 2))
        beside.add_row(*drawn)
        return Group(head, beside)


def plot(points: list[tuple[int, float]], title: str, *, region: bool = False) -> str:
    """Return a curve as lines of text; empty below two points."""
    if len(points) < 2:
        return ""
    lines = plot_to_string(
        xs=[at for at, _ in points],
        ys=[value for _, value in points],
        x_as_log=True,
        y_as_log=region,
        lines=True,
        width=40,
        height=PLOT_LINES,
        character_set="braille",
        color=False,
    )
    first, last = points[0], points[-1]
    ends = [format_bytes(at) if region else str(at) for at in (first[0], last[0])]
    heading = f"{title}: {first[1]:.1f} at {ends[0]}, {last[1]:.1f} at {ends[1]}"
    return f"{heading}\n{lines if isinstance(lines, str) else chr(10).join(lines)}"
