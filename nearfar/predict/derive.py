"""Costs of near and far memory (`MemoryCosts`), from device profiles.

A published far memory has a latency and bandwidths but no chains curve, which depends on the core
as much as on the memory. The near curve tells how many misses this core overlaps. The far cost of a
miss is the far latency over the same parallelism, or the time that the far memory's bandwidth for
random lines allows, whichever is longer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2

import numpy as np

from nearfar.base.units import LINE_BYTES, format_bytes
from nearfar.devices import curves
from nearfar.devices.quality import quality_of
from nearfar.documents import MachineProfile
from nearfar.documents.core import CoreFigures
from nearfar.documents.device import (
    BandwidthFigure,
    ChainsFigure,
    DeviceProfile,
    LatencyFigure,
    Operation,
)
from nearfar.documents.prediction import HostRule
from nearfar.predict import device_figures
from nearfar.predict.core_streams import CoreStream, far_stream, near_stream, writes_span
from nearfar.predict.cores import core_behind, machine_of
from nearfar.predict.crowding import crowding, sharing
from nearfar.predict.host import DEFAULT_HOST, LatencyHere, latency_here
from nearfar.predict.memory import (
    MAX_CHAINS,
    NO_READS,
    MemoryCosts,
    ProgramReads,
    bounded,
)
from nearfar.predict.traffic import Array

ASSUMED_PARALLELISM = 10.0
"""Misses a core overlaps where no chains curve was measured: x86 cores of the last decade have
10 to 16 line-fill buffers, and gathers were seen to reach 11 in flight."""

ASSUMED_HIT_NS = 1.5
"""Latency of an L1 hit where it was not measured: 4 to 5 cycles near 3 GHz."""

DERIVED_CHAINS_ERROR = 0.10
"""Error added to the latency of a derived chains curve: chains on real far memories queue in the
device."""

MIN_WALK_SHARE = 0.05
"""Minimum share of a latency that page walks must add to be distinguished from noise."""

MAX_WALK_RATIO = 3.0
"""Maximum ratio between walks of two allocations: 2.5 was measured, more is noise."""

OPERATIONS: tuple[Operation, Operation] = ("read", "nt-store")
"""Operations of bandwidths: a non-temporal store moves just its line, as a write-back does."""

NOT_VERIFIED = "is not verified"
"""Words of the caveat on a device whose figures should not be quoted."""

FASTER_RATIO = 0.98
"""Far over near latency below which far memory counts as faster: 2 % is within noise."""


@dataclass(frozen=True)
class _Chains:
    """A chains curve: ns per miss (`costs`) by number of chains (`counts`)."""

    counts: Array
    costs: Array
    derived: bool
    walk_ns: float = 0.0
    waiting_ns: Array | None = None


def near_memory(
    device: DeviceProfile,
    page_bytes: int | None = None,
    core: CoreFigures | None = None,
) -> MemoryCosts:
    """Return the costs of the memory that everything is in today, with pages of `page_bytes`.

    By default, page size and core are those of programs on the machine that measured `device`.
    """
    page_bytes = page_bytes or device_figures.program_page_bytes(device)
    latency = curves.idle_read_latency_ns(device)
    figures = device_figures.chains(device, page_bytes)
    caveats: list[str] = []
    if len(figures) > 1:
        curve = _Chains(
            *device_figures.chains_costs(figures),
            derived=False,
            walk_ns=device_figures.walk_ns(device, page_bytes),
        )
    else:
        counts = np.array([1.0, ASSUMED_PARALLELISM, MAX_CHAINS])
        costs = latency.value_ns / np.minimum(counts, ASSUMED_PARALLELISM)
        curve = _Chains(counts, costs, derived=True)
        caveats.append(
            f"{device.name} has no chains curve: a core is assumed to overlap up to "
            f"{ASSUMED_PARALLELISM:g} misses (`nearfar measure` measures the curve)"
        )
    if page_bytes and len(figures) > 1 and figures[0].page_bytes != page_bytes:
        caveats.append(
            f"{device.name} has no chains curve for {format_bytes(page_bytes)} pages: the curve of "
            "the largest pages measured is used"
        )
    unwalked_ns = float(curve.costs[0]) - curve.walk_ns
    stream = near_stream(device, page_bytes, unwalked_ns, caveats)
    memory = _memory_costs(device, curve, stream, page_bytes, caveats)
    return replace(memory, core=core or core_behind(device))


def near_on_machine(
    device: DeviceProfile,
    machine: MachineProfile | None,
    page_bytes: int | None = None,
    core: CoreFigures | None = None,
) -> tuple[MemoryCosts, MachineProfile | None]:
    """Return near memory as seen by the machine's core, or by `core`, and the machine.

    If `device` was measured on another machine, the machine's profile is not used: None is returned
    instead of it, and a caveat says why.
    """
    machine, machine_caveats = machine_of(machine, device)
    memory = near_memory(device, page_bytes, core_behind(device, core, machine))
    return replace(memory, caveats=(*machine_caveats, *memory.caveats)), machine


def far_memory(
    device: DeviceProfile,
    near: MemoryCosts,
    host: HostRule = DEFAULT_HOST,
    page_bytes: int | None = None,
    program: ProgramReads = NO_READS,
) -> MemoryCosts:
    """Return the costs of a memory that data may go to, for the core that measured `near`.

    Far pages have `page_bytes`, by default the size of near pages. `host` is the rule that converts
    a latency published on another machine. `program` has measured reads of data that is allocated
    as the program allocates, if available: page walks take longer if pages lie farther apart.
    """
    if device_figures.same_figures(device, near.device):
        return replace(
            near,
            device=device,
            latency_from="published" if device.measured is None else "measured",
            is_near=True,
            caveats=(
                f"{device.name} has the same figures as near memory {near.device.name}: they are "
                "assumed to be the same memory, and moving data there changes nothing",
            ),
        )
    page_bytes = page_bytes or near.page_bytes
    latency = curves.idle_read_latency_ns(device)
    here = latency_here(device, near, host)
    figures = device_figures.chains(device, page_bytes)
    caveats = list(here.caveats)
    curve = _far_chains(device, near, here, figures, page_bytes)
    caveats += _other_machine_caveats(device, near.device)
    if curve.derived:
        caveats.append(
            f"{device.name} has no chains curve: it is derived from its latency and bandwidth "
            f"and from how many misses this core overlaps in {near.device.name}"
        )
    if curve.costs[0] < FASTER_RATIO * near.latency_ns:
        caveats.append(
            f"{device.name} is faster than near memory here ({here.latency_ns:.0f} ns against "
            f"{near.unwalked_ns:.0f} ns): a slowdown below 1 means that its figures come from "
            "another machine, or that this memory should be the near one"
        )
    ratio = float(curve.costs[0] / near.chain_costs_ns[0])
    stream = far_stream(device, near, ratio, page_bytes, caveats)
    memory = _memory_costs(device, curve, stream, page_bytes, caveats)
    if not curve.derived:
        memory = _with_walks(memory, figures)
    memory = _with_program(memory, near, program)
    return _with_host(memory, near, here, latency)


def _other_machine_caveats(device: DeviceProfile, near: DeviceProfile) -> list[str]:
    """Warn where a measured far memory's figures are those of another processor than near's."""
    here, there = near.producer, device.producer
    if device.measured is None or near.measured is None or here.same_processor(there):
        return []
    return [
        f"{device.name} was measured on {there.processor!r}, and near memory {near.name} on "
        f"{here.processor!r}: its figures include that machine's cores and are not converted; "
        "measure both on one machine"
    ]


def _far_chains(
    device: DeviceProfile,
    near: MemoryCosts,
    here: LatencyHere,
    figures: list[ChainsFigure],
    page_bytes: int | None,
) -> _Chains:
    """Return the measured chains curve scaled to this machine, or one derived from near's."""
    if len(figures) > 1:
        counts, costs = device_figures.chains_costs(figures)
        latency_ns = curves.idle_read_latency_ns(device).value_ns
        costs = costs * (here.latency_ns / latency_ns)
        return _Chains(
            counts, costs, derived=False, walk_ns=device_figures.walk_ns(device, page_bytes)
        )
    overlap = near.chain_costs_ns[0] / near.chain_costs_ns
    waiting_ns = (here.latency_ns + near.walk_ns) / overlap
    unwalked_ns = None
    if near.chains_measured:
        near_figures = device_figures.chains(near.device, near.page_bytes)
        unwalked_ns = device_figures.unwalked_costs(near.device, near_figures, near.chain_costs_ns)
    if unwalked_ns is not None:
        # A page walk never makes a miss cheaper, even if more misses were in flight when small
        # pages were measured.
        waiting_ns = np.maximum(waiting_ns, here.latency_ns * unwalked_ns / unwalked_ns[0])
    line_ns = LINE_BYTES / device_figures.line_bandwidth(device, "read", "random").value_gb_per_s
    costs = bounded(waiting_ns, line_ns)
    return _Chains(near.chain_counts, costs, True, near.walk_ns, waiting_ns)


@dataclass(frozen=True)
class _BandwidthCosts:
    """Bandwidth times of a line, ns, as (random, sequential), and their sequential figures."""

    read_ns: tuple[float, float]
    write_ns: tuple[float, float]
    figures: tuple[BandwidthFigure, BandwidthFigure]
    error: float
    uncached_ns: float | None


def _bandwidth_costs(device: DeviceProfile, curve: _Chains) -> _BandwidthCosts:
    figure, patterns = device_figures.line_bandwidth, device_figures.PATTERNS
    (random, sequential), (write_random, write_sequential) = (
        [figure(device, operation, pattern) for pattern in patterns] for operation in OPERATIONS
    )
    sequential_ns = LINE_BYTES / sequential.value_gb_per_s
    random_ns = LINE_BYTES / random.value_gb_per_s
    write_random_ns = device_figures.write_back_ns(write_random, random_ns)
    write_ns = device_figures.write_back_ns(write_sequential, sequential_ns)
    exceeded = 1.0
    if device.measured is not None:
        # A few cores may not reach the memory's bandwidth. Chains show the bandwidth of random
        # reads. For one core, ordinary stores show the bandwidth of several streams: each store
        # moves two lines.
        store = curves.bandwidth(device, "write")
        if store.operation == "write" and device_figures.is_of_one_core(device):
            store_ns = LINE_BYTES / store.value_gb_per_s
            exceeded = max(sequential_ns / (store_ns / 2), 1.0)
            sequential_ns /= exceeded
            write_ns = min(write_ns, max(store_ns - sequential_ns, sequential_ns))
        cores_ns = float(curve.costs[-1]) / max(1, len(device.measured.cpus))
        random_ns = max(sequential_ns, min(random_ns, cores_ns))
        stored_ns = device_figures.random_store_ns(device)
        if stored_ns is not None:
            # A store that bypasses the caches waits for more than its line's write-back.
            least_ns = device_figures.MIN_WRITE_BACK_SHARE * stored_ns
            write_random_ns = min(write_random_ns, max(stored_ns - random_ns, least_ns))
    error = max(map(device_figures.bandwidth_error, (sequential, write_sequential)))
    evicted_ns = device_figures.evicted_line_ns(device, sequential_ns)
    return _BandwidthCosts(
        (random_ns, sequential_ns),
        (write_random_ns, max(evicted_ns or 0.0, write_ns)),
        (sequential, write_sequential),
        max(error, (exceeded - 1.0) / 2),
        write_ns if evicted_ns else None,
    )


def _memory_costs(
    device: DeviceProfile,
    curve: _Chains,
    stream: CoreStream,
    page_bytes: int | None,
    caveats: list[str],
) -> MemoryCosts:
    """Return what a memory's lines cost; add the caveats of its figures to `caveats`."""
    latency = curves.idle_read_latency_ns(device)
    bandwidth = _bandwidth_costs(device, curve)
    copied_ns, copied_ends_ns = device_figures.copied_line_ns(device, page_bytes)
    if device.unverified:
        caveats.append(
            f"{device.name} {NOT_VERIFIED} ({device.unverified}): do not quote this prediction"
        )
    for figure in (latency, *bandwidth.figures):
        if figure.how == "assumed":
            caveats.append(f"{device.name}: a figure is assumed ({figure.note})")
    write_range = writes_span(device)
    if write_range[1] > 1.0:
        caveats.append(
            f"{device.name} has no bandwidth of writes: the interval spans writes as fast as reads "
            f"and {write_range[1]:g} times slower"
        )
    return MemoryCosts(
        device=device,
        page_bytes=page_bytes,
        latency_ns=float(curve.costs[0]),
        chain_counts=curve.counts,
        chain_costs_ns=curve.costs,
        chains_measured=not curve.derived,
        waiting_ns=curve.waiting_ns,
        core_stream_ns=stream.line_ns,
        page_ends_ns=stream.ends_ns,
        stream_range=stream.span,
        write_range=write_range,
        crowded_reads=crowding(device, OPERATIONS[0]),
        crowded_writes=crowding(device, OPERATIONS[1]),
        shared_streams=sharing(device),
        copied_ns=copied_ns,
        copied_ends_ns=copied_ends_ns,
        of_one_core=device_figures.is_of_one_core(device),
        read_ns=bandwidth.read_ns,
        write_ns=bandwidth.write_ns,
        uncached_ns=bandwidth.uncached_ns,
        hit_ns=device_figures.hit_ns(device) or ASSUMED_HIT_NS,
        latency_error=device_figures.latency_error(latency) + DERIVED_CHAINS_ERROR * curve.derived,
        bandwidth_error=bandwidth.error,
        quality=quality_of(device),
        walk_ns=curve.walk_ns,
        in_order_ns=device_figures.in_order_ns(device),
        caveats=tuple(caveats),
    )


def _with_walks(memory: MemoryCosts, figures: list[ChainsFigure]) -> MemoryCosts:
    """Return the memory with the costs of its page walks, by its measured chains curve."""
    unwalked_ns = device_figures.unwalked_costs(memory.device, figures, memory.chain_costs_ns)
    if unwalked_ns is None:
        return memory
    region_walks = device_figures.region_walks(memory.device, figures[0].page_bytes)
    return replace(memory, unwalked_costs_ns=unwalked_ns, region_walks=region_walks)


def _with_program(memory: MemoryCosts, near: MemoryCosts, program: ProgramReads) -> MemoryCosts:
    """Return the memory with the program's page walks relative to those of the measured chase."""
    if memory.unwalked_costs_ns is None:
        return memory
    regions = memory.region_walks
    relative = 1.0 if regions is None else regions.relative(program.size_bytes)
    reads = [
        (1.0, program.far_ns, program.near_ns),
        (float(MAX_CHAINS), program.far_independent_ns, program.near_independent_ns),
    ]
    ratios = {}
    for chains, far_ns, near_ns in reads:
        if far_ns is not None:
            near_curve_ns = near.cost_ns(chains)
            cached = 1.0 if near_ns is None else near_ns / near_curve_ns
            ratios[chains] = _own_walks(memory, chains, relative, far_ns, cached)
    if not ratios:
        return memory
    own = np.interp(np.log2(memory.chain_counts), np.log2(list(ratios)), list(ratios.values()))
    return replace(memory, own_walks=own)


def _own_walks(
    memory: MemoryCosts, chains: float, relative: float, far_ns: float, cached: float
) -> float:
    """Return the time of the program's page walks over that of the measured chase's.

    `chains` misses are in flight. Over as much data as the program has, the chase's walks are
    `relative` times as long. Without walks, reads of the program's data take `cached` times as long
    as the chase's.
    """
    assert memory.unwalked_costs_ns is not None
    at = np.log2(memory.chain_counts)
    unwalked_ns = float(np.interp(log2(chains), at, memory.unwalked_costs_ns))
    walked_ns = float(np.interp(log2(chains), at, memory.chain_costs_ns))
    walked_ns = unwalked_ns + relative * (walked_ns - unwalked_ns)
    if walked_ns < (1.0 + MIN_WALK_SHARE) * unwalked_ns:
        return 1.0
    share = (far_ns - unwalked_ns * cached) / (walked_ns - unwalked_ns)
    return min(max(share, 1.0 / MAX_WALK_RATIO), MAX_WALK_RATIO)


def _with_host(
    memory: MemoryCosts, near: MemoryCosts, here: LatencyHere, latency: LatencyFigure
) -> MemoryCosts:
    """Return the memory with the range that the host rules give for its latency."""
    walk_ns = memory.walk_ns
    points = [
        (ns + walk_ns) / (here.latency_ns + walk_ns) for ns in (here.latency_ns, *here.others_ns)
    ]
    near_share = 1.0 if here.latency_from == "ratio" else 0.0
    if here.latency_from == "added":
        near_share = min(1.0, near.latency_ns / memory.latency_ns)
    return replace(
        memory,
        latency_range=(min(points), max(points)),
        load_share=latency.value_ns / here.latency_ns if here.latency_from == "added" else 1.0,
        near_share=near_share,
        latency_from=here.latency_from,
    )
