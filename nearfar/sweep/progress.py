"""Progress of a sweep: a bar with the remaining time; without a terminal, a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

LINE_S = 10.0
"""Time between lines where there is no terminal."""


@contextmanager
def progress(
    console: Console, total: int, already: int
) -> Iterator[Callable[[int, int, float | None], None]]:
    """Yield a callback for finished points, failed points, and remaining seconds."""
    if console.is_terminal and not console.quiet:
        bar = Progress(
            TextColumn("sweep"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[said]}"),
            console=console,
            transient=True,
            # A bar that is drawn often would change the time of a measured point.
            refresh_per_second=1,
        )
        with bar:
            task = bar.add_task("sweep", total=total, completed=already, said="")
            yield lambda done, failed, left: bar.update(
                task, completed=done + failed, said=_said(failed, left)
            )
        return
    last = time.monotonic()

    def line(done: int, failed: int, left: float | None) -> None:
        nonlocal last
        if time.monotonic() - last < LINE_S:
            return
        last = time.monotonic()
        console.print(
            f"nearfar: {done + failed} of {total} points{_said(failed, left)}",
            style="dim",
            markup=False,
            highlight=False,
        )

    yield line


def _said(failed: int, left: float | None) -> str:
    parts = [f"{failed} failed"] if failed else []
    if left is not None:
        parts.append(f"{left:.0f} s left" if left < 90 else f"{left / 60:.0f} min left")
    return f" ({', '.join(parts)})" if parts else ""
