"""An additional run under QEMU for bursts: all that a thread executes, for short stretches.

The plain build runs, so what is recorded is what runs without nearfar: the instructions that the
compiler chose, none of tracing. The same run samples lines as `--source qemu` does, which says how
often each instruction misses.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.folders import memory_folder
from nearfar.base.units import format_ns
from nearfar.documents import WorkloadProfile
from nearfar.documents.bursts import Block, Burst, BurstAccess, Bursts, Code, PhaseBursts
from nearfar.documents.workload import MemoryObject, Traffic
from nearfar.native_files import native_file
from nearfar.profile import burst_file
from nearfar.profile.burst_code import Decoded, decode
from nearfar.profile.burst_file import BurstFile, RawBurst
from nearfar.profile.burst_objects import describe
from nearfar.profile.burst_trace import make_trace
from nearfar.profile.control import PHASE_BEFORE
from nearfar.profile.launch import Job
from nearfar.profile.objects import make_objects
from nearfar.profile.program import Build
from nearfar.profile.run_file import ProcessFile, Records, read_run
from nearfar.profile.session import Request, prepare_folder
from nearfar.profile.sources.qemu import Qemu
from nearfar.profile.symbols import Place, symbolise

RATE_LOG2 = 6
"""One line in 64 is sampled, as everywhere."""

MOST_STEP = 3
"""Lines are numbered anew; numbers of lines that are not neighbours are so far apart."""

MANY_MISSES = 0.05
"""Share of a phase's loads that miss, streams left out, from which it is said if no burst has one
of an object's. Bursts are spread by instructions: a slow part of few instructions may have none."""

FEWEST_SAMPLED = 8
"""Sampled accesses of an instruction below which its miss rate is that of all such together."""

INNERMOST = 3
"""Frames of which one must be common: without lines, those that were inlined are not known."""

PART_BYTES = 8
"""QEMU makes several accesses of a wider one, and each was counted."""


class QemuWithBursts(Qemu):
    """The emulator with a second plugin, and no time beyond what is looked at."""

    def _command(self, job: Job, plain: Build) -> list[str]:
        words = super()._command(job, plain)
        at = words.index("-plugin")
        return [*words[:at], "-plugin", str(native_file("libnearfar_bursts.so")), *words[at:]]

    def _bounded(self, job: Job) -> Job:
        if job.duration_s is not None or job.driver is not None:
            return job
        return replace(job, duration_s=self._sample_s, limit=f"{self._sample_s:g} s of bursts")


def add_bursts(
    profile: WorkloadProfile, request: Request, sample_s: float, say: Callable[[str], None]
) -> None:
    """Record bursts and put them into `profile`; where that is not possible, a warning says why."""
    say(f"bursts: the plain build under QEMU, at most {format_ns(sample_s * 1e9)}")
    try:
        profile.bursts = _recorded(profile, request, sample_s)
    except NearfarError as error:
        profile.warnings.append(f"there are no bursts: {error}")
        return
    reached = {phase.phase for phase in profile.bursts.phases}
    missing = [phase.name for phase in profile.phases if phase.name not in reached]
    if missing:
        profile.warnings.append(
            f"there are no bursts of {', '.join(missing)}: not entered in the "
            f"{format_ns(sample_s * 1e9)} that the program had under QEMU, or not by its marks"
        )
    profile.warnings += unseen_loads(profile, profile.bursts)


def unseen_loads(profile: WorkloadProfile, bursts: Bursts) -> list[str]:
    """Say whose loads make many of a phase's misses beside streams and are in none of its bursts.

    What a stream depends on is known: on nothing.
    """
    said = []
    phases = {phase.name: phase for phase in profile.phases}
    for recorded in bursts.phases:
        loads = {row.object: _waiting(row.traffic) for row in phases[recorded.phase].objects}
        every = max(sum(loads.values()), 1.0)
        seen = {row.object for row in recorded.objects if row.read_misses}
        unseen = [
            f"{profile.objects[number].name} ({count / every:.0%} of such loads)"
            for number, count in loads.items()
            if number not in seen and count > MANY_MISSES * every
        ]
        if unseen:
            said.append(
                f"no burst of phase {recorded.phase!r} has a load that misses, no stream's, of "
                f"{', '.join(unseen)}: bursts are spread by instructions, and what "
                "depends on what there is not known; mark that part as a phase of its own"
            )
    return said


def _waiting(traffic: Traffic) -> float:
    """Return an object's loads that miss, those of streams left out."""
    missed, in_sequence = traffic.read_misses, traffic.read_sequential
    return (
        max(missed.chase - in_sequence.chase, 0.0)
        + max(missed.indirect - in_sequence.indirect, 0.0)
        + max(missed.opaque - in_sequence.opaque, 0.0)
    )


def _recorded(profile: WorkloadProfile, request: Request, sample_s: float) -> Bursts:
    source = QemuWithBursts(sample_s, RATE_LOG2)
    with (
        tempfile.TemporaryDirectory(prefix="nearfar-plain-") as twins,
        tempfile.TemporaryDirectory(prefix="nearfar-bursts-", dir=memory_folder()) as name,
    ):
        folder = Path(name)
        executable = Path(profile.program.executable)
        plain = request.source.plain(executable, request.plain, Path(twins))
        size = (request.cache_bytes, request.cache_ways, request.memory_bytes)
        control = prepare_folder(folder, *size, counting=request.job.after_s == 0)
        try:
            burst_file.make(folder)
            ended, _ = source.run(request.job, executable, plain, folder)
            names = {
                number: row.name.decode(errors="replace")
                for number, row in enumerate(control.phases())
                if number != PHASE_BEFORE
            }
        finally:
            control.close()
        files = read_run(folder)
        recorded = burst_file.read(folder)
        if not files or not any(recorded.bursts.values()):
            raise NearfarError(
                f"the program {ended.status} under QEMU before any could be recorded"
            )
        return _Assembler(profile, recorded, files[0], names).bursts()


@dataclass(frozen=True)
class _Rate:
    """What sampled lines say of one instruction in one phase."""

    accesses: float = 0.0
    misses: float = 0.0

    def __add__(self, other: _Rate) -> _Rate:
        return _Rate(self.accesses + other.accesses, self.misses + other.misses)

    def per_access(self, width: int) -> float:
        if not self.accesses:
            return 0.0
        return min(1.0, self.misses / self.accesses * max(1, width // PART_BYTES))


class _Assembler:
    """Makes the document's bursts of one process' recorded ones."""

    def __init__(
        self,
        profile: WorkloadProfile,
        recorded: BurstFile,
        file: ProcessFile,
        names: Mapping[int, str],
    ) -> None:
        self._profile = profile
        self._recorded = recorded
        self._file = file
        known = {phase.name for phase in profile.phases}
        self._phases = {
            number: name
            for number, name in names.items()
            if name in known and recorded.bursts.get(number)
        }
        self._rates: dict[tuple[int, int], _Rate] = {}
        self._seldom: dict[int, _Rate] = {}
        self._object_of: dict[int, int] = {}
        self._count_rates()

    def bursts(self) -> Bursts:
        blocks = self._used_blocks()
        code, pcs = self._code(blocks)
        accesses = self._accesses(code, pcs)
        renamed = {int(place): number for number, place in enumerate(blocks)}
        base = int(self._recorded.blocks["address"].min()) if len(blocks) else 0
        found = Bursts(
            code=code,
            blocks=[],
            accesses=accesses,
            phases=[],
        )
        first = 0
        for place in blocks:
            row = self._recorded.blocks[place]
            count = int(row["count"])
            begin, end = int(row["address"]) - base, int(row["end"]) - base
            found.blocks.append(Block(first=first, count=count, begin=begin, end=end))
            first += count
        threads: dict[int, int] = {}
        values: dict[str, list[Records]] = {}
        for number, name in self._phases.items():
            raw = self._recorded.bursts[number]
            lines = _renamed([burst.accesses["address"] >> np.uint64(6) for burst in raw])
            found.phases.append(
                PhaseBursts(
                    phase=name,
                    instructions=float(self._recorded.instructions[number]),
                    bursts=[
                        self._burst(burst, renamed, numbers, threads)
                        for burst, numbers in zip(raw, lines, strict=True)
                    ],
                    objects=[],
                    mispredictions_per_1000=0.0,
                )
            )
            values[name] = [burst.accesses for burst in raw]
        for at, phase in enumerate(found.phases):
            trace = make_trace(found, at)
            for place, burst in enumerate(phase.bursts):
                burst.depends = trace.native.dependences(place)
            depends = [back for burst in phase.bursts for back in burst.depends]
            trace = replace(trace, depends=np.array(depends, dtype=np.int64))
            phase.mispredictions_per_1000 = (
                1000.0 * trace.mispredictions / max(1, trace.instructions)
            )
            seen = values[phase.phase] if self._recorded.has_values else None
            phase.objects = describe(found, trace, seen)
        return found

    def _count_rates(self) -> None:
        objects, object_of = make_objects([self._file])
        here = same_objects(objects, self._profile.objects)
        touched: dict[int, dict[int, float]] = {}
        pc_of = {
            int(row["key"]): int(row["line"]) | int(row["column"]) << 32
            for row in self._file.instructions
        }
        for row in self._file.counters:
            key = int(row["key"])
            phase, site, pc = key >> 48, key >> 32 & 0xFFFF, pc_of.get(key & 0xFFFFFFFF)
            if pc is None:
                continue
            accesses = float(row["accesses"])
            rate = _Rate(accesses, float(row["read_misses"]) + float(row["write_misses"]))
            self._rates[(phase, pc)] = self._rates.get((phase, pc), _Rate()) + rate
            if phase in self._phases and (0, site) in object_of:
                number = here[object_of[(0, site)]]
                row_of = touched.setdefault(pc, {})
                row_of[number] = row_of.get(number, 0.0) + accesses
        for (phase, _), rate in self._rates.items():
            if rate.accesses < FEWEST_SAMPLED:
                self._seldom[phase] = self._seldom.get(phase, _Rate()) + rate
        self._object_of = {pc: max(by, key=lambda one: by[one]) for pc, by in touched.items()}

    def _used_blocks(self) -> list[int]:
        used: set[int] = set()
        for number in self._phases:
            for burst in self._recorded.bursts[number]:
                used.update(burst.blocks.tolist())
        return sorted(used)

    def _code(self, blocks: list[int]) -> tuple[list[Code], list[int]]:
        """Return the instructions of these blocks, one after another, and their addresses."""
        code: list[Code] = []
        pcs: list[int] = []
        known: dict[tuple[int, bytes], Decoded] = {}
        for place in blocks:
            row = self._recorded.blocks[place]
            first = int(row["first"])
            for one in self._recorded.code[first : first + int(row["count"])]:
                pc, content = int(one["address"]), bytes(one["bytes"][: int(one["size"])])
                found = known.get((pc, content))
                if found is None:
                    found = known[(pc, content)] = decode(pc, content)
                code.append(
                    Code(
                        address=found.address,
                        uses=found.uses,
                        defs=found.defs,
                        cycles=found.cycles,
                        conditional=found.conditional,
                    )
                )
                pcs.append(pc)
        self._decoded = known
        return code, pcs

    def _accesses(self, code: list[Code], pcs: list[int]) -> list[BurstAccess]:
        """List the instructions that touch memory, and tell the code their places."""
        widths: dict[int, int] = {}
        for number in self._phases:
            for burst in self._recorded.bursts[number]:
                rows = self._recorded.blocks["first"][burst.blocks[burst.accesses["block"]]]
                rows = rows + burst.accesses["instruction"]
                for pc, width in zip(
                    self._recorded.code["address"][rows].tolist(),
                    burst.accesses["bytes"].tolist(),
                    strict=True,
                ):
                    widths[pc] = max(widths.get(pc, 0), width)
        by_pc: dict[int, int] = {}
        for row, pc in zip(code, pcs, strict=True):
            if pc in widths:
                row.access = by_pc.setdefault(pc, len(by_pc))
        decoded = {pc: found for (pc, _), found in self._decoded.items()}
        places = {pc: self._place(pc) for pc in by_pc}
        frames = symbolise(places.values())
        classes = {(one.function, one.line): one.access_class for one in self._profile.instructions}
        found = []
        for pc in by_pc:
            frame = frames[places[pc]][0]
            found.append(
                BurstAccess(
                    function=frame.function,
                    file=frame.file,
                    line=frame.line,
                    bytes=widths[pc],
                    loads=decoded[pc].loads,
                    stores=decoded[pc].stores,
                    access_class=classes.get((frame.function, frame.line), "opaque"),
                    object=self._object_of.get(pc, -1),
                    misses=[
                        self._rate(number, pc).per_access(widths[pc]) for number in self._phases
                    ],
                )
            )
        return found

    def _rate(self, phase: int, pc: int) -> _Rate:
        rate = self._rates.get((phase, pc), _Rate())
        return rate if rate.accesses >= FEWEST_SAMPLED else self._seldom.get(phase, _Rate())

    def _place(self, pc: int) -> Place:
        modules = self._file.modules
        found = modules[(modules["begin"] <= pc) & (pc < modules["end"])]
        if not len(found):
            return Place("?", pc + 1)
        # symbolise() looks one byte before, as return addresses want.
        return Place(self._file.text(int(found[-1]["path"])), pc - int(found[-1]["base"]) + 1)

    def _burst(
        self, raw: RawBurst, renamed: Mapping[int, int], lines: Records, threads: dict[int, int]
    ) -> Burst:
        counts = self._recorded.blocks["count"][raw.blocks].astype(np.int64)
        begins = np.cumsum(counts) - counts
        at = begins[raw.accesses["block"]] + raw.accesses["instruction"]
        store = raw.accesses["store"] != 0
        return Burst(
            thread=threads.setdefault(raw.thread, len(threads)),
            at=raw.at,
            blocks=[renamed[place] for place in raw.blocks.tolist()],
            gaps=np.diff(at, prepend=0).tolist(),
            lines=np.where(store, -1 - lines, lines).tolist(),
            offsets=(raw.accesses["address"] % np.uint64(64)).tolist(),
            depends=[0] * len(at),
        )


def same_objects(these: Sequence[MemoryObject], those: Sequence[MemoryObject]) -> dict[int, int]:
    """Return the number in `those` of each of `these`; -1 where there is none.

    Both are of one program and input, but of two builds: names may lack lines, and addresses
    differ. What is called otherwise is told by where it was allocated and how much.
    """
    names = {(thing.kind, thing.name): thing.id for thing in those}
    found: dict[int, int] = {}
    for thing in these:
        number = names.get((thing.kind, thing.name), -1)
        if number < 0 and thing.frames:
            alike = [
                (depth, abs(thing.allocated_bytes - other.allocated_bytes), other.id)
                for other in those
                if other.kind == thing.kind and (depth := _common_depth(thing, other)) is not None
            ]
            number = min(alike)[2] if alike else -1
        found[thing.id] = number
    return found


def _common_depth(thing: MemoryObject, other: MemoryObject) -> int | None:
    """Return how far from the allocations the nearest function is that both have; None: too far.

    The nearest counts, then the size: main is an ancestor of nearly everything.
    """
    theirs = [frame.function for frame in other.frames[:INNERMOST]]
    return min(
        (
            depth + theirs.index(frame.function)
            for depth, frame in enumerate(thing.frames[:INNERMOST])
            if frame.function in theirs
        ),
        default=None,
    )


def _renamed(lines: list[Records]) -> list[Records]:
    """Number lines anew: neighbours stay neighbours, all others lie `MOST_STEP` apart."""
    known = np.unique(np.concatenate(lines))
    steps = np.minimum(np.diff(known, prepend=known[:1]), np.uint64(MOST_STEP)).astype(np.int64)
    numbers = np.cumsum(steps)
    return [numbers[np.searchsorted(known, one)] for one in lines]
