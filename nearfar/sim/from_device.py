"""Makes a `DeviceModel` from a device profile: least squares on its latency plateaus."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nearfar import _sim
from nearfar.base.errors import NearfarError
from nearfar.base.units import LINE_BYTES
from nearfar.devices.curves import idle_latencies, idle_read_latency_ns, plain_curves, random_reads
from nearfar.devices.load_order import rising_load
from nearfar.devices.stalls import is_notable
from nearfar.documents import DeviceProfile
from nearfar.documents.device import BandwidthFigure, BufferFigure, LatencyFigure
from nearfar.sim.memory import make_memory
from nearfar.sim.parameters import (
    MAX_WAYS,
    DeviceInterleave,
    DeviceModel,
    MemoryLevel,
    Refresh,
    ThreadBandwidth,
    WearStall,
    WriteQueue,
)
from nearfar.sim.warm import scaled, warm_up_accesses

LINES_IN_FLIGHT = 12
"""Lines in flight of one core, if one thread's bandwidth is not published: cores of the last ten
years have 10 to 16 line fill buffers."""

OPTANE_QUEUE_BYTES = 4096
"""Queue of a device that lists write latencies by region but no queue: the load-store queue of the
published model of Optane, 64 lines (VANS, config/vans.cfg)."""

OPTANE_TRACKED_BYTES = 64 << 10
OPTANE_WEAR_BLOCK_BYTES = 4096
"""Defaults of persistent memories: wear stalls end when writes go over more than 64 KiB (FAST 2020,
figure 3), and writes to one 4 KiB block count together (NVLeak, section 3.3)."""

ACCEPT_NS = 10.0
"""Default time to accept a line: one core's non-temporal stores reach 6 GB/s and more on DRAM
(PerMA-Bench, one thread), which is 64 B in some 10 ns."""

WRITE_SHARPNESS = 7.0
READ_SHARPNESS = 2.5


@dataclass(frozen=True)
class Plateau:
    """Latency of one region size, to which the constants are fitted."""

    region_bytes: int
    value_ns: float


def from_device(device: DeviceProfile) -> DeviceModel:
    """Return the model of `device`; raises NearfarError if its figures are not sufficient."""
    reads = _plateaus(random_reads(device))
    idle = [figure.value_ns for figure in random_reads(device)]
    if not idle:
        raise NearfarError(
            f"device {device.name!r} has no random read latency, which a simulation needs"
        )
    if device.measured is not None:
        # Sorted by region size: the largest region shows the medium's latency.
        idle[0] = idle_read_latency_ns(device).value_ns
    levels = [_level(buffer, idle[0]) for buffer in device.buffers if _usable(buffer)]
    levels.sort(key=lambda level: level.capacity_bytes)
    caches = tuple(level for level in levels if _is_cache(level))
    buffers = tuple(level for level in levels if not _is_cache(level))
    read = _bandwidth(device, ("read",), idle[0], READ_SHARPNESS)
    nt_store = _bandwidth(device, ("nt-store", "clwb", "write"), idle[0], WRITE_SHARPNESS)
    model = DeviceModel(
        device.name,
        media_ns=idle[0],
        read=read,
        write=_bandwidth(device, ("write", "clwb", "nt-store"), idle[0], WRITE_SHARPNESS),
        nt_store=nt_store,
        caches=caches,
        buffers=buffers,
        granularity_bytes=device.granularity_bytes,
        interleave=_interleave(device),
        wear=_wear(device),
        refresh=_refresh(device),
        loaded=tuple(
            (curve.read_share, tuple((b, n) for b, n in rising_load(curve.points)))
            for curve in plain_curves(device.loaded_latency)
        ),
        mixtures=_mixtures(device),
        threads=max([16, *(figure.threads or 0 for figure in device.bandwidth)]),
    )
    model = fit_reads(model, reads)
    return _with_writes(model, device)


def fit_reads(model: DeviceModel, plateaus: Sequence[Plateau]) -> DeviceModel:
    """Return `model` with the latencies of its levels fitted to `plateaus`.

    A plateau's latency is the sum over levels of share x latency, so it is linear in the latencies.
    The fit minimises squared relative errors. If there are not more plateaus than levels, or if a
    fitted latency is not positive, `model` is returned unchanged.
    """
    if len({plateau.region_bytes for plateau in plateaus}) <= len(model.levels):
        return model
    if not model.levels and len(plateaus) > 1:
        # Unknown caches serve some plateaus, so the mean of all is not the medium's latency.
        return model
    shares = np.array([read_shares(model, plateau.region_bytes) for plateau in plateaus])
    fitted = _least_squares(shares, plateaus)
    if fitted is None:
        return model
    fitted_ns = iter(np.maximum.accumulate(fitted))
    return replace(
        model,
        caches=tuple(replace(level, latency_ns=float(next(fitted_ns))) for level in model.caches),
        buffers=tuple(replace(level, latency_ns=float(next(fitted_ns))) for level in model.buffers),
        media_ns=float(next(fitted_ns)),
    )


def read_shares(model: DeviceModel, region_bytes: int) -> list[float]:
    """Return the share of a random chase's loads by level: caches, buffers, medium."""
    ran = _run(model, "load", region_bytes)
    return [count / ran.lines for count in ran.read]


def write_shares(model: DeviceModel, region_bytes: int) -> list[float]:
    """Return the share of written lines that each level absorbs: queue, buffers, medium."""
    ran = _run(model, "persist", region_bytes)
    return [count / ran.lines for count in ran.written[: len(model.buffers) + 2]]


def _run(model: DeviceModel, operation: str, region_bytes: int) -> _sim.RunResult:
    smaller = scaled(model, region_bytes, LINE_BYTES)
    model, region_bytes = smaller.model, smaller.region_bytes
    lines = region_bytes // LINE_BYTES
    warm = warm_up_accesses(model, region_bytes, LINE_BYTES, LINE_BYTES)
    return _sim.run(
        memory=make_memory(model),
        operation=operation,
        region_bytes=region_bytes,
        access_bytes=LINE_BYTES,
        stride_bytes=LINE_BYTES,
        warm_up=warm,
        # Small regions get whole passes; 200,000 accesses give shares to 0.1 %.
        accesses=max(200_000 // lines, 1) * lines if lines <= 200_000 else 200_000,
        fence_every=1 << 30,
    )


def _least_squares(shares: np.ndarray, plateaus: Sequence[Plateau]) -> np.ndarray | None:
    values = np.array([plateau.value_ns for plateau in plateaus])
    fitted, _, rank, _ = np.linalg.lstsq(shares / values[:, None], np.ones(len(values)), rcond=None)
    return fitted if rank == shares.shape[1] and (fitted > 0).all() else None


def _with_writes(model: DeviceModel, device: DeviceProfile) -> DeviceModel:
    """Return `model` with a write queue, fitted drain times, and costs of fence and flush.

    A fence or flush costs its latency minus the time to accept a line.
    """
    by_region = _plateaus(idle_latencies(device, "nt-store"))
    fence_ns = _latency(device, "nt-store")
    flush_ns = _latency(device, "clwb")
    queue = None
    if device.write_queues:
        figure = device.write_queues[0]
        inside = [p.value_ns for p in by_region if p.region_bytes <= figure.capacity_bytes]
        queue = WriteQueue(_whole_lines(figure.capacity_bytes), min(inside, default=ACCEPT_NS))
        model = replace(model, media_drain_ns=figure.drained_ns_per_line or model.media_drain_ns)
    elif len(by_region) > 1:
        queue = WriteQueue(OPTANE_QUEUE_BYTES, min(plateau.value_ns for plateau in by_region))
    model = replace(model, queue=queue)
    beyond = [p for p in by_region if queue and p.region_bytes > 2 * queue.capacity_bytes]
    if len(beyond) > len(model.buffers):
        shares = np.array([write_shares(model, p.region_bytes)[1:] for p in beyond])
        fitted = _least_squares(shares, beyond)
        if fitted is not None:
            drains = np.maximum.accumulate(fitted)
            model = replace(
                model,
                buffers=tuple(
                    replace(level, drain_ns=float(ns))
                    for level, ns in zip(model.buffers, drains, strict=False)
                ),
                media_drain_ns=float(drains[-1]),
            )
    accept_ns = queue.accept_ns if queue else model.media_drain_ns
    return replace(
        model,
        fence_ns=max(fence_ns - accept_ns, 1.0) if fence_ns else model.fence_ns,
        flush_ns=max(flush_ns - accept_ns, 1.0) if flush_ns else model.flush_ns,
    )


def _plateaus(figures: Sequence[LatencyFigure]) -> list[Plateau]:
    """Return one plateau per region, with the largest pages: they need the fewest page walks."""
    fitting = [
        figure for figure in figures if figure.region_bytes is not None and not figure.stride_bytes
    ]
    pages = max((figure.page_bytes or 0 for figure in fitting), default=0)
    of_region: dict[int, float] = {}
    for figure in fitting:
        if (figure.page_bytes or 0) == pages and figure.region_bytes is not None:
            of_region.setdefault(figure.region_bytes, figure.value_ns)
    return [Plateau(region, ns) for region, ns in of_region.items()]


def _latency(device: DeviceProfile, operation: str) -> float | None:
    """Return the latency of a write with its fence; figures with a region share one fence."""
    for figure in device.latency:
        if figure.operation == operation and figure.region_bytes is None:
            return figure.value_ns
    return None


def _usable(buffer: BufferFigure) -> bool:
    return buffer.operation == "read" and buffer.capacity_bytes >= 2 * LINE_BYTES


def _level(buffer: BufferFigure, media_ns: float) -> MemoryLevel:
    block = buffer.block_bytes or LINE_BYTES
    ways = buffer.ways if buffer.ways and buffer.ways <= MAX_WAYS else 0
    unit = block * max(ways, 1)
    if ways == 0 and _cache_name(buffer.name) and buffer.capacity_bytes > 1 << 20:
        # No large cache is fully associative: an unknown number of ways is assumed as MAX_WAYS.
        ways, unit = MAX_WAYS, block * MAX_WAYS
    random = buffer.replacement == "random" or (buffer.replacement is None and ways == 0)
    return MemoryLevel(
        buffer.name,
        max(buffer.capacity_bytes // unit, 1) * unit,
        buffer.latency_ns or media_ns,
        block,
        ways,
        "random" if random else "lru",
        drain_ns=0.0,
    )


def _cache_name(name: str) -> bool:
    return re.search(r"cache|^l[1-4]\b|llc", name.lower()) is not None


def _is_cache(level: MemoryLevel) -> bool:
    return level.block_bytes == LINE_BYTES and _cache_name(level.name)


def _whole_lines(size_bytes: int) -> int:
    return max(size_bytes // LINE_BYTES, 1) * LINE_BYTES


def _bandwidth(
    device: DeviceProfile, operations: Sequence[str], idle_ns: float, sharpness: float
) -> ThreadBandwidth:
    """Return the bandwidth of the first of `operations` with figures."""
    figures: list[BandwidthFigure] = []
    for operation in operations:
        figures = [f for f in device.bandwidth if f.operation == operation]
        sequential = [f for f in figures if f.pattern == "sequential"]
        figures = sequential or figures
        if figures:
            break
    if not figures:
        # Without figures for writes, writes are assumed to be as fast as reads.
        figures = [f for f in device.bandwidth if f.operation in ("read", "mixed")]
    one_by_latency = LINES_IN_FLIGHT * LINE_BYTES / idle_ns
    if not figures:
        raise NearfarError(f"device {device.name!r} has no bandwidth, which a simulation needs")
    most = max(figure.value_gb_per_s for figure in figures)
    points = _by_threads(figures)
    if points:
        most = max(value for _, value in points)
        return ThreadBandwidth(
            min(one_by_latency, points[0][1] / points[0][0]), most, sharpness, points
        )
    single = [figure.value_gb_per_s for figure in figures if figure.threads == 1]
    if not single:
        return ThreadBandwidth(min(one_by_latency, most), most, sharpness)
    # The closed form is below T b1: solve it for the b1 that gives the measured bandwidth.
    measured = max(single)
    if measured >= 0.95 * most:
        return ThreadBandwidth(2 * most, most, sharpness)
    inverse = measured**-sharpness - most**-sharpness
    return ThreadBandwidth(inverse ** (-1 / sharpness), most, sharpness)


def _by_threads(figures: Sequence[BandwidthFigure]) -> tuple[tuple[int, float], ...]:
    """Return the best bandwidth of each published thread count, if there are several."""
    best: dict[int, float] = {}
    for figure in figures:
        if figure.threads is not None and not figure.stride_bytes:
            best[figure.threads] = max(best.get(figure.threads, 0.0), figure.value_gb_per_s)
    return tuple(sorted(best.items())) if len(best) > 1 else ()


def _mixtures(device: DeviceProfile) -> tuple[tuple[float, int, float], ...]:
    """Return (read share, threads, GB/s) of mixed traffic; threads 0 if unknown.

    A loaded-latency curve's best bandwidth is used for read shares without a published figure.
    """
    mixtures = {
        curve.read_share: (0, max(bandwidth for bandwidth, _ns in curve.points))
        for curve in plain_curves(device.loaded_latency)
        if 0 < curve.read_share < 1
    }
    for figure in device.bandwidth:
        if figure.operation == "mixed" and figure.read_share and figure.pattern == "sequential":
            mixtures[figure.read_share] = (figure.threads or 0, figure.value_gb_per_s)
    return tuple((share, threads, value) for share, (threads, value) in sorted(mixtures.items()))


def _interleave(device: DeviceProfile) -> DeviceInterleave | None:
    for figure in device.interleaves:
        return DeviceInterleave(figure.devices, figure.granularity_bytes)
    return None


def _wear(device: DeviceProfile) -> WearStall | None:
    for stall in device.stalls:
        if stall.period_writes is not None:
            persistent = device.technology == "pmem"
            return WearStall(
                stall.period_writes,
                stall.length_ns,
                stall.granularity_bytes or OPTANE_WEAR_BLOCK_BYTES,
                OPTANE_TRACKED_BYTES if persistent else 0,
            )
    return None


def _refresh(device: DeviceProfile) -> Refresh | None:
    """Return the stall by time; None where measured latencies include the wait for it already."""
    for stall in device.stalls:
        if stall.period_ns is not None:
            included = device.measured is not None and is_notable(stall)
            return None if included else Refresh(stall.period_ns, stall.length_ns)
    return None
