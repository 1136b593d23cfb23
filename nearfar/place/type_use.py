"""How a program uses the elements of a type in one object: visits and fetched lines by instruction.

A function visits an element: its first access fetches the line, and later accesses to this line
hit. In a split element, later accesses may fetch another line. So a split is judged by accesses,
not by misses alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from nearfar.base.units import LINE_BYTES
from nearfar.documents import WorkloadProfile
from nearfar.documents.touched_field import TouchedField
from nearfar.documents.workload import Instruction, MemoryObject, Phase

MIN_TYPE_SHARE = 0.7
"""Share of an object's misses from which the object counts as elements of one type."""
MIN_BYTES = 16
"""Smallest type that is worth a split."""
NEAR_LINES = 2
"""Largest distance of source lines of a function that count as one visit."""
WORD_BYTES = 8
HEADER_BYTES, ROUNDED_BYTES = 8, 16
"""Header bytes of a block of the C library's allocator, and the multiple to which blocks are
rounded up."""
MAPPED_BYTES = 128 << 10
"""Size from which the C library maps a block of its own, which starts `ROUNDED_BYTES` behind the
start of a page."""


@dataclass(frozen=True)
class Layout:
    """Elements at equal distances in memory."""

    stride_bytes: int
    """Bytes from one element to the next."""
    starts: tuple[int, ...]
    """Bytes from the start of a line to the first element; several where that is not known."""

    def lines(self, begin: int, size: int) -> float:
        """Return the mean number of lines that a part of an element spans."""
        places = [
            (start + at * self.stride_bytes + begin) % LINE_BYTES
            for start in self.starts
            for at in range(self._repeats)
        ]
        return sum(-(-(place + size) // LINE_BYTES) for place in places) / len(places)

    def lines_in_sequence(self, begin: int, size: int) -> float:
        """Return the lines per element if all are touched in sequence: neighbours share lines."""
        return min(self.stride_bytes / LINE_BYTES, self.lines(begin, size))

    @property
    def _repeats(self) -> int:
        """Number of elements after which their places in lines repeat."""
        return LINE_BYTES // gcd(self.stride_bytes, LINE_BYTES)


ANY_START = tuple(range(0, LINE_BYTES, ROUNDED_BYTES))
MAPPED_START = (ROUNDED_BYTES,)


@dataclass(frozen=True)
class Access:
    """An instruction's accesses to elements of the type in one phase."""

    visit: tuple[str, int]
    """Function and first source line of the accesses that count as one visit."""
    fields: tuple[TouchedField, ...]
    """Fields of the type."""
    access_class: str
    operation: str
    bytes: int
    """Bytes touched by one execution; each touched line counts as an access."""
    misses: float
    accesses: float


@dataclass(frozen=True)
class TypeUse:
    """The elements of one type in one object."""

    type: str
    type_bytes: int
    object: int
    alone: bool
    """Whether each element is a block of its own, rather than one of an array."""
    layout: Layout
    phases: dict[str, tuple[Access, ...]]

    @cached_property
    def fields(self) -> list[TouchedField]:
        """The touched fields that have a name, most often touched first."""
        counts: dict[TouchedKey, float] = {}
        known: dict[TouchedKey, TouchedField] = {}
        for accesses in self.phases.values():
            for access in accesses:
                for touched in access.fields:
                    if touched.field:
                        key = (touched.field, touched.offset, touched.bytes)
                        known[key] = touched
                        counts[key] = counts.get(key, 0.0) + access.accesses
        return [known[key] for key in sorted(counts, key=lambda key: (-counts[key], key))]


TouchedKey = tuple[str, int, int]


def type_uses(workload: WorkloadProfile) -> list[TypeUse]:
    """Return the types that objects consist of, one for each object, most misses first."""
    uses: list[tuple[float, TypeUse]] = []
    for owner in workload.objects:
        rows = list(_rows(workload, owner.id))
        total = sum(misses for _, _, misses, _ in rows)
        by_type: dict[tuple[str, int], float] = {}
        for _, instruction, misses, _ in rows:
            for touched in instruction.fields[:1]:
                key = (touched.type, touched.type_bytes)
                by_type[key] = by_type.get(key, 0.0) + misses
        if total <= 0.0 or not by_type:
            continue
        (name, size), most = max(by_type.items(), key=lambda item: item[1])
        if most < MIN_TYPE_SHARE * total or size < MIN_BYTES:
            continue
        alone, layout = _layout(owner, size)
        phases = {
            phase.name: _accesses(workload, phase, owner.id, name) for phase in workload.phases
        }
        uses.append((most, TypeUse(name, size, owner.id, alone, layout, phases)))
    return [use for _, use in sorted(uses, key=lambda item: -item[0])]


def block_bytes(size: int) -> int:
    """Return the bytes that a block of `size` bytes takes in the C library's allocator."""
    return -(-(size + HEADER_BYTES) // ROUNDED_BYTES) * ROUNDED_BYTES


def lines_of(size: int) -> float:
    """Return the mean number of lines that `size` adjacent bytes span, over all word offsets."""
    return 1.0 + max(0, size - WORD_BYTES) / LINE_BYTES


def _rows(
    workload: WorkloadProfile, number: int
) -> Iterator[tuple[Phase, Instruction, float, float]]:
    for phase in workload.phases:
        for row in phase.instructions:
            if row.object == number:
                instruction = workload.instructions[row.instruction]
                yield phase, instruction, row.misses, row.accesses


def _layout(owner: MemoryObject, size: int) -> tuple[bool, Layout]:
    """Return whether elements are blocks of their own, and how they lie in memory."""
    mean = owner.allocated_bytes / owner.allocations if owner.allocations else 0.0
    if owner.kind == "heap" and 0.0 < mean < 1.5 * size:
        return True, Layout(block_bytes(max(size, round(mean))), ANY_START)
    mapped = owner.kind == "heap" and mean >= MAPPED_BYTES
    return False, Layout(size, MAPPED_START if mapped else ANY_START)


def _accesses(
    workload: WorkloadProfile, phase: Phase, number: int, name: str
) -> tuple[Access, ...]:
    accesses = []
    last = ("", -NEAR_LINES - 1)
    visit = last
    rows = [(workload.instructions[r.instruction], r) for r in phase.instructions]
    for instruction, row in sorted(rows, key=lambda each: (each[0].function, each[0].line)):
        fields = tuple(touched for touched in instruction.fields if touched.type == name)
        if row.object != number or not fields:
            continue
        here = (instruction.function, instruction.line)
        if here[0] != last[0] or here[1] > last[1] + NEAR_LINES:
            visit = here
        last = here
        how = (instruction.access_class, instruction.operation, instruction.bytes)
        accesses.append(Access(visit, fields, *how, row.misses, row.accesses))
    return tuple(accesses)
