"""Making a `Memory` of a device profile, and deriving what published profiles lack.

A published far memory has a latency and bandwidths, no chains curve: that belongs to the core as
much as to the memory. The near curve tells how many misses this core overlaps; the far cost is
the far latency over the same parallelism, or what the far memory's bandwidth for random lines
allows, whichever is more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nearfar.base.units import LINE_BYTES, format_bytes
from nearfar.devices import curves
from nearfar.documents.device import (
    BandwidthFigure,
    ChainsFigure,
    DeviceProfile,
    LatencyFigure,
    Operation,
    Pattern,
)
from nearfar.documents.prediction import HostRule
from nearfar.predict.host import DEFAULT_HOST, Here, latency_here
from nearfar.predict.memory import MAX_CHAINS, MemoryCosts, WalksByRegion, bounded
from nearfar.predict.one_core import copied_line_ns, is_of_one_core, read_in_sequence_ns
from nearfar.predict.pages import chains, hit_ns, program_page_bytes, walk_ns
from nearfar.predict.traffic import Array

ASSUMED_PARALLELISM = 10.0
"""Misses a core overlaps where no chains curve was measured: x86 cores of the last decade have
10 to 16 line fill buffers, and gathers were seen to reach 11 in flight."""

ASSUMED_HIT_NS = 1.5
"""An L1 hit's latency where it was not measured: 4 to 5 cycles near 3 GHz."""

PATTERNS: tuple[Pattern, Pattern] = ("random", "sequential")

ERROR_OF = {"measured": 0.03, "published": 0.05, "fitted": 0.08, "assumed": 0.20}
"""Relative half-width of a figure that gives no interval. measured: medians moved 6 % between
runs minutes apart. published: two papers on one device differ by about 5 %. assumed: a guess."""

DERIVED_CHAINS_ERROR = 0.10
"""Added to a derived chains curve's latency: chains on real far memories queue in the device."""

LEAST_WALK = 0.05
"""Of a latency, what page walks must add to be told from noise."""

MOST_APART = 3.0
"""Walks of two allocations differed by up to a factor of 2.5; more is noise."""

FASTER = 0.98
"""Far over near latency below which far memory is called faster: 2 % is within noise."""

LEAST_WRITE_BACK_SHARE = 0.25
"""Of an ordinary store's time per line, at least so much is the write-back; it keeps noise in
two bandwidths from making write-backs free."""


def near_memory(device: DeviceProfile, page_bytes: int | None = None) -> MemoryCosts:
    """Return the memory everything is in today, with pages of `page_bytes`.

    By default, the pages that programs get on the machine where it was measured.
    """
    page_bytes = page_bytes or program_page_bytes(device)
    latency = curves.idle_read_latency_ns(device)
    figures = chains(device, page_bytes)
    stream_ns, ends_ns = read_in_sequence_ns(device, page_bytes)
    caveats: list[str] = []
    if len(figures) > 1:
        counts, costs = _curve(figures)
    else:
        counts = np.array([1.0, ASSUMED_PARALLELISM, MAX_CHAINS])
        costs = latency.value_ns / np.minimum(counts, ASSUMED_PARALLELISM)
        caveats.append(
            f"{device.name} has no chains curve: a core is assumed to overlap up to "
            f"{ASSUMED_PARALLELISM:g} misses (`nearfar measure` measures the curve)"
        )
    if page_bytes and len(figures) > 1 and figures[0].page_bytes != page_bytes:
        caveats.append(
            f"{device.name} has no chains curve of {format_bytes(page_bytes)} pages: that of the "
            "largest pages measured is used"
        )
    return _memory(
        device,
        latency,
        counts,
        costs,
        page_bytes=page_bytes,
        derived=len(figures) < 2,
        walk=walk_ns(device, page_bytes) if len(figures) > 1 else 0.0,
        core_stream_ns=stream_ns,
        page_ends_ns=ends_ns,
        caveats=caveats,
    )


def far_memory(
    device: DeviceProfile,
    near: MemoryCosts,
    host: HostRule = DEFAULT_HOST,
    page_bytes: int | None = None,
    *,
    own_ns: float | None = None,
    near_own_ns: float | None = None,
) -> MemoryCosts:
    """Return a memory that data may go to, as the core that `near` was measured on sees it.

    Its pages have `page_bytes`, by default as those near; `own_ns` is what a dependent random read
    of the program's own far data takes where that was measured (page walks take longer where pages
    lie farther apart), and `near_own_ns` of its near data (some of few data are in a cache). `host`
    says how a latency that was published on another machine is taken to this one.
    """
    if same_figures(device, near.device):
        return replace(
            near,
            device=device,
            taken="published" if device.measured is None else "measured",
            is_near=True,
            caveats=(
                f"{device.name} has the same figures as near memory {near.device.name}: taken as "
                "the same memory, so that moving data there changes nothing",
            ),
        )
    page_bytes = page_bytes or near.page_bytes
    latency = curves.idle_read_latency_ns(device)
    here = latency_here(device, near, host)
    figures = chains(device, page_bytes)
    caveats = list(here.caveats)
    waiting_ns, walk, unwalked_ns, by_region = None, 0.0, None, None
    if len(figures) > 1:
        counts, costs = _curve(figures)
        costs = costs * (here.latency_ns / latency.value_ns)
        walk = walk_ns(device, page_bytes)
        unwalked_ns = _unwalked(device, figures, costs)
        if unwalked_ns is not None:
            by_region = _walks_by_region(device, figures[0].page_bytes)
    else:
        counts, walk = near.chain_counts, near.walk_ns
        overlap = near.chain_costs_ns[0] / near.chain_costs_ns
        waiting_ns = (here.latency_ns + walk) / overlap
        line_ns = LINE_BYTES / line_bandwidth(device, "read", "random").value_gb_per_s
        costs = bounded(waiting_ns, line_ns)
        caveats.append(
            f"{device.name} has no chains curve: it is derived from its latency and bandwidth "
            f"and from how many misses this core overlaps in {near.device.name}"
        )
    if costs[0] < FASTER * near.latency_ns:
        caveats.append(
            f"{device.name} answers faster than near memory here ({here.latency_ns:.0f} against "
            f"{near.unwalked_ns:.0f} ns): a slowdown below 1 speaks of another machine, or of "
            "memory that should be near"
        )
    stream_ns, ends_ns = read_in_sequence_ns(device, page_bytes)
    if curves.bandwidth(device, "read", threads=1).threads != 1:
        # Between "bandwidth alone" (the prefetcher hides all latency) and "a fixed number of
        # lines in flight" (time grows with latency): the geometric middle.
        ends_ns = 0.0
        ratio = float(costs[0] / near.chain_costs_ns[0])
        stream_ns = max(stream_ns, near.core_stream_ns * max(1.0, ratio) ** 0.5)
        caveats.append(
            f"{device.name} has no bandwidth of one thread: sequential reads by one core are "
            "taken between what latency and what bandwidth allow"
        )
    found = _memory(
        device,
        latency,
        counts,
        costs,
        page_bytes=page_bytes,
        walk=walk,
        waiting_ns=waiting_ns,
        derived=len(figures) < 2,
        core_stream_ns=stream_ns,
        page_ends_ns=ends_ns,
        caveats=caveats,
    )
    near_ns = float(near.chain_costs_ns[0])
    points = [(ns + walk) / (here.latency_ns + walk) for ns in (here.latency_ns, *here.others_ns)]
    return replace(
        found,
        unwalked_costs_ns=unwalked_ns,
        own_ns=own_ns,
        walks_by_region=by_region,
        walks_measured=1.0
        if unwalked_ns is None or own_ns is None
        else _walks(costs[0], unwalked_ns[0], own_ns, (near_own_ns or near_ns) / near_ns),
        latency_range=(min(points), max(points)),
        load_share=latency.value_ns / here.latency_ns if here.taken == "added" else 1.0,
        near_share=_near_share(here, near, found),
        taken=here.taken,
    )


def same_figures(one: DeviceProfile, other: DeviceProfile) -> bool:
    """Return whether two profiles are of one memory: names and titles may differ, figures not."""
    return all(
        getattr(one, key) == getattr(other, key)
        for key in ("latency", "bandwidth", "chains", "loaded_latency", "granularity_bytes")
    )


def line_bandwidth(
    device: DeviceProfile, operation: Operation, pattern: Pattern
) -> BandwidthFigure:
    """Return the bandwidth of single 64 B lines, all threads together.

    Random lines below the medium's granularity draw whole blocks; where no figure for 64 B
    accesses is given, the sequential one is divided by the amplification.
    """
    figure = curves.bandwidth(device, operation, pattern)
    if pattern == "sequential":
        return figure
    exact = [
        f
        for f in device.bandwidth
        if f.operation == operation and f.pattern == "random" and f.access_bytes == LINE_BYTES
    ]
    if exact:
        return max(exact, key=lambda f: f.value_gb_per_s)
    amplification = max(1.0, device.granularity_bytes / LINE_BYTES)
    of_lines = figure.pattern == "random" and figure.access_bytes is None
    if of_lines or amplification == 1.0:
        return figure
    return BandwidthFigure(
        how="assumed",
        source=figure.source,
        note=f"{figure.note}; divided by {amplification:g} for 64 B of {device.granularity_bytes}",
        operation=operation,
        pattern="random",
        value_gb_per_s=figure.value_gb_per_s / amplification,
    )


def write_back_ns(figure: BandwidthFigure, read_ns: float) -> float:
    """Return what writing one line back costs, ns, from the write figure a device has.

    Non-temporal stores are asked for first: they move what a write-back moves, and nothing else.

    An ordinary store moves two lines (it reads the line first, then writes it back), a mixture
    moves `read_share` reads; a non-temporal store moves just its own line.
    """
    line_ns = LINE_BYTES / figure.value_gb_per_s
    if figure.operation in ("write", "clwb"):
        return max(line_ns - read_ns, LEAST_WRITE_BACK_SHARE * line_ns)
    if figure.operation in ("mixed", "copy") and figure.read_share not in (None, 1.0):
        share = figure.read_share or 0.0
        return max((line_ns - share * read_ns) / (1.0 - share), LEAST_WRITE_BACK_SHARE * line_ns)
    return line_ns


def _memory(
    device: DeviceProfile,
    latency: LatencyFigure,
    counts: Array,
    costs: Array,
    *,
    page_bytes: int | None,
    walk: float,
    waiting_ns: Array | None = None,
    derived: bool,
    core_stream_ns: float,
    page_ends_ns: float,
    caveats: list[str],
) -> MemoryCosts:
    random, sequential = (line_bandwidth(device, "read", p) for p in PATTERNS)
    writes = [line_bandwidth(device, "nt-store", pattern) for pattern in PATTERNS]
    sequential_ns = LINE_BYTES / sequential.value_gb_per_s
    random_ns = LINE_BYTES / random.value_gb_per_s
    written_ns = [write_back_ns(writes[0], random_ns), write_back_ns(writes[1], sequential_ns)]
    beyond = 1.0
    one_core = is_of_one_core(device)
    copied_ns, copied_ends_ns = copied_line_ns(device, page_bytes)
    if device.measured is not None:
        # Few cores may not reach what the memory gives: chains show what random reads get, and of
        # one core, ordinary stores what several streams do, since each moves two lines at once.
        store = curves.bandwidth(device, "write")
        if store.operation == "write" and one_core:
            store_ns = LINE_BYTES / store.value_gb_per_s
            beyond = max(sequential_ns / (store_ns / 2), 1.0)
            sequential_ns /= beyond
            written_ns[1] = min(written_ns[1], max(store_ns - sequential_ns, sequential_ns))
        cores_ns = float(costs[-1]) / max(1, len(device.measured.cpus))
        random_ns = max(sequential_ns, min(random_ns, cores_ns))
    for figure in (latency, sequential, writes[1]):
        if figure.how == "assumed":
            caveats.append(f"{device.name}: a figure is assumed ({figure.note})")
    noise = device.measured.noise_floor if device.measured is not None else 0.0
    return MemoryCosts(
        device=device,
        page_bytes=page_bytes,
        latency_ns=float(costs[0]),
        chain_counts=counts,
        chain_costs_ns=costs,
        chains_measured=not derived,
        waiting_ns=waiting_ns,
        core_stream_ns=core_stream_ns,
        page_ends_ns=page_ends_ns,
        copied_ns=copied_ns,
        copied_ends_ns=copied_ends_ns,
        of_one_core=one_core,
        read_ns=(random_ns, sequential_ns),
        write_ns=(written_ns[0], written_ns[1]),
        hit_ns=hit_ns(device) or ASSUMED_HIT_NS,
        latency_error=max(_latency_error(latency), noise) + DERIVED_CHAINS_ERROR * derived,
        bandwidth_error=max(
            _bandwidth_error(sequential), _bandwidth_error(writes[1]), noise, (beyond - 1.0) / 2
        ),
        walk_ns=walk,
        caveats=tuple(caveats),
    )


def _near_share(here: Here, near: MemoryCosts, far: MemoryCosts) -> float:
    if here.taken == "added":
        return min(1.0, near.latency_ns / far.latency_ns)
    return 1.0 if here.taken == "ratio" else 0.0


def _curve(figures: list[ChainsFigure]) -> tuple[Array, Array]:
    counts = np.array([float(figure.chains) for figure in figures])
    # More chains never make a miss dearer; where a measured point says so, it is noise.
    costs = np.minimum.accumulate(np.array([figure.value_ns for figure in figures]))
    return counts, costs


def _unwalked(device: DeviceProfile, figures: list[ChainsFigure], costs: Array) -> Array | None:
    """Return the costs of as many chains over the largest pages; None: these are over them."""
    large = {figure.chains: figure.value_ns for figure in curves.chains(device)}
    if curves.chains(device)[0].page_bytes == figures[0].page_bytes:
        return None
    if not all(figure.chains in large for figure in figures):
        return None
    found = np.array([large[figure.chains] for figure in figures])
    # No walk makes a miss cheaper; where a measured point says so, it is noise.
    return np.asarray(np.minimum(np.minimum.accumulate(found), costs))


def _walks_by_region(device: DeviceProfile, page_bytes: int | None) -> WalksByRegion | None:
    """Return what small pages add over each region that was measured with large ones too."""
    taken: dict[int, dict[bool, float]] = {}
    for figure in curves.random_reads(device):
        if figure.region_bytes:
            by_pages = taken.setdefault(figure.region_bytes, {})
            by_pages.setdefault(figure.page_bytes == page_bytes, figure.value_ns)
    sizes = sorted(size for size, one in taken.items() if len(one) > 1)
    if len(sizes) < 2:
        return None
    walked_ns, others_ns = (np.array([taken[s][own] for s in sizes]) for own in (True, False))
    return WalksByRegion(
        np.array(sizes, dtype=float), np.maximum(walked_ns - others_ns, 0.0), walked_ns
    )


def _walks(walked_ns: float, unwalked_ns: float, own_ns: float, beyond_caches: float) -> float:
    """Return walks of the measured chase, counted in walks of the program's own data.

    Reads of these take `beyond_caches` times what reads of the measured chase take without walks.
    """
    if walked_ns < (1.0 + LEAST_WALK) * unwalked_ns:
        return 1.0
    share = (own_ns - unwalked_ns * beyond_caches) / (walked_ns - unwalked_ns)
    return 1.0 / min(max(share, 1.0 / MOST_APART), MOST_APART)


def _latency_error(figure: LatencyFigure) -> float:
    if figure.low_ns is not None and figure.high_ns is not None:
        return max((figure.high_ns - figure.low_ns) / 2 / figure.value_ns, ERROR_OF["measured"])
    return ERROR_OF[figure.how]


def _bandwidth_error(figure: BandwidthFigure) -> float:
    if figure.low_gb_per_s is not None and figure.high_gb_per_s is not None:
        width = figure.high_gb_per_s - figure.low_gb_per_s
        return max(width / 2 / figure.value_gb_per_s, ERROR_OF["measured"])
    return ERROR_OF[figure.how]
