"""Traffic per phase, object and instruction, from the processes' counters; sums of traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.documents.profiled_run import Sampling
from nearfar.documents.touched_field import TouchedField
from nearfar.documents.workload import AccessClasses, Instruction, ObjectTraffic, Traffic
from nearfar.profile.added_traffic import add_traffic
from nearfar.profile.events import add_events
from nearfar.profile.objects import Site
from nearfar.profile.run_file import PAGE_RATE, ProcessFile, Records

_OPERATIONS: tuple[Literal["load", "store", "both"], ...] = ("load", "load", "store", "both")
_CLASSES: tuple[Literal["opaque", "stream", "indirect", "chase"], ...] = (
    "opaque",
    "stream",
    "indirect",
    "chase",
)

MIN_SAMPLED_MISSES = 16
"""Least number of sampled misses whose order counts: fewer may be neighbours by chance."""
CHANCE_SHARE = 0.05
"""Share of neighbours among random misses in 120 pages (3 places, 2 sides each)."""

KEPT_SHARE = 0.99
"""Share of all misses that the kept instructions cover, those with most misses first."""
KEPT_ACCESSES = 0.002
"""Share of a type's accesses from which an instruction without misses is kept."""
MAX_KEPT = 500
"""Largest number of instructions kept."""


@dataclass
class RunTraffic:
    """Counts of one run, scaled to all lines."""

    objects: dict[tuple[int, int], Traffic] = field(default_factory=dict)
    """Traffic by phase number and object."""
    instructions: list[Instruction] = field(default_factory=list)
    misses: dict[tuple[int, int, int], float] = field(default_factory=dict)
    """Misses by phase number, index in `instructions`, object."""
    accesses: dict[tuple[int, int, int], float] = field(default_factory=dict)
    """Accesses by the same keys."""


def gather(files: Sequence[ProcessFile], object_of: Mapping[Site, int]) -> RunTraffic:
    """Add up all processes' counters; instructions missing in the table count too."""
    run = RunTraffic()
    numbers: dict[tuple[object, ...], int] = {}
    for process, file in enumerate(files):
        known = {int(row["key"]): row for row in file.instructions}
        for row in file.counters:
            key = int(row["key"])
            phase, site, instruction = key >> 48, key >> 32 & 0xFFFF, key & 0xFFFFFFFF
            if (process, site) not in object_of:
                continue
            object_id = object_of[(process, site)]
            traffic = run.objects.setdefault((phase, object_id), Traffic())
            if instruction == 0:
                traffic.write_backs += float(row["read_misses"]) * file.rate
                continue
            reads = float(row["read_misses"]) * file.rate
            writes = float(row["write_misses"]) * file.rate
            described = _instruction(file, known.get(instruction))
            name = described.access_class
            weight = int(known[instruction]["tests_per_line"]) if instruction in known else 1
            accesses = float(row["accesses"]) * file.rate * weight
            traffic.accesses += accesses
            # A read-modify-write misses as a load: later instructions wait for the line.
            as_loads = reads + writes if described.operation == "both" else reads
            as_stores = reads + writes - as_loads
            sequential = sequential_share(row)
            _add(traffic.read_misses, name, as_loads)
            _add(traffic.write_misses, name, as_stores)
            _add(traffic.read_sequential, name, as_loads * sequential)
            _add(traffic.write_sequential, name, as_stores * sequential)
            if reads + writes or described.fields:
                number = numbers.setdefault(_identity(described), len(run.instructions))
                if number == len(run.instructions):
                    run.instructions.append(described)
                place = (phase, number, object_id)
                run.misses[place] = run.misses.get(place, 0.0) + reads + writes
                run.accesses[place] = run.accesses.get(place, 0.0) + accesses
    add_events(files, object_of, run.objects)
    return run


def sequential_share(row: Records) -> float:
    """Return the share of a counter's misses that a prefetcher can fetch in time, 0 to 1.

    Sampled lines are 64 lines apart at the usual rate, so only sequences of pages are seen. The
    first miss of a sequence does not count, nor do neighbours by chance.
    """
    misses = int(row["read_misses"]) + int(row["write_misses"])
    if misses < MIN_SAMPLED_MISSES:
        return 0.0
    share = float(row["in_sequence"]) / misses
    return share if share >= CHANCE_SHARE else 0.0


def _identity(instruction: Instruction) -> tuple[object, ...]:
    return (
        instruction.function,
        instruction.file,
        instruction.line,
        instruction.column,
        instruction.operation,
        instruction.access_class,
        *((touched.type, touched.offset) for touched in instruction.fields),
    )


def instructions_to_keep(run: RunTraffic, phases: set[int]) -> list[int]:
    """Return the instructions to keep, those with most misses in `phases` first.

    Instructions without misses are kept if they touch the types of those with misses: they may miss
    once the type is split.
    """
    kept = _most_missing(run, phases)
    types = {touched.type for number in kept for touched in run.instructions[number].fields}
    by_type: dict[str, float] = dict.fromkeys(types, 0.0)
    totals: dict[int, float] = {}
    for (phase, number, _), accesses in run.accesses.items():
        fields = run.instructions[number].fields
        if phase in phases and fields and fields[0].type in types:
            totals[number] = totals.get(number, 0.0) + accesses
            by_type[fields[0].type] += accesses
    for number in sorted(set(totals) - set(kept), key=lambda number: -totals[number]):
        least = KEPT_ACCESSES * by_type[run.instructions[number].fields[0].type]
        if len(kept) < MAX_KEPT and totals[number] > least:
            kept.append(number)
    return kept


def _most_missing(run: RunTraffic, phases: set[int]) -> list[int]:
    totals = [0.0] * len(run.instructions)
    for (phase, instruction, _), misses in run.misses.items():
        if phase in phases:
            totals[instruction] += misses
    order = sorted(range(len(totals)), key=lambda number: -totals[number])
    everything, covered = sum(totals), 0.0
    kept: list[int] = []
    for number in order[:MAX_KEPT]:
        if covered >= KEPT_SHARE * everything or totals[number] == 0:
            break
        kept.append(number)
        covered += totals[number]
    return kept


def sampling(files: Sequence[ProcessFile]) -> Sampling:
    """Return how lines were sampled, and the error of sampling.

    The variance is computed between random groups of lines, because the misses of a line are not
    independent: N lines of M misses each are as uncertain as N misses, not N x M.
    """
    rate = files[0].rate
    accesses = sum(int(_of_instructions(file)["accesses"].sum()) for file in files)
    groups = np.sum([file.group_misses for file in files], axis=0).astype(float)
    total, count = float(groups.sum()), groups.size
    error = 0.0
    if rate > 1:
        spread = count / (count - 1) * float(((groups - total / count) ** 2).sum())
        error = min(1.0, 1.96 * float(np.sqrt(spread)) / total) if total else 1.0
    return Sampling(
        rate=rate,
        sampled_accesses=accesses,
        sampled_misses=round(total),
        relative_error=error,
        page_rate=PAGE_RATE,
    )


def _of_instructions(file: ProcessFile) -> Records:
    rows: Records = file.counters[(file.counters["key"] & np.uint64(0xFFFFFFFF)) != 0]
    return rows


def _instruction(file: ProcessFile, row: Records | None) -> Instruction:
    """Return the instruction that a table row describes; None: its row did not fit."""
    if row is None:
        return Instruction(
            function="unknown instructions (the table was full)",
            file="",
            line=0,
            column=0,
            operation="both",
            access_class="opaque",
            bytes=0,
        )
    return Instruction(
        function=file.text(int(row["function"])),
        file=file.text(int(row["file"])),
        line=int(row["line"]),
        column=int(row["column"]),
        operation=_OPERATIONS[int(row["operation"]) & 3],
        access_class=_CLASSES[int(row["access_class"]) & 3],
        bytes=int(row["bytes"]),
        fields=_fields(file.text(int(row["fields"]))),
    )


def _fields(text: str) -> list[TouchedField]:
    """Return the fields of the compiler pass's text (native/profile/abi.h)."""
    fields = []
    for line in text.splitlines():
        name, size, path, offset, count, always = line.split("\t")
        fields.append(
            TouchedField(
                type=name,
                type_bytes=int(size),
                field=path,
                offset=int(offset),
                bytes=int(count),
                always=always == "1",
            )
        )
    return fields


def _add(classes: AccessClasses, name: str, amount: float) -> None:
    setattr(classes, name, getattr(classes, name) + amount)


Array = NDArray[np.float64]


@dataclass(frozen=True)
class TrafficSum:
    """Summed traffic of several rows, and their summed miss curves by capacity."""

    traffic: Traffic
    read: Array | None
    write: Array | None


def add_rows(rows: Sequence[ObjectTraffic], weights: Sequence[float] | None = None) -> TrafficSum:
    """Add up traffic and curves; a row without a curve (few touches) adds its misses."""
    factors = weights if weights is not None else [1.0] * len(rows)
    total = Traffic()
    read = write = np.zeros(0)
    known = [row.curve for row in rows if row.curve is not None]
    if known:
        read, write = np.zeros(len(known[0].read)), np.zeros(len(known[0].read))
    for row, weight in zip(rows, factors, strict=True):
        total = add_traffic(total, row.traffic, weight)
        if known and row.curve is not None:
            read = read + weight * np.asarray(row.curve.read)
            write = write + weight * np.asarray(row.curve.write)
        elif known:
            read = read + weight * row.traffic.read_misses.total()
            write = write + weight * row.traffic.write_misses.total()
    return TrafficSum(total, read, write) if known else TrafficSum(total, None, None)
