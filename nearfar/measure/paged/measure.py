"""One measurement of a paged memory, from spec to DeviceProfile."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from nearfar.base.estimate import Estimate
from nearfar.base.statistics import median_estimate
from nearfar.base.units import PAGE_BYTES, format_bytes
from nearfar.documents import DeviceProfile, producer
from nearfar.documents.device import FaultFigure, MeasuredContext, PagedMemory, Source
from nearfar.machine.sysfs import Tree
from nearfar.measure import environment
from nearfar.measure.native import _measure, require_native
from nearfar.measure.paged.sampler import PageData, PagePoint, PageSampler, PageSamples, worker_in
from nearfar.measure.settings import Progress, no_progress
from nearfar.memories.paged import set_up
from nearfar.memories.paged.group import find_group_parent, make_group
from nearfar.memories.paged.ledger import open_ledger
from nearfar.memories.paged.set_up import Swap
from nearfar.memories.spec import MemorySpec, parse_spec
from nearfar.options.measure import MeasureOptions

REGION_BYTES = 64 << 20
"""Pages enough for the thousandth slowest, and 0.2 s a sweep in compressed memory."""
FULL_S, QUICK_S = 60.0, 15.0
MIN_ROUNDS = 4
"""At least two in each half."""
COMPRESSED: dict[PageData, float] = {"records": 0.40, "noise": 1.0, "words": 0.54}
"""Compressed share of the data with lzo-rle (docs/paged.md), used if the memory does not report it,
such as zswap."""
MIDDLE: PageData = "records"
"""Page content of all points that vary another setting."""
KEPT_SHARES = (0.5, 0.75, 0.9)
"""Near shares of a region that is touched at random: they give 0.5, 1.5 and 4.5 retouches per
fault."""
EXCHANGE_ROUNDS = 2
"""Rounds of `exchange_ns`."""
SOURCE = "here"
_ROOM = 4
"""Ratio of swap to the region: slots of pages that came back may still be occupied."""
_OWN_BYTES = 128 << 20
"""Room for the worker's own pages, which go to swap too: Python and numpy."""


@dataclass(frozen=True)
class Request:
    """Needs of a measurement of a paged memory."""

    spec: MemorySpec
    region_bytes: int
    seconds: float
    repetitions: int | None
    cpus: list[int]

    @property
    def swap_bytes(self) -> int:
        """Size of the swap that is made."""
        return _ROOM * self.region_bytes + _OWN_BYTES


def request_of(options: MeasureOptions) -> Request:
    """Return what `options` ask for."""
    cpus = sorted(os.sched_getaffinity(0))
    return Request(
        spec=parse_spec(options.memory, paged=True),
        region_bytes=(options.largest_bytes or REGION_BYTES) // PAGE_BYTES * PAGE_BYTES,
        seconds=options.seconds or (QUICK_S if options.quick else FULL_S),
        repetitions=options.repetitions,
        cpus=cpus[: options.threads or 2],
    )


def dry_run(options: MeasureOptions) -> list[str]:
    """Return what a measurement would do to this machine, as commands; refuse what it cannot."""
    request = request_of(options)
    set_up.check(request.spec, request.swap_bytes)
    place = find_group_parent()
    group = place.parent / "nearfar-PID-0"
    return [
        *set_up.command_lines(request.spec, request.swap_bytes),
        f"mkdir {group}  # for a process with {format_bytes(request.region_bytes)}",
        f"rmdir {group}  # at the end",
    ]


def points_of(spec: MemorySpec, threads: int) -> list[PagePoint]:
    """Return the points to sample: all accesses of the middle content, reads of the others."""
    compresses = spec.kind in ("zram", "zswap")
    middle: PageData = MIDDLE if compresses else "noise"
    points = [PagePoint(data) for data in (COMPRESSED if compresses else (middle,))]
    points += [
        PagePoint(middle, operation="write"),
        PagePoint(middle, in_order=True),
        PagePoint(middle, huge=True),
        PagePoint(middle, at_limit=True),
        PagePoint(middle, in_order=True, at_limit=True),
        PagePoint(middle, operation="write", at_limit=True),
        *(PagePoint(middle, at_limit=True, again=True, kept_share=share) for share in KEPT_SHARES),
    ]
    if threads > 1:
        points += [
            PagePoint(middle, threads=threads),
            PagePoint(middle, operation="write", at_limit=True, threads=threads),
        ]
    return sorted(points, key=lambda point: (point.data, point.huge))


def measure_paged(options: MeasureOptions, progress: Progress = no_progress) -> DeviceProfile:
    """Set the memory up, measure it and take it down."""
    require_native()
    request = request_of(options)
    set_up.check(request.spec, request.swap_bytes)
    place = find_group_parent()
    points = points_of(request.spec, len(request.cpus))
    samples = {point: PageSamples() for point in points}
    before, begun = environment.snapshot(), time.monotonic()
    with open_ledger() as ledger:
        swap = set_up.set_up(ledger, request.spec, request.swap_bytes)
        group = make_group(ledger, place)
        zram = swap.path.replace("/dev/", "/sys/block/") if request.spec.kind == "zram" else ""
        with worker_in(group) as worker:
            sampler = PageSampler(worker, group, request.region_bytes, request.cpus, zram)
            rounds = _sample_rounds(sampler, samples, request, progress)
    context = _context(request, samples, rounds=rounds, seconds=time.monotonic() - begun)
    recorded, warnings = environment.describe(before, environment.snapshot())
    context.environment.update(recorded)
    # The worker's pages come back from swap, which is what was measured.
    context.warnings.extend(text for text in warnings if "read back from swap" not in text)
    return _profile(options, request, swap, samples, context)


def exchange_ns(spec: MemorySpec, region_bytes: int = REGION_BYTES) -> list[float]:
    """Return the times of an exchange, ns, one for each sweep.

    The sweeps read records at random in a region as large as that of `measure`; in one of 32 MiB
    exchanges take up to 8 % less. The memory is set up before and removed after.
    """
    point, samples = PagePoint(MIDDLE, at_limit=True), PageSamples()
    place = find_group_parent()
    with open_ledger() as ledger:
        set_up.set_up(ledger, spec, _ROOM * region_bytes + _OWN_BYTES)
        group = make_group(ledger, place)
        with worker_in(group) as worker:
            sampler = PageSampler(worker, group, region_bytes, sorted(os.sched_getaffinity(0)))
            for _ in range(EXCHANGE_ROUNDS):
                sampler.sample(point, samples)
    return samples.fault_ns


def _sample_rounds(
    sampler: PageSampler,
    samples: dict[PagePoint, PageSamples],
    request: Request,
    progress: Progress,
) -> int:
    """Sample every point once a round until the time is over; return the number of rounds."""
    begun = time.monotonic()
    rounds = 0
    while True:
        for point, into in samples.items():
            share = (time.monotonic() - begun) / request.seconds
            progress(f"measuring faults, round {rounds + 1}", min(share, 1.0))
            sampler.sample(point, into)
        rounds += 1
        spent = time.monotonic() - begun
        if request.repetitions is not None:
            if rounds >= request.repetitions:
                return rounds
        elif rounds >= MIN_ROUNDS and spent + spent / rounds > request.seconds:
            return rounds


def _profile(
    options: MeasureOptions,
    request: Request,
    swap: Swap,
    samples: dict[PagePoint, PageSamples],
    context: MeasuredContext,
) -> DeviceProfile:
    kind = request.spec.kind
    backing: Literal["zram", "zswap", "disk"] = (
        "zram" if kind == "zram" else "zswap" if kind == "zswap" else "disk"
    )
    made_by = producer()
    with_algorithm = f", {swap.algorithm}" if swap.algorithm else ""
    kernel = Tree(Path("/")).text("proc/sys/kernel/osrelease") or "an unknown kernel"
    figures: list[FaultFigure] = []
    shares = _compressed_shares(samples) if swap.algorithm else {}
    for point, taken in samples.items():
        figures += _figures(point, taken, swap.readahead_pages, shares.get(point.data))
    return DeviceProfile(
        producer=made_by,
        name=options.name or request.spec.slug(),
        title=options.title or f"{kind}{with_algorithm} on Linux {kernel}, measured",
        technology="paged",
        granularity_bytes=PAGE_BYTES,
        sources={SOURCE: Source(citation=f"measured by nearfar measure {request.spec}")},
        faults=figures,
        paged=PagedMemory(
            backing=backing,
            algorithm=swap.algorithm,
            readahead_pages=swap.readahead_pages,
            in_dram=kind in ("zram", "zswap"),
        ),
        measured=context,
    )


def _compressed_shares(samples: dict[PagePoint, PageSamples]) -> dict[PageData, float]:
    """Return the compressed share of each kind of data.

    Only points that time evictions separately have samples of it, and only with zram.
    """
    seen: dict[PageData, list[float]] = {}
    for point, taken in samples.items():
        seen.setdefault(point.data, []).extend(taken.compressed_share)
    return {
        data: round(statistics.median(values or [COMPRESSED[data]]), 3)
        for data, values in seen.items()
    }


def _figures(
    point: PagePoint, taken: PageSamples, readahead_pages: int, share: float | None
) -> list[FaultFigure]:
    """Return the figure of the fault, and that of the eviction if it was timed separately."""
    estimate = median_estimate(taken.fault_ns)
    if point.at_limit:
        # A program runs once, in one of the states of a shared machine, which last for seconds.
        low, high = spread_of(taken.fault_ns)
        estimate = Estimate(estimate.value, low, high)
    tails = [row for row in taken.tails_ns if row]
    p50, p90, p99, p99_9 = (
        (statistics.median(column) for column in zip(*tails, strict=True))
        if tails and not point.at_limit
        else (None, None, None, None)
    )
    common: dict[str, Any] = {
        "how": "measured",
        "source": SOURCE,
        "operation": point.operation,
        "compressed_share": share,
        "compression_work": taken.compression_work if share is not None else None,
        "threads": point.threads,
        "huge_pages": point.huge,
        "retouches": round(statistics.median(taken.retouches), 3) if taken.retouches else None,
    }
    figures = [
        FaultFigure(
            **common,
            event="exchange" if point.at_limit else "fault",
            pattern="sequential" if point.in_order else "random",
            readahead_pages=readahead_pages,
            value_ns=estimate.value,
            low_ns=estimate.low,
            high_ns=estimate.high,
            p50_ns=p50,
            p90_ns=p90,
            p99_ns=p99,
            p99_9_ns=p99_9,
            cpu_share=_cpu_share(taken.fault_cpu_ns, taken.fault_ns),
        )
    ]
    if taken.evict_ns and not point.in_order and point.threads == 1:
        sent = median_estimate(taken.evict_ns)
        figures.append(
            FaultFigure(
                **common,
                event="evict",
                value_ns=sent.value,
                low_ns=sent.low,
                high_ns=sent.high,
                cpu_share=_cpu_share(taken.evict_cpu_ns, taken.evict_ns),
            )
        )
    return figures


def spread_of(times_ns: Sequence[float]) -> tuple[float, float]:
    """Return the times between which nine in ten of `times_ns` lie."""
    low, high = np.percentile(times_ns, (5.0, 95.0)).tolist()
    return low, high


def _cpu_share(cpu_ns: Sequence[float], all_ns: Sequence[float]) -> float:
    return round(min(1.0, statistics.median(cpu_ns) / statistics.median(all_ns)), 3)


def _context(
    request: Request, samples: dict[PagePoint, PageSamples], *, rounds: int, seconds: float
) -> MeasuredContext:
    floor = max(_noise_floor(taken.fault_ns) for taken in samples.values())
    return MeasuredContext(
        memory_spec=str(request.spec),
        repetitions=rounds,
        seconds=round(seconds, 1),
        noise_floor=floor,
        timer_resolution_ns=_measure.access_timer()[1],
        cpus=request.cpus,
        llc_bytes=0,
        environment={
            "region_bytes": str(request.region_bytes),
            "wall_time": "without the time in which another thread had the CPU",
            **environment.fixed_facts(request.cpus[0]),
        },
        ended="time" if request.repetitions is None else "repetitions",
        noise_floors={"faults": floor},
    )


def _noise_floor(values: Sequence[float]) -> float:
    """Return the relative difference of medians, first half of the rounds against second.

    A fault costs 0 ns where the pages nearby took longer, so it is 1 if only one median is 0.
    """
    half = len(values) // 2
    if not half:
        return 0.0
    first, second = statistics.median(values[:half]), statistics.median(values[half:])
    return abs(first - second) / second if second else float(first > 0.0)
