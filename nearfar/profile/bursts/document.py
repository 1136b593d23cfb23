"""The document's bursts, from those that one process recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearfar.documents import WorkloadProfile
from nearfar.documents.bursts import Block, Burst, BurstAccess, Bursts, Code, PhaseBursts
from nearfar.profile.bursts.dependences import BurstAddresses, object_bursts, uncached_walk_share
from nearfar.profile.bursts.file import BurstFile, RawBurst
from nearfar.profile.bursts.instructions import DecodedInstruction, decode
from nearfar.profile.bursts.trace import make_trace
from nearfar.profile.identity import match_by_allocation
from nearfar.profile.objects import make_objects
from nearfar.profile.run_file import ProcessFile, Records
from nearfar.program.symbols import symbolise

MAX_LINE_STEP = 3
"""Distance between the new numbers of lines that are not neighbours."""

MIN_SAMPLED_ACCESSES = 8
"""Instructions with fewer sampled accesses share one miss rate per phase."""

LINES_OF_PAGE = 64

MAX_PART_BYTES = 8
"""Widest access that QEMU reports as one access; wider accesses were counted as several."""


@dataclass(frozen=True)
class _Rate:
    """Sampled accesses and misses of one instruction in one phase."""

    accesses: float = 0.0
    misses: float = 0.0

    def __add__(self, other: _Rate) -> _Rate:
        return _Rate(self.accesses + other.accesses, self.misses + other.misses)

    def per_access(self, width: int) -> float:
        if not self.accesses:
            return 0.0
        return min(1.0, self.misses / self.accesses * max(1, width // MAX_PART_BYTES))


class BurstAssembler:
    """Converts the recorded bursts of one process to the document's."""

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
        self._shared_rates: dict[int, _Rate] = {}
        self._object_of: dict[int, int] = {}
        self._count_rates()

    def bursts(self) -> Bursts:
        """Return the bursts of phases that both the profile and the recorded run have."""
        blocks = self._used_blocks()
        code, pcs = self._code(blocks)
        accesses = self._accesses(code, pcs)
        number_of_block = {int(place): number for number, place in enumerate(blocks)}
        base = int(self._recorded.blocks["address"].min()) if len(blocks) else 0
        result = Bursts(
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
            result.blocks.append(Block(first=first, count=count, begin=begin, end=end))
            first += count
        threads: dict[int, int] = {}
        raw_accesses: dict[str, list[Records]] = {}
        for number, name in self._phases.items():
            raw = self._recorded.bursts[number]
            lines = _renumbered([burst.accesses["address"] >> np.uint64(6) for burst in raw])
            result.phases.append(
                PhaseBursts(
                    phase=name,
                    instructions=float(self._recorded.instructions[number]),
                    bursts=[
                        self._burst(burst, number_of_block, numbers, threads)
                        for burst, numbers in zip(raw, lines, strict=True)
                    ],
                    objects=[],
                    mispredictions_per_1000=0.0,
                )
            )
            raw_accesses[name] = [burst.accesses for burst in raw]
        streams = np.array([access.access_class == "stream" for access in accesses] or [False])
        # The trace of a phase finds the dependences of its bursts, which are then stored in both.
        for at, phase in enumerate(result.phases):
            trace = make_trace(result, at)
            for index, burst in enumerate(phase.bursts):
                burst.depends = trace.native.dependences(index)
            depends = [back for burst in phase.bursts for back in burst.depends]
            trace = replace(trace, depends=np.array(depends, dtype=np.int64))
            phase.mispredictions_per_1000 = (
                1000.0 * trace.mispredictions / max(1, trace.instructions)
            )
            accesses_of_phase = raw_accesses[phase.phase]
            with_values = accesses_of_phase if self._recorded.has_values else None
            phase.objects = object_bursts(result, trace, with_values)
            phase.walks_apart = self._walks_apart(
                phase.phase, accesses_of_phase, streams[trace.access], trace.starts
            )
        return result

    def _walks_apart(
        self, name: str, accesses: list[Records], streams: NDArray[np.bool_], starts: list[int]
    ) -> float | None:
        """Return the share of page walks whose table line was not read just before; None: unknown.

        `streams`: whether each access is of a stream. `starts`: index of each burst's first access.
        """
        if self._profile.core is None:
            return None
        rows = next(phase for phase in self._profile.phases if phase.name == name).objects
        accesses_total = sum(row.traffic.accesses for row in rows)
        streamed = sum(
            row.traffic.read_misses.stream + row.traffic.write_misses.stream for row in rows
        )
        walks = sum(row.traffic.tlb_misses_4k for row in rows) - streamed / LINES_OF_PAGE
        bursts = [
            BurstAddresses(burst["address"], streams[begin:end])
            for burst, begin, end in zip(accesses, starts[:-1], starts[1:], strict=True)
        ]
        return (
            uncached_walk_share(bursts, max(walks, 0.0) / accesses_total)
            if accesses_total > 0.0
            else None
        )

    def _count_rates(self) -> None:
        """Compute miss rates by phase and instruction, and each instruction's main object."""
        objects, object_of = make_objects([self._file])
        profile_object = match_by_allocation(objects, self._profile.objects)
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
                number = profile_object[object_of[(0, site)]]
                row_of = touched.setdefault(pc, {})
                row_of[number] = row_of.get(number, 0.0) + accesses
        for (phase, _), rate in self._rates.items():
            if rate.accesses < MIN_SAMPLED_ACCESSES:
                self._shared_rates[phase] = self._shared_rates.get(phase, _Rate()) + rate
        self._object_of = {
            pc: max(accesses_by_object, key=lambda number: accesses_by_object[number])
            for pc, accesses_by_object in touched.items()
        }

    def _used_blocks(self) -> list[int]:
        used: set[int] = set()
        for number in self._phases:
            for burst in self._recorded.bursts[number]:
                used.update(burst.blocks.tolist())
        return sorted(used)

    def _code(self, blocks: list[int]) -> tuple[list[Code], list[int]]:
        """Return the instructions of `blocks` in order, and their addresses."""
        code: list[Code] = []
        pcs: list[int] = []
        known: dict[tuple[int, bytes], DecodedInstruction] = {}
        for place in blocks:
            row = self._recorded.blocks[place]
            first = int(row["first"])
            for instruction in self._recorded.code[first : first + int(row["count"])]:
                pc, content = (
                    int(instruction["address"]),
                    bytes(instruction["bytes"][: int(instruction["size"])]),
                )
                decoded = known.get((pc, content))
                if decoded is None:
                    decoded = known[(pc, content)] = decode(pc, content)
                code.append(
                    Code(
                        address=decoded.address,
                        uses=decoded.uses,
                        defs=decoded.defs,
                        cycles=decoded.cycles,
                        conditional=decoded.conditional,
                    )
                )
                pcs.append(pc)
        self._decoded = known
        return code, pcs

    def _accesses(self, code: list[Code], pcs: list[int]) -> list[BurstAccess]:
        """List the instructions that access memory, and set their positions in `code`."""
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
        decoded = {pc: accesses for (pc, _), accesses in self._decoded.items()}
        places = {pc: self._file.locate_instruction(pc) for pc in by_pc}
        frames = symbolise(places.values())
        classes = {
            (instruction.function, instruction.line): instruction.access_class
            for instruction in self._profile.instructions
        }
        accesses = []
        for pc in by_pc:
            frame = frames[places[pc]][0]
            accesses.append(
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
        return accesses

    def _rate(self, phase: int, pc: int) -> _Rate:
        rate = self._rates.get((phase, pc), _Rate())
        return (
            rate
            if rate.accesses >= MIN_SAMPLED_ACCESSES
            else self._shared_rates.get(phase, _Rate())
        )

    def _burst(
        self,
        raw: RawBurst,
        number_of_block: Mapping[int, int],
        lines: Records,
        threads: dict[int, int],
    ) -> Burst:
        """Convert a recorded burst; `lines` are the renumbered lines of its accesses."""
        counts = self._recorded.blocks["count"][raw.blocks].astype(np.int64)
        begins = np.cumsum(counts) - counts
        at = begins[raw.accesses["block"]] + raw.accesses["instruction"]
        store = raw.accesses["store"] != 0
        return Burst(
            thread=threads.setdefault(raw.thread, len(threads)),
            at=raw.at,
            blocks=[number_of_block[place] for place in raw.blocks.tolist()],
            gaps=np.diff(at, prepend=0).tolist(),
            lines=np.where(store, -1 - lines, lines).tolist(),
            offsets=(raw.accesses["address"] % np.uint64(64)).tolist(),
            depends=[0] * len(at),
        )


def _renumbered(lines: list[Records]) -> list[Records]:
    """Renumber lines: neighbours stay neighbours, all others are `MAX_LINE_STEP` apart."""
    distinct = np.unique(np.concatenate(lines))
    steps = np.minimum(np.diff(distinct, prepend=distinct[:1]), np.uint64(MAX_LINE_STEP)).astype(
        np.int64
    )
    numbers = np.cumsum(steps)
    return [numbers[np.searchsorted(distinct, burst_lines)] for burst_lines in lines]
