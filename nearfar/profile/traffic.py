"""From the processes' counters to traffic per phase, object and instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.documents.workload import AccessClasses, Instruction, ObjectTraffic, Sampling, Traffic
from nearfar.profile.events import add_events
from nearfar.profile.objects import Site
from nearfar.profile.run_file import ProcessFile, Records

_OPERATIONS: tuple[Literal["load", "store", "both"], ...] = ("load", "load", "store", "both")
_CLASSES: tuple[Literal["opaque", "stream", "indirect", "chase"], ...] = (
    "opaque",
    "stream",
    "indirect",
    "chase",
)

MIN_SAMPLED_MISSES = 16
"""Sampled misses from which their order is looked at: fewer may be neighbours by chance."""
CHANCE_SHARE = 0.05
"""Share of neighbours that random misses in 120 pages have (3 places, 2 sides each)."""

KEPT_SHARE = 0.99
"""Instructions are kept, those with most misses first, until they cover this share of all..."""
MAX_KEPT = 500
"""...or are this many: more is nothing a person reads."""


@dataclass
class RunTraffic:
    """Everything counted in one run, scaled to all lines."""

    objects: dict[tuple[int, int], Traffic] = field(default_factory=dict)
    """By phase number and object."""
    instructions: list[Instruction] = field(default_factory=list)
    misses: dict[tuple[int, int, int], float] = field(default_factory=dict)
    """By phase number, place in `instructions`, object."""


def gather(files: Sequence[ProcessFile], object_of: Mapping[Site, int]) -> RunTraffic:
    """Add all processes' counters up; those of an instruction that no table knows count too."""
    run = RunTraffic()
    numbers: dict[tuple[object, ...], int] = {}
    for process, file in enumerate(files):
        known = {int(row["key"]): row for row in file.instructions}
        for row in file.counters:
            key = int(row["key"])
            phase, site, instruction = key >> 48, key >> 32 & 0xFFFF, key & 0xFFFFFFFF
            if (process, site) not in object_of:
                continue
            thing = object_of[(process, site)]
            traffic = run.objects.setdefault((phase, thing), Traffic())
            if instruction == 0:
                traffic.write_backs += float(row["read_misses"]) * file.rate
                continue
            reads = float(row["read_misses"]) * file.rate
            writes = float(row["write_misses"]) * file.rate
            made = _instruction(file, known.get(instruction))
            name = made.access_class
            weight = int(known[instruction]["tests_per_line"]) if instruction in known else 1
            traffic.accesses += float(row["accesses"]) * file.rate * weight
            # A read-modify-write misses as a load: what follows waits for the line.
            waited = reads + writes if made.operation == "both" else reads
            followed = sequential_share(row)
            _add(traffic.read_misses, name, waited)
            _add(traffic.write_misses, name, reads + writes - waited)
            _add(traffic.read_sequential, name, waited * followed)
            _add(traffic.write_sequential, name, (reads + writes - waited) * followed)
            if reads + writes:
                identity = (made.function, made.file, made.line, made.column, made.operation, name)
                number = numbers.setdefault(identity, len(run.instructions))
                if number == len(run.instructions):
                    run.instructions.append(made)
                place = (phase, number, thing)
                run.misses[place] = run.misses.get(place, 0.0) + reads + writes
    add_events(files, object_of, run.objects)
    return run


def sequential_share(row: Records) -> float:
    """Return which share of a counter's misses a prefetcher sees coming, 0 to 1.

    Sampled lines are 64 lines apart (at the usual rate), so only runs of pages are seen; a run's
    first is not in sequence, and neither is a single neighbour met by chance.
    """
    misses = int(row["read_misses"]) + int(row["write_misses"])
    if misses < MIN_SAMPLED_MISSES:
        return 0.0
    share = float(row["in_sequence"]) / misses
    return share if share >= CHANCE_SHARE else 0.0


def most_missing(run: RunTraffic, phases: set[int]) -> list[int]:
    """Return the instructions to keep, most misses first, counting these phases."""
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
    """Return how lines were sampled, and the error that alone implies.

    The variance is that between groups of lines (random groups), since a line's misses come
    together: sampling N lines of M misses each is as uncertain as N misses, not N x M.
    """
    rate = files[0].rate
    accesses = sum(int(_of_instructions(file)["accesses"].sum()) for file in files)
    groups = np.sum([file.header["group_misses"] for file in files], axis=0).astype(float)
    total, count = float(groups.sum()), groups.size
    error = 0.0
    if rate > 1:
        spread = count / (count - 1) * float(((groups - total / count) ** 2).sum())
        error = min(1.0, 1.96 * float(np.sqrt(spread)) / total) if total else 1.0
    return Sampling(
        rate=rate, sampled_accesses=accesses, sampled_misses=round(total), relative_error=error
    )


def _of_instructions(file: ProcessFile) -> Records:
    rows: Records = file.counters[(file.counters["key"] & np.uint64(0xFFFFFFFF)) != 0]
    return rows


def _instruction(file: ProcessFile, row: Records | None) -> Instruction:
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
    )


def _add(classes: AccessClasses, name: str, amount: float) -> None:
    setattr(classes, name, getattr(classes, name) + amount)


Array = NDArray[np.float64]


@dataclass(frozen=True)
class TrafficSum:
    """What several rows come to; counts as in Traffic, curves by capacity."""

    traffic: Traffic
    read: Array | None
    write: Array | None


def add_rows(rows: Sequence[ObjectTraffic], weights: Sequence[float] | None = None) -> TrafficSum:
    """Add traffic and curves up; a part without a curve (few touches) adds its misses to it."""
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


def add_traffic(one: Traffic, other: Traffic, weight: float = 1.0) -> Traffic:
    """Return `one` and `weight` times `other`."""

    def classes(a: AccessClasses, b: AccessClasses) -> AccessClasses:
        return AccessClasses(
            chase=a.chase + weight * b.chase,
            indirect=a.indirect + weight * b.indirect,
            stream=a.stream + weight * b.stream,
            opaque=a.opaque + weight * b.opaque,
        )

    return Traffic(
        accesses=one.accesses + weight * other.accesses,
        read_misses=classes(one.read_misses, other.read_misses),
        write_misses=classes(one.write_misses, other.write_misses),
        read_sequential=classes(one.read_sequential, other.read_sequential),
        write_sequential=classes(one.write_sequential, other.write_sequential),
        write_backs=one.write_backs + weight * other.write_backs,
        flushes=one.flushes + weight * other.flushes,
        fences=one.fences + weight * other.fences,
        nt_store_bytes=one.nt_store_bytes + weight * other.nt_store_bytes,
        log_bytes=one.log_bytes + weight * other.log_bytes,
        syncs=one.syncs + weight * other.syncs,
        sync_bytes=one.sync_bytes + weight * other.sync_bytes,
        tlb_misses_4k=one.tlb_misses_4k + weight * other.tlb_misses_4k,
        tlb_misses_2m=one.tlb_misses_2m + weight * other.tlb_misses_2m,
        private_misses=one.private_misses + weight * other.private_misses,
        transfers=one.transfers + weight * other.transfers,
    )
