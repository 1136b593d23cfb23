"""One measurement of one memory, from spec to DeviceProfile."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes
from nearfar.documents import DeviceProfile, producer
from nearfar.documents.device import MeasuredContext, Source
from nearfar.documents.header import cpu_model
from nearfar.measure import environment, figures, room, topology
from nearfar.measure.capacity import effective_llc_bytes
from nearfar.measure.obtain import file_system_bytes, huge_share, is_direct, source_of
from nearfar.measure.points import points, region_sizes
from nearfar.measure.rounds import Limits, run_rounds
from nearfar.measure.sampler import Sampler
from nearfar.measure.spec import PAGE_BYTES, MemorySpec, Pages
from nearfar.measure.topology import Topology

if TYPE_CHECKING:
    from nearfar._measure import Memory

QUICK_S = 55.0
FULL_S = 290.0
"""Until the last round; statistics and writing come after, within the minute and the five."""

HUGE_ENOUGH = 0.9
"""Share of 2 MiB pages from which a region counts as one of huge pages: the rest adds less than a
tenth of the difference between the page sizes."""

Progress = Callable[[str, float], None]
"""Told what is going on and which share of the work is done, 0 to 1."""


@dataclass(frozen=True)
class Settings:
    """What to measure and for how long."""

    spec: MemorySpec
    quick: bool = False
    seconds: float | None = None
    """From start to the last round; None: `QUICK_S` or `FULL_S`."""
    repetitions: int | None = None
    threads: int | None = None
    """At most so many threads; None: every core of the node."""
    largest_bytes: int = 0
    """Largest region; 0: by the caches."""
    spin: bool = True
    name: str = ""
    title: str = ""


@dataclass
class Prepared:
    """What a measurement runs on."""

    sampler: Sampler
    page_sizes: list[int]
    """Obtained, largest first."""
    room: room.Room
    topology: Topology
    direct: bool
    """A file that is mapped without a page cache."""
    warnings: list[str]


def native() -> None:
    """Refuse with one sentence where the native module was not built."""
    try:
        importlib.import_module("nearfar._measure")
    except ImportError as error:
        raise NearfarError(
            f"the native module of `nearfar measure` cannot be loaded ({error}): run `make setup`",
            ExitCode.MACHINE_LACKS,
        ) from error


def _no_progress(_what: str, _share: float) -> None:
    pass


def measure(settings: Settings, progress: Progress = _no_progress) -> DeviceProfile:
    """Measure the memory of `settings`; takes its time, and stops within 1 s of Ctrl-C."""
    native()
    from nearfar import _measure

    start = time.monotonic()
    ready = prepare(settings, progress)
    sampler, cpus = ready.sampler, ready.sampler.cpus
    busy = sampler.load != "none"
    if len(cpus) == 1:
        ready.warnings.append("latency under load was not measured: it takes a second CPU")
    elif busy:
        ready.warnings.append(
            "latency under load was not measured: load= already contends on one core"
        )
    plan = points(
        quick=settings.quick,
        page_sizes=ready.page_sizes,
        largest_bytes=ready.room.largest_bytes,
        buffer_bytes=ready.room.buffer_bytes,
        threads=len(cpus) - busy,
        has_nt_store=_measure.has_nt_store(),
        loaded=len(cpus) > 1 and not busy,
    )
    if not _measure.has_nt_store():
        ready.warnings.append("nt-store was not measured: this processor has no such stores")
    before = environment.snapshot()
    seconds = settings.seconds or (QUICK_S if settings.quick else FULL_S)
    samples = run_rounds(
        plan,
        sampler.sample,
        Limits(start + seconds, settings.repetitions),
        lambda share, rounds: progress(f"measuring {len(plan)} points, round {rounds}", share),
    )
    recorded, disturbances = environment.describe(before, environment.snapshot())
    progress("computing intervals", 1.0)
    shares = {kernel.name: kernel.read_share for kernel in _measure.kernels()}
    overhead_ns, resolution_ns = _measure.timer()
    floors = {
        f"noise_floor_{kind}": f"{figures.noise_floor(samples, kind):.4f}"
        for kind in sorted({point.figure for point in plan})
    }
    facts = {
        **floors,
        **environment.fixed_facts(cpus[0]),
        **recorded,
        "vector_extension": _measure.vector_extension(),
        "timer_overhead_ns": f"{overhead_ns:.0f}",
        "largest_region": format_bytes(ready.room.largest_bytes),
        "bandwidth_buffer": format_bytes(ready.room.buffer_bytes),
        "idle_core_kept_awake": "yes" if settings.spin and len(cpus) > 1 and not busy else "no",
    }
    return DeviceProfile(
        producer=producer(),
        name=settings.name or settings.spec.slug(),
        title=settings.title or f"{settings.spec} of {cpu_model()}, measured",
        technology=_technology(settings.spec, ready),
        capacity_bytes=_capacity_bytes(settings.spec, ready.topology),
        durable=ready.direct,
        persists_through="store + clwb or clflushopt + sfence (MAP_SYNC)" if ready.direct else "",
        sources={figures.SOURCE: Source(citation="measured by nearfar measure on this machine")},
        latency=figures.latency_figures(samples),
        bandwidth=figures.bandwidth_figures(samples),
        chains=figures.chains_figures(samples),
        loaded_latency=figures.loaded_curves(samples, shares.__getitem__, len(cpus) - 1),
        measured=MeasuredContext(
            memory_spec=str(settings.spec),
            repetitions=min(len(values) for values in samples.values()),
            seconds=round(time.monotonic() - start, 1),
            noise_floor=figures.noise_floor(samples),
            timer_resolution_ns=resolution_ns,
            cpus=list(cpus),
            llc_bytes=ready.topology.llc_bytes,
            effective_llc_bytes=effective_llc_bytes(
                figures.random_latency_ns(samples),
                ready.topology.inner_bytes,
                ready.topology.llc_bytes,
            ),
            environment=facts,
            warnings=[
                *ready.warnings,
                *disturbances,
                *figures.doubts(samples, ready.topology.llc_bytes),
            ],
        ),
    )


def prepare(settings: Settings, progress: Progress = _no_progress) -> Prepared:
    """Find CPUs and sizes, and map, place and link all memory."""
    spec = settings.spec
    machine = topology.detect()
    source = source_of(spec, machine)
    cpus = machine.cpus[: settings.threads]
    if spec.load != "none" and len(cpus) < 2:
        raise NearfarError(
            f"load={spec.load} needs a second CPU for the contending core, and there is one",
            ExitCode.MACHINE_LACKS,
        )
    warnings: list[str] = []
    direct = spec.kind == "file" and is_direct(spec)
    if spec.kind == "file" and not direct:
        warnings.append(
            f"{spec.path} is not on a DAX file system: what was measured is its page cache, "
            "which is DRAM"
        )
    kinds: list[Pages] = ["4k"] if spec.kind == "file" else ["thp", "4k"]
    if spec.pages is not None:
        kinds = [spec.pages]
    contended = spec.load != "none"
    sizes = room.plan_room(
        machine,
        _usable_bytes(spec),
        settings.largest_bytes,
        page_kinds=len(kinds),
        buffers=2 if contended else 1,
    )
    if sizes.largest_bytes < 4 * machine.llc_bytes:
        warnings.append(
            f"the largest region is {format_bytes(sizes.largest_bytes)}, less than 4 times the "
            f"last-level cache ({format_bytes(machine.llc_bytes)}): latencies include cache hits"
        )
    if not machine.llc_known:
        warnings.append(f"sysfs describes no caches: {format_bytes(machine.llc_bytes)} was assumed")
    progress("preparing memory", 0.0)
    regions: dict[tuple[int, int], Memory] = {}
    obtained: list[tuple[int, Pages]] = []
    for pages in kinds:
        made = {
            size: source(size, pages)
            for size in reversed(region_sizes(sizes.largest_bytes, 4 if settings.quick else 2))
        }
        share = huge_share(made[sizes.largest_bytes])
        page_bytes = PAGE_BYTES[pages]
        if direct and share >= HUGE_ENOUGH:
            page_bytes = PAGE_BYTES["thp"]  # a DAX file system maps 2 MiB where it can
        if pages == "thp" and share < HUGE_ENOUGH and sizes.largest_bytes >= PAGE_BYTES["thp"]:
            warnings.append(
                f"huge pages were not obtained ({share:.0%} of the largest region): "
                "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, or free memory"
            )
            if len(kinds) > 1:
                continue  # the other kind says what there is to say
            page_bytes = PAGE_BYTES["4k"]
        for size, memory in made.items():
            memory.link()
            regions[page_bytes, size] = memory
        obtained.append((page_bytes, pages))
    sampler = Sampler(
        regions=regions,
        buffer=source(sizes.buffer_bytes, obtained[0][1]),
        cpus=cpus,
        llc_bytes=machine.llc_bytes,
        load=spec.load,
        # Of its own: lines that two cores both use would come from caches.
        load_buffer=source(sizes.buffer_bytes, obtained[0][1]) if contended else None,
        spin=settings.spin,
    )
    page_sizes = [page_bytes for page_bytes, _ in obtained]
    return Prepared(sampler, page_sizes, sizes, machine, direct, warnings)


def _usable_bytes(spec: MemorySpec) -> int:
    usable = room.available_bytes()
    if spec.kind == "node" and spec.node is not None:
        total, free = topology.node_memory_bytes(spec.node)
        if total == 0:
            raise NearfarError(f"node {spec.node} has no memory", ExitCode.MACHINE_LACKS)
        usable = min(usable, free) if topology.node_cpus(spec.node) else free
    if spec.kind == "file" and spec.path is not None:
        usable = min(usable, file_system_bytes(spec.path)[1])
    return int(usable * room.SHARE)


def _capacity_bytes(spec: MemorySpec, machine: Topology) -> int | None:
    if spec.kind == "file" and spec.path is not None:
        return file_system_bytes(spec.path)[0]
    node = spec.node if spec.node is not None else machine.node
    return topology.node_memory_bytes(node)[0] or None if node is not None else None


Technology = Literal["dram", "remote-dram", "cxl", "pmem", "file"]


def _technology(spec: MemorySpec, ready: Prepared) -> Technology:
    if spec.kind == "file":
        return "pmem" if ready.direct else "file"
    if spec.node is None or spec.node == ready.topology.node:
        return "dram"
    if topology.node_cpus(spec.node):
        return "remote-dram"
    return topology.node_technology(spec.node)
