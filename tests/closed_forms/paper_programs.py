"""Programs whose near and far time follow from a memory's figures on paper.

Each program is a phase of one profile, so that one prediction judges them all. `near_ns` is the
time that the near memory's figures give; `far_ns` returns the span that the far memory's allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import samples
from paper_memory import LINE_BYTES, MOST, PaperMemory, Span

from nearfar.base.estimate import Estimate
from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import (
    AccessClasses,
    CountCheck,
    Instruction,
    InstructionTraffic,
    MemoryObject,
    ObjectTraffic,
    Phase,
    Traffic,
)

LOAD_STEPS = 40
"""Steps to the bandwidth at which near latency and time agree: each halves the distance."""

MIN_OBJECT_BYTES = 1 << 30
"""Smallest size of an object: the first lines of a stream, which no prefetcher brings, are few."""

MAX_BUS_SHARE = 0.5
"""Share of near time that the lines' bandwidth may take before near time may be the bus's."""

Hiding = Literal["all", "bus", "nothing"]
"""all: stores and the bus hide behind waiting, and a bus carries both directions at once; bus: it
carries one line at a time; nothing: every part waits for the one before."""


KINDS = ("chase", "gather", "stream", "scatter", "fill", "written")
"""Fields of `Data`."""

LEFT_OUT = "main in paper.c its inline assembly was left out"
"""The profile's warning where the pass left loads out."""


@dataclass(frozen=True)
class Data:
    """An object of a program and its lines."""

    chase: float = 0.0
    gather: float = 0.0
    stream: float = 0.0
    scatter: float = 0.0
    """Lines fetched for stores in no order."""
    fill: float = 0.0
    """Lines fetched for stores in sequence."""
    written: float = 0.0
    """Lines written back."""

    @property
    def fetched(self) -> float:
        return self.chase + self.gather + self.stream + self.scatter + self.fill

    def times(self, factor: float) -> Data:
        return Data(**{name: factor * getattr(self, name) for name in KINDS})


@dataclass(frozen=True)
class Program:
    """One program on paper."""

    name: str
    data: tuple[Data, ...]
    chains: int = 1
    """Chases at once; a gather has as many misses in flight as the core overlaps."""
    compute_ns: float = 0.0
    """Arithmetic on the path between misses."""
    threads: int = 1
    hits: float = 0.0
    """Accesses that the first-level cache answers."""
    seen: float = 1.0
    """Share of its lines that the compiler pass saw: loads in inline assembly are left out."""
    checked: bool = False
    """Whether QEMU counted the lines that the pass left out, all of unknown access class."""
    total: Data = field(init=False)

    def __post_init__(self) -> None:
        sums = {name: sum(getattr(part, name) for part in self.data) for name in KINDS}
        object.__setattr__(self, "total", Data(**sums))

    @property
    def lines(self) -> float:
        return self.total.fetched + self.total.written

    def near_ns(self, near: PaperMemory, hiding: Hiding) -> float:
        """Return CPU time near, with as much hidden as `hiding` says; arithmetic comes on top."""
        core, bus, stores_ns = self._core_ns(near), self._bus_ns(near), self._stores_ns(near)
        written_ns = self._written_ns(near).high

        def time_ns(loaded: float) -> float:
            core_ns = self._core_ns(near, loaded).high
            if hiding == "all":
                return self.compute_ns + max(core_ns, stores_ns.low, written_ns, bus.low)
            if hiding == "bus":
                return self.compute_ns + max(core_ns + stores_ns.low, bus.high)
            return self.compute_ns + max(core_ns + stores_ns.high + written_ns, bus.high)

        near_ns = time_ns(1.0)
        loading = self.threads - near.own_load
        for _ in range(LOAD_STEPS if loading and core.high > 0.0 else 0):
            gb_per_s = loading * self.lines * LINE_BYTES / near_ns
            share = self.total.fetched / self.lines
            near_ns = (near_ns + time_ns(near.loaded(gb_per_s, share))) / 2.0
        return near_ns

    def far_ns(self, far: PaperMemory, near: PaperMemory, near_ns: float) -> Span:
        """Return the least and the greatest CPU time far: all hidden, or nothing hidden.

        Where near time may be the bus's, it does not tell how many misses were in flight: then no
        part of it grows by more than the figure that differs most.
        """
        core, bus, stores = self._core_ns(far), self._bus_ns(far), self._stores_ns(far)
        # The curve of a memory without chains also holds for one core that draws much.
        loaded = far.greatest_load
        high = self.compute_ns + (core.high + stores.high) * loaded + bus.high
        # What near time shows besides waiting may be arithmetic, and stays.
        high += max(near_ns - self.compute_ns - self._core_ns(near).low, 0.0)
        least = self
        if self.bus_share(near, near_ns) > MAX_BUS_SHARE:
            high = max(high, near_ns * far.greatest_ratio(near) * loaded)
            if self.seen < 1.0:
                # QEMU does not see how addresses are computed: they may overlap as a gather's.
                least = replace(self, chains=MOST)
        waiting_ns = least._least_waiting_ns(far, near, near_ns)
        return Span(max(self.compute_ns, waiting_ns, bus.low), high)

    def waits_most(self, far: PaperMemory) -> bool:
        """Return whether waiting for loads sets its least far time, not bandwidth."""
        streams_ns = far.shared_stream_ns.low * self.total.stream
        return self._core_ns(far).low - streams_ns >= max(streams_ns, self._bus_ns(far).low)

    def bus_share(self, near: PaperMemory, near_ns: float) -> float:
        """Return how much of near time the lines' bandwidth takes at most."""
        return self._bus_ns(near).high / near_ns

    def with_more(self, data: Data) -> Program:
        """Return a program that also moves these lines."""
        return replace(self, data=(*self.data, data))

    @property
    def overlaps(self) -> bool:
        """Whether it has lines whose overlap near time is to tell: all but those of streams."""
        return self.waits or self.total.scatter + self.total.fill > 0.0

    @property
    def waits(self) -> bool:
        """Whether it has misses outside of streams."""
        return self.total.chase + self.total.gather > 0.0

    def _core_ns(self, memory: PaperMemory, loaded: float = 1.0) -> Span:
        """Return the waiting of loads and streams; `loaded` is loaded over idle latency."""
        loads = memory.chain_ns(self.chains).times(self.total.chase)
        loads = loads.plus(memory.chain_ns(MOST).times(self.total.gather)).times(loaded)
        return loads.plus(memory.shared_stream_ns.times(self.total.stream))

    def _least_waiting_ns(self, far: PaperMemory, near: PaperMemory, near_ns: float) -> float:
        """Return the least time far of waiting for loads and streams.

        Where near time is less than these and the lines for stores take one after another, some of
        it is hidden, and near time does not tell which: at most, of what grows most. So a join that
        fills while it gathers may have hidden as much of its gather. Streams are read no faster.
        """
        parts_ns = self._core_ns(near).low + self._stores_ns(near).low
        hidden_ns = max(parts_ns - (near_ns - self.compute_ns), 0.0)
        ratios = [1.0]
        if self.total.stream + self.total.fill > 0.0:
            ratios.append(far.shared_stream_ns.low / near.shared_stream_ns.low)
        if self.waits or self.total.scatter > 0.0:
            ratios.append(far.latency_ns.low / near.latency_ns.low)
        core_ns, streams_ns = self._core_ns(far).low, far.shared_stream_ns.low * self.total.stream
        least_ns = core_ns + self._stores_ns(far).low - hidden_ns * max(ratios)
        return max(streams_ns, min(core_ns, least_ns))

    def _stores_ns(self, memory: PaperMemory) -> Span:
        """Return the time to fetch lines for stores, where the core waits for them."""
        fill, scatter = memory.shared_stream_ns.times(self.total.fill), memory.chain_ns(MOST)
        return fill.plus(scatter.times(self.total.scatter))

    def _bus_ns(self, memory: PaperMemory) -> Span:
        """Return the time of the lines at full bandwidth, threads waiting for one another."""
        total, threads = self.total, float(self.threads)
        in_order, random = total.stream + total.fill, total.chase + total.gather + total.scatter
        reads = memory.read_ns.times(in_order).plus(memory.random_read_ns.times(random))
        reads, writes = reads.times(threads), self._written_ns(memory)
        # Links with a channel for each direction carry both at once.
        return Span(max(reads.low, writes.low), reads.high + writes.high)

    def _written_ns(self, memory: PaperMemory) -> Span:
        total = self.total
        in_order = total.stream + total.fill > total.chase + total.gather + total.scatter
        write_ns = memory.write_ns if in_order else memory.random_write_ns
        return write_ns.times(total.written * self.threads)


def programs(lines: float, threads: int) -> list[Program]:
    """Return the programs at one size, `lines` per array."""
    n = float(lines)

    def made(name: str, *data: Data, **options: float) -> Program:
        return Program(f"{name} n={n:.0f} t={threads}", data, threads=threads, **options)  # type: ignore[arg-type]

    return [
        made("chase", Data(chase=n)),
        made("chase with arithmetic", Data(chase=n), compute_ns=60.0 * n),
        made("chase over dirty lines", Data(chase=n, written=n)),
        *(made(f"{k} chains", Data(chase=n), chains=k) for k in (2, 4, 8)),
        made("gather", Data(gather=n)),
        made("gather with index", Data(stream=n / 8), Data(gather=n)),
        made("update", Data(gather=n, written=n)),
        made("scatter", Data(stream=n / 8), Data(scatter=n, written=n)),
        made("sum", Data(stream=n)),
        made("sum of two", Data(stream=2 * n)),
        made("dot", Data(stream=n), Data(stream=n)),
        made("fill", Data(fill=n, written=n)),
        made("copy", Data(stream=n), Data(fill=n, written=n)),
        made("triad", Data(stream=n), Data(stream=n), Data(fill=n, written=n)),
        made("scale in place", Data(stream=n, written=n)),
        made("stencil", Data(stream=3 * n), Data(fill=n, written=n)),
        made("transpose", Data(stream=n), Data(scatter=n, written=n)),
        made("join", Data(stream=n / 4), Data(gather=n), Data(fill=n / 8, written=n / 8)),
        made("compute", Data(), compute_ns=10.0 * n, hits=n),
        made("in L1", Data(), compute_ns=1.5 * n, hits=4 * n),
        made("in LLC", Data(), compute_ns=15.0 * n, hits=n),
        made("few misses", Data(chase=n / 100), compute_ns=30.0 * n, hits=n),
    ]


def in_assembly(lines: float, threads: int) -> list[Program]:
    """Return programs whose lines are moved by inline assembly: left out of the profile.

    The pass saw nothing of them or one line in fifty; QEMU counted them, or nothing did.
    """
    n = float(lines)
    kinds: list[tuple[str, tuple[Data, ...], dict[str, float]]] = [
        ("chase", (Data(chase=n),), {}),
        ("chase with arithmetic", (Data(chase=n),), {"compute_ns": 60.0 * n}),
        ("4 chains", (Data(chase=n),), {"chains": 4}),
        ("gather", (Data(gather=n),), {}),
        ("update", (Data(gather=n, written=n),), {}),
        ("sum", (Data(stream=n),), {}),
        ("copy", (Data(stream=n), Data(fill=n, written=n)), {}),
    ]
    return [
        Program(
            f"{name} in assembly, {how}, {seen:.0%} seen n={n:.0f} t={threads}",
            data,
            threads=threads,
            seen=seen,
            checked=checked,
            **options,  # type: ignore[arg-type]
        )
        for name, data, options in kinds
        for seen in (0.0, 0.02)
        for how, checked in (("counted", True), ("not counted", False))
    ]


INCLUDED = (
    ("sum", "sum of two"),
    ("sum", "dot"),
    ("sum", "copy"),
    ("sum", "scale in place"),
    ("dot", "triad"),
    ("fill", "copy"),
    ("copy", "triad"),
    ("chase", "chase over dirty lines"),
    ("chase", "chase with arithmetic"),
    ("copy", "stencil"),
    ("sum", "transpose"),
    ("gather", "update"),
    ("gather", "gather with index"),
    ("sum of two", "copy"),
    ("gather", "4 chains"),
    ("4 chains", "2 chains"),
    ("2 chains", "chase"),
)
"""Programs and others that do all of it and more, by name."""


def profile_of(made: Sequence[tuple[Program, float]]) -> WorkloadProfile:
    """Return the profile of programs and their near times, one phase each."""
    profile = samples.workload(objects=0, phases=("-",))
    profile.objects, profile.instructions, profile.phases, profile.live = [], [], [], []
    count = max(len(program.data) for program, _ in made)
    size = max(int(data.fetched) * 64 for program, _ in made for data in program.data)
    profile.objects = [_object(number, max(size, MIN_OBJECT_BYTES)) for number in range(count)]
    for program, near_ns in made:
        profile.phases.append(_phase(profile, program, near_ns))
        if program.checked:
            profile.checks.append(_check(program))
    if any(program.seen < 1.0 for program, _ in made):
        profile.warnings.append(LEFT_OUT)
    profile.program.threads_seen = max(program.threads for program, _ in made)
    return profile


def _object(number: int, size_bytes: int) -> MemoryObject:
    return MemoryObject(
        id=number,
        name=f"array {number}",
        kind="heap",
        frames=[],
        allocations=1,
        allocated_bytes=size_bytes,
        peak_live_bytes=size_bytes,
        live_bytes_at_peak=size_bytes,
        size_bytes=size_bytes,
    )


def _check(program: Program) -> CountCheck:
    """Return what QEMU counts: every line, of no known class."""
    rows = [
        ObjectTraffic(
            object=number,
            traffic=Traffic(
                accesses=data.fetched,
                read_misses=AccessClasses(opaque=data.chase + data.gather + data.stream),
                read_sequential=AccessClasses(opaque=data.stream),
                write_misses=AccessClasses(opaque=data.scatter + data.fill),
                write_sequential=AccessClasses(opaque=data.fill),
                write_backs=data.written,
            ),
        )
        for number, data in enumerate(program.data)
    ]
    return CountCheck(
        phase=program.name, source="qemu", complete=True, relative_error=0.01, objects=rows
    )


def _phase(profile: WorkloadProfile, program: Program, near_ns: float) -> Phase:
    rows, streams = [], []
    for number, whole in enumerate(program.data):
        data = whole.times(program.seen)
        rows.append(
            ObjectTraffic(
                object=number,
                traffic=Traffic(
                    accesses=data.fetched + program.hits / len(program.data),
                    read_misses=AccessClasses(
                        chase=data.chase, indirect=data.gather, stream=data.stream
                    ),
                    write_misses=AccessClasses(indirect=data.scatter, stream=data.fill),
                    write_backs=data.written,
                ),
            )
        )
        if data.stream or data.fill:
            streams.append(
                InstructionTraffic(
                    instruction=len(profile.instructions),
                    object=number,
                    misses=data.stream + data.fill,
                )
            )
            profile.instructions.append(
                Instruction(
                    function=program.name,
                    file="paper.c",
                    line=number + 1,
                    column=1,
                    operation="load" if data.stream else "store",
                    access_class="stream",
                    bytes=8,
                )
            )
    return Phase(
        name=program.name,
        near_cpu_time_ns=Estimate(near_ns, near_ns, near_ns),
        near_repetitions=5,
        near_wall_time_ns=near_ns / program.threads,
        objects=rows,
        instructions=streams,
    )
