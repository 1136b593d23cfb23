"""What other stages ask of a DeviceProfile: its best figure for a purpose, or one clear refusal.

A figure that stands in for a missing one keeps its value, becomes `how="assumed"` and says in
its note what it stands in for, so that whoever uses it can pass that on.
"""

from __future__ import annotations

import math

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.documents.device import (
    BandwidthFigure,
    ChainsFigure,
    DeviceProfile,
    LatencyFigure,
    LoadedLatencyCurve,
    Operation,
    Pattern,
)

STAND_INS: dict[str, tuple[Operation, ...]] = {
    "read": ("mixed", "copy", "write", "nt-store"),
    "write": ("nt-store", "mixed", "clwb", "read"),
    "nt-store": ("write", "mixed", "clwb", "read"),
    "clwb": ("nt-store", "write", "mixed", "read"),
    "copy": ("mixed", "write", "read"),
    "mixed": ("copy", "read"),
}
"""What may stand in for an operation's bandwidth, nearest in kind first. clwb comes last for
writes, before reads: it is bound by the flush and far below what plain write-backs reach. Reads
are the last resort, for devices of which only a read curve is known."""


def idle_read_latency_ns(device: DeviceProfile) -> LatencyFigure:
    """Return the idle latency of a dependent random read of a region no buffer holds, ns."""
    found = random_reads(device)
    if not found and (curve := loaded_curve(device, 1.0)) is not None and curve.points:
        return _lowest_load(curve)
    if not found:
        raise lacks(device, "an idle random read latency", "[[latency]] with value_ns")
    # Of several as large, the first: a device's file lists what it trusts most first.
    return max(found, key=lambda figure: _or_infinite(figure.region_bytes))


def random_reads(device: DeviceProfile) -> list[LatencyFigure]:
    """Return the idle latencies of dependent random reads, of all regions and pages, as listed."""
    return idle_latencies(device, "read")


def idle_latencies(
    device: DeviceProfile, operation: Operation, pattern: Pattern = "random"
) -> list[LatencyFigure]:
    """Return the idle latencies of `operation`, of all regions and pages, as listed."""
    return [
        figure
        for figure in device.latency
        if figure.operation == operation and figure.pattern == pattern
    ]


def idle_latency_ns(
    device: DeviceProfile, operation: Operation, pattern: Pattern = "random"
) -> LatencyFigure | None:
    """Return the idle latency of `operation` at its largest region, ns; None where not given."""
    found = idle_latencies(device, operation, pattern)
    return max(found, key=lambda figure: _or_infinite(figure.region_bytes), default=None)


def bandwidth(
    device: DeviceProfile,
    operation: Operation,
    pattern: Pattern = "sequential",
    threads: int | None = None,
    page_bytes: int | None = None,
) -> BandwidthFigure:
    """Return the bandwidth of `operation`, GB/s: the best of all thread counts, pages and sizes of
    access.

    With `threads`, only figures of at most so many threads count, and with `page_bytes` those of
    such pages, if there are any. Where the device has no figure for the operation or pattern, the
    nearest in kind stands in and says so; where it has no bandwidth at all, the best point of a
    loaded-latency curve does.
    """
    other: Pattern = "random" if pattern == "sequential" else "sequential"
    for kind in (operation, *STAND_INS[operation]):
        for order in (pattern, other):
            figure = _best(device, kind, order, threads, page_bytes, most_reads=operation == "read")
            if figure is not None:
                if (kind, order) == (operation, pattern):
                    return figure
                return _standing_in(figure, f"{pattern} {operation}")
    curve = loaded_curve(device, 1.0 if operation == "read" else 0.0)
    if curve is not None and (best := max(curve.points, default=(0.0, 0.0))[0]) > 0:
        return _saturation(curve, best, f"{pattern} {operation}")
    raise lacks(device, f"a bandwidth for {operation}", "[[bandwidth]] with value_gb_per_s")


def chains(device: DeviceProfile) -> list[ChainsFigure]:
    """Return ns per access by number of independent chains, fewest first; empty if not given.

    Where several page sizes were measured, the largest pages' figure is taken for each count.
    """
    by_count: dict[int, ChainsFigure] = {}
    for figure in sorted(device.chains, key=lambda figure: figure.page_bytes or 0):
        by_count[figure.chains] = figure
    return [by_count[count] for count in sorted(by_count)]


def loaded_curve(device: DeviceProfile, read_share: float) -> LoadedLatencyCurve | None:
    """Return the loaded read latency nearest to `read_share` (0..1); None if there is none."""
    return min(
        (curve for curve in device.loaded_latency if curve.instruction == "load"),
        key=lambda curve: abs(curve.read_share - read_share),
        default=None,
    )


def lacks(device: DeviceProfile, what: str, remedy: str) -> NearfarError:
    """Return the refusal for a figure that `device` does not have."""
    return NearfarError(
        f"device {device.name!r} lacks {what}: add {remedy} to a copy of it "
        f"(`nearfar device show {device.name} --toml`), or choose another device"
    )


def _best(
    device: DeviceProfile,
    operation: Operation,
    pattern: Pattern,
    threads: int | None,
    page_bytes: int | None,
    *,
    most_reads: bool,
) -> BandwidthFigure | None:
    found = [
        figure
        for figure in device.bandwidth
        if figure.operation == operation and figure.pattern == pattern
    ]
    if operation == "mixed" and found:
        # The mixture with most reads says most about reading, that with fewest about writing.
        shares = [0.5 if figure.read_share is None else figure.read_share for figure in found]
        nearest = max(shares) if most_reads else min(shares)
        found = [figure for figure, share in zip(found, shares, strict=True) if share == nearest]
    if threads is not None:
        few = [f for f in found if f.threads is not None and f.threads <= threads]
        found = few or found
    if page_bytes is not None:
        found = [f for f in found if f.page_bytes == page_bytes] or found
    return max(found, key=lambda figure: figure.value_gb_per_s, default=None)


def _standing_in(figure: BandwidthFigure, wanted: str) -> BandwidthFigure:
    share = "" if figure.read_share is None else f" with {figure.read_share:.0%} reads"
    note = f"stands in for {wanted}: this is {figure.pattern} {figure.operation}{share}"
    return msgspec.structs.replace(
        figure, how="assumed", note=f"{note}; {figure.note}" if figure.note else note
    )


def _saturation(curve: LoadedLatencyCurve, gb_per_s: float, wanted: str) -> BandwidthFigure:
    operation: Operation = (
        "read" if curve.read_share == 1 else "write" if curve.read_share == 0 else "mixed"
    )
    return BandwidthFigure(
        operation=operation,
        read_share=curve.read_share if operation == "mixed" else None,
        value_gb_per_s=gb_per_s,
        how="assumed",
        source=curve.source,
        note=f"stands in for {wanted}: the best of the curve at {curve.read_share:.0%} reads",
    )


def _lowest_load(curve: LoadedLatencyCurve) -> LatencyFigure:
    gb_per_s, latency_ns = min(curve.points)
    return LatencyFigure(
        value_ns=latency_ns,
        how="assumed",
        source=curve.source,
        note=f"stands in for the idle latency: the curve's at {gb_per_s:g} GB/s",
    )


def _or_infinite(value: float | None) -> float:
    return math.inf if value is None else float(value)
