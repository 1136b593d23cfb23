"""What a person sees of a measurement: progress while it runs, a summary at its end."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from nearfar.documents import DeviceProfile
from nearfar.documents.device import ChainsFigure, LatencyFigure

PLAIN_STEP_S = 10.0
"""Without a terminal, one line of progress in so many seconds."""


@contextlib.contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """Yield what `measure` tells its progress to: a bar on a terminal, else plain lines."""
    if quiet:
        yield lambda _what, _share: None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=1.0)
            yield lambda what, share: bar.update(task, description=what, completed=share)
    else:
        yield _plain_lines()


def _plain_lines() -> Callable[[str, float], None]:
    last = [-PLAIN_STEP_S]

    def tell(what: str, share: float) -> None:
        now = time.monotonic()
        if now - last[0] >= PLAIN_STEP_S:
            last[0] = now
            sys.stderr.write(f"nearfar measure: {share:4.0%} {what}\n")

    return tell


def summary(device: DeviceProfile) -> str:
    """Return the profile in a few lines, each figure with its 95 % interval."""
    lines = [device.title]
    for one in device.latency:
        if one.region_bytes is None:
            lines.append(f"  {one.pattern + ' read':18s} {_interval(one)}, {one.note}")
    for chain in device.chains:
        if chain.chains == 32 and chain.page_bytes == max(c.page_bytes or 0 for c in device.chains):
            lines.append(f"  {'32 chains':18s} {_interval(chain)}")
    for bandwidth in device.bandwidth:
        if bandwidth.threads is None:
            what = f"{bandwidth.pattern} {bandwidth.operation}"
            low, high = bandwidth.low_gb_per_s, bandwidth.high_gb_per_s
            value = f"{bandwidth.value_gb_per_s:7.1f} GB/s [{low:.1f}, {high:.1f}]"
            lines.append(f"  {what:18s} {value}, {bandwidth.note}")
    for curve in device.loaded_latency:
        first, last = curve.points[0], curve.points[-1]
        lines.append(
            f"  {f'loaded, {curve.read_share:.0%} reads':18s} {first[1]:7.1f} ns at "
            f"{first[0]:.1f} GB/s to {last[1]:.1f} ns at {last[0]:.1f} GB/s"
        )
    if (context := device.measured) is not None:
        lines.append(
            f"  {context.repetitions} rounds in {context.seconds:.0f} s; "
            f"A/A noise floor {context.noise_floor:.1%}"
        )
        lines += [f"  warning: {warning}" for warning in context.warnings]
    return "\n".join(lines)


def _interval(figure: LatencyFigure | ChainsFigure) -> str:
    return f"{figure.value_ns:7.1f} ns   [{figure.low_ns:.1f}, {figure.high_ns:.1f}]"
