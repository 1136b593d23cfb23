"""The best figure of a DeviceProfile for a purpose, or an error that names the missing figure.

A figure that replaces a missing one keeps its value and becomes `how="assumed"`; its note names
the figure that it replaces.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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
"""Operations whose bandwidth may stand in for another's, most similar first. For writes, clwb comes
late in the order, because flushes are far slower than plain write-backs. Reads come last, for
devices that have only a read curve."""


def idle_read_latency_ns(device: DeviceProfile) -> LatencyFigure:
    """Return the idle latency in ns of dependent random reads of the largest region."""
    figures = random_reads(device)
    if not figures and (curve := loaded_curve(device, 1.0)) is not None and curve.points:
        return _lowest_load(curve)
    if not figures:
        raise lacks(device, "an idle random read latency", "[[latency]] with value_ns")
    # `max` returns the first of equally large regions: files list the most trusted figure first.
    return max(figures, key=lambda figure: _or_infinite(figure.region_bytes))


def random_reads(device: DeviceProfile) -> list[LatencyFigure]:
    """Return the idle latencies of dependent random reads in the order of the file."""
    return idle_latencies(device, "read")


def idle_latencies(
    device: DeviceProfile, operation: Operation, pattern: Pattern = "random"
) -> list[LatencyFigure]:
    """Return the idle latencies of `operation` in the order of the file."""
    return [
        figure
        for figure in device.latency
        if figure.operation == operation and figure.pattern == pattern
    ]


def idle_latency_ns(
    device: DeviceProfile, operation: Operation, pattern: Pattern = "random"
) -> LatencyFigure | None:
    """Return the idle latency of `operation` at its largest region, None if there is none."""
    figures = idle_latencies(device, operation, pattern)
    return max(figures, key=lambda figure: _or_infinite(figure.region_bytes), default=None)


def bandwidth(
    device: DeviceProfile,
    operation: Operation,
    pattern: Pattern = "sequential",
    threads: int | None = None,
    page_bytes: int | None = None,
) -> BandwidthFigure:
    """Return the best bandwidth of `operation`, GB/s, over thread counts, pages and access sizes.

    `threads` excludes figures of more threads, `page_bytes` figures of other page sizes, unless no
    figure would be left. If operation and pattern have no figure, the most similar figure replaces
    it; if the device has no bandwidth at all, the best point of a loaded-latency curve does.
    """
    other: Pattern = "random" if pattern == "sequential" else "sequential"
    for kind in (operation, *STAND_INS[operation]):
        for order in (pattern, other):
            figure = _best(
                device, kind, order, threads, page_bytes, prefer_reads=operation == "read"
            )
            if figure is not None:
                if (kind, order) == (operation, pattern):
                    return figure
                return _standing_in(figure, f"{pattern} {operation}")
    curve = loaded_curve(device, 1.0 if operation == "read" else 0.0)
    if curve is not None and (best := max(curve.points, default=(0.0, 0.0))[0]) > 0:
        return _saturation(curve, best, f"{pattern} {operation}")
    raise lacks(device, f"a bandwidth for {operation}", "[[bandwidth]] with value_gb_per_s")


def chains(device: DeviceProfile) -> list[ChainsFigure]:
    """Return ns per access by number of independent chains, fewest first.

    If a number was measured with several page sizes, the largest is used.
    """
    by_count: dict[int, ChainsFigure] = {}
    for figure in sorted(device.chains, key=lambda figure: figure.page_bytes or 0):
        by_count[figure.chains] = figure
    return [by_count[count] for count in sorted(by_count)]


def loaded_curve(device: DeviceProfile, read_share: float) -> LoadedLatencyCurve | None:
    """Return the curve of read latency whose read share is nearest to `read_share` (0..1)."""
    return min(
        plain_curves(device.loaded_latency),
        key=lambda curve: abs(curve.read_share - read_share),
        default=None,
    )


def plain_curves(curves: Sequence[LoadedLatencyCurve]) -> list[LoadedLatencyCurve]:
    """Return one curve of timed loads for each read share, in the order of `curves`.

    Of several curves with one read share, sequential traffic is preferred, then ordinary stores,
    then a curve over all thread counts, then the largest thread count.
    """
    plain: dict[float, LoadedLatencyCurve] = {}
    for curve in curves:
        if curve.instruction == "load":
            other = plain.get(curve.read_share)
            plain[curve.read_share] = curve if other is None else min(other, curve, key=_preference)
    return [curve for curve in curves if plain.get(curve.read_share) is curve]


def _preference(curve: LoadedLatencyCurve) -> tuple[bool, bool, bool, int]:
    return (
        curve.pattern != "sequential",
        curve.non_temporal,
        curve.threads is not None,
        -(curve.threads or 0),
    )


def lacks(device: DeviceProfile, figure: str, remedy: str) -> NearfarError:
    """Return the error for a figure that `device` does not have."""
    if device.technology == "paged":
        return NearfarError(
            f"{device.name} is moved in pages and has no {figure.removeprefix('an ')}: predict, "
            "place and report know such memories; choose another device here"
        )
    return NearfarError(
        f"device {device.name!r} lacks {figure}: add {remedy} to a copy of it "
        f"(`nearfar device show {device.name} --toml`), or choose another device"
    )


def _best(
    device: DeviceProfile,
    operation: Operation,
    pattern: Pattern,
    threads: int | None,
    page_bytes: int | None,
    *,
    prefer_reads: bool,
) -> BandwidthFigure | None:
    figures = [
        figure
        for figure in device.bandwidth
        if figure.operation == operation and figure.pattern == pattern
    ]
    if operation == "mixed" and figures:
        # The mixture with most reads is nearest to pure reads, that with fewest to pure writes.
        shares = [0.5 if figure.read_share is None else figure.read_share for figure in figures]
        nearest = max(shares) if prefer_reads else min(shares)
        figures = [f for f, share in zip(figures, shares, strict=True) if share == nearest]
    if threads is not None:
        few = [f for f in figures if f.threads is not None and f.threads <= threads]
        figures = few or figures
    if page_bytes is not None:
        figures = [f for f in figures if f.page_bytes == page_bytes] or figures
    return max(figures, key=lambda figure: figure.value_gb_per_s, default=None)


def _standing_in(figure: BandwidthFigure, missing: str) -> BandwidthFigure:
    share = "" if figure.read_share is None else f" with {figure.read_share:.0%} reads"
    note = f"stands in for {missing}: this is {figure.pattern} {figure.operation}{share}"
    return msgspec.structs.replace(
        figure, how="assumed", note=f"{note}; {figure.note}" if figure.note else note
    )


def _saturation(curve: LoadedLatencyCurve, gb_per_s: float, missing: str) -> BandwidthFigure:
    operation: Operation = (
        "read" if curve.read_share == 1 else "write" if curve.read_share == 0 else "mixed"
    )
    return BandwidthFigure(
        operation=operation,
        read_share=curve.read_share if operation == "mixed" else None,
        value_gb_per_s=gb_per_s,
        how="assumed",
        source=curve.source,
        note=f"stands in for {missing}: the best of the curve at {curve.read_share:.0%} reads",
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
