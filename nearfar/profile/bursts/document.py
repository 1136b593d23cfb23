"""The document's bursts, made of what one process recorded: code, accesses, miss rates, objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearfar.documents import WorkloadProfile
from nearfar.documents.bursts import Block, Burst, BurstAccess, Bursts, Code, PhaseBursts
from nearfar.profile.bursts.dependences import Addresses, apart, describe
from nearfar.profile.bursts.file import BurstFile, RawBurst
from nearfar.profile.bursts.instructions import Decoded, decode
from nearfar.profile.bursts.trace import make_trace
from nearfar.profile.identity import same_objects
from nearfar.profile.objects import make_objects
from nearfar.profile.run_file import ProcessFile, Records
from nearfar.program.symbols import symbolise

MOST_STEP = 3
"""Lines are numbered anew; numbers of lines that are not neighbours are so far apart."""

FEWEST_SAMPLED = 8
"""Sampled accesses of an instruction below which its miss rate is that of all such together."""

LINES_OF_PAGE = 64

PART_BYTES = 8
"""QEMU makes several accesses of a wider one, and each was counted."""


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


class Assembler:
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
        """Return those of the phases that both the profile and the recorded run have."""
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
        streams = np.array([one.access_class == "stream" for one in accesses] or [False])
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
            phase.walks_apart = self._walks_apart(
                phase.phase, values[phase.phase], streams[trace.access], trace.starts
            )
        return found

    def _walks_apart(
        self, name: str, accesses: list[Records], streams: NDArray[np.bool_], starts: list[int]
    ) -> float | None:
        if self._profile.core is None:
            return None
        rows = next(one for one in self._profile.phases if one.name == name).objects
        every = sum(row.traffic.accesses for row in rows)
        streamed = sum(
            row.traffic.read_misses.stream + row.traffic.write_misses.stream for row in rows
        )
        walks = sum(row.traffic.tlb_misses_4k for row in rows) - streamed / LINES_OF_PAGE
        bursts = [
            Addresses(one["address"], streams[begin:end])
            for one, begin, end in zip(accesses, starts[:-1], starts[1:], strict=True)
        ]
        return apart(bursts, max(walks, 0.0) / every) if every > 0.0 else None

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
        places = {pc: self._file.locate_instruction(pc) for pc in by_pc}
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


def _renamed(lines: list[Records]) -> list[Records]:
    """Number lines anew: neighbours stay neighbours, all others lie `MOST_STEP` apart."""
    known = np.unique(np.concatenate(lines))
    steps = np.minimum(np.diff(known, prepend=known[:1]), np.uint64(MOST_STEP)).astype(np.int64)
    numbers = np.cumsum(steps)
    return [numbers[np.searchsorted(known, one)] for one in lines]
