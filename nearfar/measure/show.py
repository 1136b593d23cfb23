"""Output of a measurement for people: progress while it runs, a summary at its end."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from nearfar.base.units import format_bytes, format_ns
from nearfar.devices.render import fault_title, size_between
from nearfar.documents import DeviceProfile
from nearfar.documents.device import (
    ChainsFigure,
    FaultFigure,
    InferredFigure,
    LatencyFigure,
    LoadedLatencyCurve,
    MeasuredContext,
)
from nearfar.measure.live import LiveView, time_left
from nearfar.measure.quiet import noise_unmeasured, noise_verdict
from nearfar.measure.reported_caches import (
    ReportedCache,
    caches_verdict,
    kernels_caches,
    reported_caches,
)
from nearfar.measure.settings import ignore
from nearfar.samples.point import Sample, SamplePoint

END_NAMES = {
    "narrow": "narrow intervals",
    "time": "time",
    "repetitions": "the requested repetitions",
}
"""`MeasuredContext.ended` in words."""

PLAIN_STEP_S = 10.0
"""Seconds between two lines of progress without a terminal."""


@contextlib.contextmanager
def progress(
    quiet: bool, verb: str = "measure", most_s: float | None = None
) -> Iterator[Callable[[str, float], None]]:
    """Yield the progress callback of `measure`: a bar on a terminal, else plain lines.

    `most_s`: time limit of the work in s; the time left never exceeds it.
    """
    if quiet:
        yield lambda _what, _share: None
    elif sys.stderr.isatty():
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
        )
        begin = time.monotonic()
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=1.0, left="")

            def tell(what: str, share: float) -> None:
                left = time_left(time.monotonic() - begin, share, most_s)
                bar.update(task, description=what, completed=share, left=left)

            yield tell
    else:
        yield _plain_lines(verb, most_s)


@contextlib.contextmanager
def watching(
    quiet: bool, most_s: float | None = None
) -> Iterator[tuple[Callable[[str, float], None], Callable[[SamplePoint, Sample], None]]]:
    """Yield the callbacks for progress and samples.

    A terminal shows growing curves; elsewhere there are plain lines.
    """
    if quiet or not sys.stderr.isatty():
        with progress(quiet, most_s=most_s) as tell:
            yield tell, ignore
        return
    view = LiveView(Console(stderr=True), most_s)
    with view.live:
        yield view.tell, view.seen


def _plain_lines(verb: str, most_s: float | None) -> Callable[[str, float], None]:
    begin = time.monotonic()
    last = [-PLAIN_STEP_S]

    def tell(what: str, share: float) -> None:
        now = time.monotonic()
        if now - last[0] >= PLAIN_STEP_S:
            last[0] = now
            left = time_left(now - begin, share, most_s)
            sys.stderr.write(f"nearfar {verb}: {share:4.0%} {what}{left and ', ' + left}\n")

    return tell


def summary(device: DeviceProfile) -> str:
    """Return the profile in a few lines, each figure with its 95 % interval."""
    verdicts = (noise_verdict(device), caches_verdict(_caches(device)))
    lines = [device.title, *(f"  {verdict}" for verdict in verdicts if verdict)]
    for latency in device.latency:
        if latency.region_bytes is None:
            lines.append(f"  {_latency_name(latency):28s} {_interval(latency)}, {latency.note}")
    for chain in device.chains:
        if chain.chains == 32 and chain.page_bytes == max(c.page_bytes or 0 for c in device.chains):
            lines.append(f"  {'32 chains':28s} {_interval(chain)}")
    for bandwidth in device.bandwidth:
        if bandwidth.threads is None or bandwidth.pattern == "aliased":
            what = f"{bandwidth.pattern} {bandwidth.operation}"
            low, high = bandwidth.low_gb_per_s, bandwidth.high_gb_per_s
            value = f"{bandwidth.value_gb_per_s:7.1f} GB/s [{low:.1f}, {high:.1f}]"
            lines.append(f"  {what:28s} {value}, {bandwidth.note}")
    for fault in device.faults:
        lines.append(f"  {fault_title(fault):54s} {_fault_times(fault)}")
    lines += [f"  {_loaded_line(curve)}" for curve in device.loaded_latency]
    lines += [f"  {text}" for text in _inferred(device)]
    if (context := device.measured) is not None:
        if context.repetitions:
            lines.append(
                f"  {context.repetitions} rounds in {context.seconds:.0f} s, ended by "
                f"{END_NAMES.get(context.ended, context.ended)}; A/A noise floor "
                f"{context.noise_floor:.1%}{_drift_and_contention(context)}"
            )
        else:
            floor = f"; A/A noise floor {context.noise_floor:.1%}" if context.noise_floors else ""
            machine = f"{floor}{_drift_and_contention(context)}"
            lines.append(f"  no rounds of surfaces; {context.seconds:.0f} s in all{machine}")
        if unmeasured := noise_unmeasured(device):
            lines.append(f"  {unmeasured}")
        lines += [f"  warning: {warning}" for warning in context.warnings]
    return "\n".join(lines)


def _fault_times(fault: FaultFigure) -> str:
    """Return the time of a page, its interval, its tail and its CPU time."""
    low, high = fault.low_ns or fault.value_ns, fault.high_ns or fault.value_ns
    text = f"{fault.value_ns / 1e3:7.2f} us [{low / 1e3:.2f}, {high / 1e3:.2f}]"
    if fault.p99_ns is not None and fault.p99_9_ns is not None:
        text += f", p99 {fault.p99_ns / 1e3:.1f}, p99.9 {fault.p99_9_ns / 1e3:.1f} us"
    return text if fault.cpu_share is None else f"{text}, {fault.cpu_share:.0%} CPU"


def _drift_and_contention(context: MeasuredContext) -> str:
    """Return drift and contention where they are known."""
    parts = (("clock drift", context.clock_drift), ("contention", context.contention))
    return "".join(f", {name} {share:.0%}" for name, share in parts if share is not None)


def _latency_name(figure: LatencyFigure) -> str:
    what = "read" if figure.operation == "read" else figure.instruction
    return f"{figure.pattern} {what}"


def _loaded_line(curve: LoadedLatencyCurve) -> str:
    first, last = curve.points[0], curve.points[-1]
    what = "loaded" if curve.instruction == "load" else f"loaded {curve.instruction}"
    line = (
        f"{f'{what}, {curve.read_share:.0%} reads':28s} {first[1]:7.1f} ns at "
        f"{first[0]:.1f} GB/s to {last[1]:.1f} ns at {last[0]:.1f} GB/s"
    )
    if curve.tails:
        line += f"; p99.9 {curve.tails[0].p99_9_ns:.0f} to {curve.tails[-1].p99_9_ns:.0f} ns"
    return line


def _inferred(device: DeviceProfile) -> Iterator[str]:
    """Yield what was inferred with its confidence, and what was not seen."""
    caches = _caches(device)
    for buffer in device.buffers:
        block = f", blocks of {format_bytes(buffer.block_bytes)}" if buffer.block_bytes else ""
        ways = f", {buffer.ways} ways" if buffer.ways else ""
        size = size_between(
            buffer.capacity_bytes, buffer.capacity_low_bytes, buffer.capacity_high_bytes
        )
        name = f"{buffer.name}, by {buffer.operation}s"
        cache = caches.get(buffer.name)
        sure = _confidence(buffer) if cache is None else f"; {cache}"
        yield f"{name:28s} {size}{block}{ways}{sure}"
    pairs = [cache.reported_bytes for cache in caches.values()]
    unseen = [format_bytes(size) for size in _kernels(device) if size not in pairs]
    if device.buffers and unseen:
        yield f"{'caches not seen':28s} {', '.join(unseen)}, which the kernel reports"
    for queue in device.write_queues:
        yield f"{'write queue':28s} {format_bytes(queue.capacity_bytes)}{_confidence(queue)}"
    for interleave in device.interleaves:
        each = f"{format_bytes(interleave.granularity_bytes)} each{_confidence(interleave)}"
        yield f"{'interleaved':28s} {interleave.devices} devices, {each}"
    for stall in device.stalls:
        every = (
            f"every {stall.period_writes} writes"
            if stall.period_writes
            else f"every {format_ns(stall.period_ns or 0)}"
        )
        yield f"{'stall':28s} {format_ns(stall.length_ns)} {every}{_confidence(stall)}"
    if device.not_seen:
        yield f"{'not seen':28s} {', '.join(sorted(device.not_seen))}"


def _caches(device: DeviceProfile) -> dict[str, ReportedCache]:
    return reported_caches(device.buffers, _kernels(device))


def _kernels(device: DeviceProfile) -> list[int]:
    return kernels_caches(device.measured.environment if device.measured is not None else {})


def _confidence(figure: InferredFigure) -> str:
    return "" if figure.confidence is None else f" (confidence {figure.confidence:.0%})"


def _interval(figure: LatencyFigure | ChainsFigure) -> str:
    return f"{figure.value_ns:7.1f} ns   [{figure.low_ns:.1f}, {figure.high_ns:.1f}]"
