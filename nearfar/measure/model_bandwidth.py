"""Bandwidth, chains and load of a simulated memory: published by threads, else closed forms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.samples.point import SamplePoint
from nearfar.sim.loaded import LoadedLatency
from nearfar.sim.parameters import DeviceModel, ThreadBandwidth
from nearfar.sim.throughput import (
    amplified,
    busiest_share,
    by_threads,
    capped,
    mixed,
    saturated,
    scaled_by,
)

READS = frozenset({"read", "nt-load", "stream-sum", "gather"})
WRITES = frozenset({"write", "scatter"})
NT_STORES = frozenset({"nt-store"})
SHARES = {
    "read-modify-write": (0.5, "write"),
    "copy": (0.5, "write"),
    "copy-nt": (0.5, "nt-store"),
    "stream-copy": (0.5, "write"),
    "stream-scale": (0.5, "write"),
    "stream-add": (2 / 3, "write"),
    "stream-triad": (2 / 3, "write"),
}
"""Share of reads in the payload, and the kind of write of the remainder, by kernel."""
MIXED = {"mixed": "write", "mixed-nt": "nt-store"}

ORDERS = ("", "-random", "-strided")
KERNELS = (
    frozenset(
        kernel + order
        for kernel in ("read", "write", "nt-store", *MIXED)
        for order in ORDERS
        if not (kernel in MIXED and order == "-strided")
    )
    | frozenset(SHARES)
    | {"nt-load", "stream-sum", "gather", "scatter", "read-modify-write-random"}
)

GENERATOR_BYTES = 2048
"""Bytes that a generator moves before it rests (`SamplePoint.pause_ns`)."""

CHAIN_SHARPNESS = 6.0
"""Sharpness of the corner where chains meet a core's bandwidth."""


def gb_per_s(model: DeviceModel, point: SamplePoint, region_ns: float) -> float:
    """Return GB/s of payload; `region_ns` (chase over the region) shows what caches serve."""
    base, order = _base_and_order(point.kernel)
    if base in MIXED:
        share = 0.5 if point.read_share is None else point.read_share
        value = _mixed_gb_per_s(model, point, share, MIXED[base], order)
    elif base in SHARES:
        share, how = SHARES[base]
        value = _mixed_gb_per_s(model, point, share, how, order)
    else:
        kind = model.read if base in READS else model.nt_store if base in NT_STORES else model.write
        value = _kind_gb_per_s(model, kind, point, _order(base, order))
        if base in WRITES and not kind.points:
            value *= _published_ratio(model, 0.0, "write")
    if base in NT_STORES or base == "copy-nt":
        return value
    # Data served by caches are faster by the ratio of latencies.
    return value * max(model.media_ns / region_ns, 1.0) if _fits_caches(model, point) else value


def _fits_caches(model: DeviceModel, point: SamplePoint) -> bool:
    return bool(model.caches) and point.region_bytes <= model.caches[-1].capacity_bytes


def _base_and_order(kernel: str) -> tuple[str, str]:
    for order in ("random", "strided"):
        if kernel.endswith("-" + order):
            return kernel.removesuffix("-" + order), order
    return kernel, ""


def _order(base: str, order: str) -> str:
    return "random" if base in ("gather", "scatter") else order


def _mixed_gb_per_s(
    model: DeviceModel, point: SamplePoint, share: float, how: str, order: str
) -> float:
    """Return GB/s of payload of which `share` is read.

    The ratio of published mixtures to the closed form holds for all orders and thread counts.
    """
    writes = model.nt_store if how == "nt-store" else model.write

    def closed(point: SamplePoint) -> float:
        read = _kind_gb_per_s(model, model.read, point, order)
        return mixed(read, _kind_gb_per_s(model, writes, point, order), share)

    plain, ratio = closed(point), _published_ratio(model, share, how)
    at_most = max((threads for _, threads, _ in model.mixtures), default=0)
    if 0 < at_most < point.threads and ratio > 1:
        # Bandwidth reached with this many threads is not scaled up to more threads.
        return min(plain * ratio, max(plain, closed(replace(point, threads=at_most)) * ratio))
    return plain * ratio


MANY_THREADS = 10**6
"""Number of threads at which a closed form gives the memory's peak."""


def _published_ratio(model: DeviceModel, share: float, how: str) -> float:
    """Return the ratio of published bandwidth to the closed form at a read share of the payload.

    The ratio is interpolated between published mixtures. It is 1 if none is published, for reads
    alone and for non-temporal stores alone.
    """
    writes = model.nt_store if how == "nt-store" else model.write
    ratios = {0.0: 1.0, 1.0: 1.0}
    for traffic, threads, published_gb_per_s in model.mixtures:
        # An ordinary store reads its line first, so at least half of the traffic is reads.
        if how == "write" and traffic < 0.5:
            continue
        lines = traffic if how == "nt-store" else 2.0 - 1.0 / traffic
        count = threads or MANY_THREADS
        payload = mixed(by_threads(model.read, count), by_threads(writes, count), lines)
        ratios[traffic] = published_gb_per_s / (payload * _lines_moved(lines, how))
    if how == "write" and len(ratios) > 2:
        # No bandwidth of stores alone is published: use the ratio at the least read share.
        ratios[0.0] = ratios[min(traffic for traffic in ratios if traffic > 0)]
    at = share if how == "nt-store" else 1.0 / (2.0 - share)
    return float(np.interp(at, sorted(ratios), [ratios[at_share] for at_share in sorted(ratios)]))


def _lines_moved(share: float, how: str) -> float:
    """Return lines of traffic for each line touched: an ordinary store reads its line first."""
    return 1.0 if how == "nt-store" else 2.0 - share


def _kind_gb_per_s(
    model: DeviceModel, kind: ThreadBandwidth, point: SamplePoint, order: str
) -> float:
    if order == "":
        return by_threads(kind, point.threads)
    access = max(point.access_bytes, LINE_BYTES)
    share = 1 / amplified(access, model.granularity_bytes)
    slowed = scaled_by(kind, share)
    if order == "strided" and model.interleave is not None:
        stride = max(point.stride_bytes, access)
        devices = model.interleave.devices
        busiest = busiest_share(model.interleave, stride, access)
        slowed = capped(slowed, slowed.max_gb_per_s / (devices * busiest))
    return by_threads(slowed, point.threads)


def chains_ns(model: DeviceModel, region_ns: float, chains: int) -> float:
    """Return ns per access of `chains` chains: latency over number, or a core's bandwidth."""
    core_ns = LINE_BYTES / by_threads(model.read, 1)
    alone_ns = region_ns / chains
    return float((alone_ns**CHAIN_SHARPNESS + core_ns**CHAIN_SHARPNESS) ** (1 / CHAIN_SHARPNESS))


def load_of_generators(
    model: DeviceModel, point: SamplePoint, idle_ns: float
) -> tuple[float, float]:
    """Return the ns that the generators add to an access, and the GB/s of payload they draw.

    A persisted write waits as a load does: both stand in the queue before the memory. (No device
    of the library has a curve of persisted writes of its own.)
    """
    if not point.generator or point.pause_ns is None:
        return 0.0, 0.0
    generators = max((point.threads if point.threads > 1 else model.threads) - 1, 1)
    alone = replace(
        point, kernel=point.generator, threads=1, generator="", access_bytes=GENERATOR_BYTES
    )
    rate = gb_per_s(model, alone, model.media_ns)
    # The published bandwidth of this many threads if there is one, else the memory's peak, although
    # few threads may not reach it.
    known = bool(model.read.points or model.nt_store.points or model.write.points)
    most = gb_per_s(
        model, replace(alone, threads=generators if known else MANY_THREADS), model.media_ns
    )
    demand = generators * GENERATOR_BYTES / (point.pause_ns + GENERATOR_BYTES / rate)
    share, per_payload = _generator_traffic(point)
    most = min(most, _curve_end_gb_per_s(model, share) / per_payload)
    drawn = saturated(demand, most, model.read.sharpness)
    loaded = loaded_latency(model, most * per_payload)
    added_ns = loaded.latency_ns(drawn * per_payload, share) - loaded.latency_ns(0.0, share)
    # Accesses that caches serve do not meet the load.
    return added_ns * min(idle_ns / model.media_ns, 1.0), drawn


NEAR_SHARE = 0.13
"""Largest difference of read shares at which a published curve stands for a load: half of the step
of a device that has a curve at every quarter."""


def _curve_end_gb_per_s(model: DeviceModel, share: float) -> float:
    """Return the GB/s of traffic at which the curve nearest to `share` ends; inf: no near curve."""
    near = [curve for curve in model.loaded if abs(curve[0] - share) <= NEAR_SHARE]
    if not near:
        return math.inf
    _, points = min(near, key=lambda curve: abs(curve[0] - share))
    return max(bandwidth for bandwidth, _ns in points)


def loaded_latency(model: DeviceModel, most_gb_per_s: float) -> LoadedLatency:
    """Return the model's loaded latency by traffic: its published curves, else the closed form."""
    return LoadedLatency(model.media_ns, lambda _share: most_gb_per_s, model.loaded)


def _generator_traffic(point: SamplePoint) -> tuple[float, float]:
    """Return the generator's share of reads in its traffic, and its traffic over its payload.

    An ordinary store reads its line first, which is traffic but no payload.
    """
    base, _ = _base_and_order(point.generator)
    if base in READS:
        return 1.0, 1.0
    share, how = 0.0, "nt-store" if base in NT_STORES else "write"
    if base in MIXED:
        share, how = (0.5 if point.read_share is None else point.read_share), MIXED[base]
    elif base in SHARES:
        share, how = SHARES[base]
    return share if how == "nt-store" else 1.0 / (2.0 - share), _lines_moved(share, how)
