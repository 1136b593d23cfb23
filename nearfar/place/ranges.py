"""Ranges of large objects: parts of one object that differ in traffic, as rows of a problem.

A profile counts the sampled misses of an object's large memory by position. Neighbouring ranges are
joined into segments unless their traffic differs by more than sampling noise. The two halves of the
sampled lines are independent, so their difference shows the noise, even of clustered misses. The
halves also test a plan: a choice made with the counts of one half is timed with those of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import MemoryObject, ObjectTraffic, RangeTraffic
from nearfar.place.problem import Problem
from nearfar.predict.traffic import (
    CHASE,
    INDEPENDENT,
    STORE,
    STORE_STREAM,
    STREAM,
    WRITE_BACK,
    WRITE_BACK_STREAM,
    Array,
    PhaseTraffic,
)

MIN_DEVIATIONS = 5.0
"""Standard deviations by which neighbouring ranges must differ to stay apart. It is high because an
object has up to 127 pairs, and counts of few hot lines have a wider distribution than normal."""

MIN_COUNTED_SHARE = 0.9
"""Share of an object's lines that must be counted by range; the other lines are assumed to be
spread evenly over the object."""

MAX_SPAN = 1.25
"""Largest ratio of an object's positions to its bytes; above it, many positions have no memory."""

COUNTED = {"read_misses": (CHASE, INDEPENDENT, STREAM), "write_misses": (STORE, STORE_STREAM),
           "write_backs": (WRITE_BACK, WRITE_BACK_STREAM)}  # fmt: skip
"""Columns of a phase's traffic that each count of ranges divides."""


@dataclass(frozen=True, eq=False)
class Segments:
    """Neighbouring ranges of one object that were joined."""

    object: int
    begins: Array
    """Position where each begins, bytes."""
    ends: Array
    sizes: Array
    """Bytes of the object in each."""
    groups: NDArray[np.intp]
    """The segment of each range."""


@dataclass(frozen=True, eq=False)
class RangedProblem:
    """A problem whose rows are objects and segments of objects."""

    problem: Problem
    parents: NDArray[np.intp]
    """The object of each row."""
    begins: Array
    """Position of each row within its object, bytes; 0 for whole objects."""
    ends: Array
    """End of these positions; 0 for whole objects."""
    halves: tuple[Problem, Problem]
    """The same rows with the traffic of one half of the sampled lines."""

    def expanded(self, shares: Array) -> Array:
        """Return the rows' shares of placements that do not distinguish ranges."""
        return np.asarray(shares[..., self.parents, :])

    def collapsed(self, shares: Array) -> Array:
        """Return each object's share of bytes in each memory."""
        sizes = self.problem.sizes_bytes
        count = int(self.parents.max(initial=-1)) + 1
        totals = np.bincount(self.parents, weights=sizes, minlength=count)
        rows = np.bincount(self.parents, minlength=count)
        # Objects without bytes have one row.
        weights = np.where(totals[self.parents] > 0, sizes, 1.0 / rows[self.parents])
        bytes_in = np.zeros((count, shares.shape[1]))
        np.add.at(bytes_in, self.parents, shares * weights[:, np.newaxis])
        return np.asarray(bytes_in / bytes_in.sum(axis=1, keepdims=True))


def ranged_problem(problem: Problem, workload: WorkloadProfile) -> RangedProblem | None:
    """Return the problem with segments as rows; None where no object has segments that differ."""
    segments = {each.object: each for each in _segments(problem, workload)}
    if not segments:
        return None
    rows = [
        (number, begin, end, size)
        for number, whole in enumerate(problem.sizes_bytes.tolist())
        for begin, end, size in _rows_of(segments.get(number), whole)
    ]
    parents = np.array([row[0] for row in rows], dtype=np.intp)
    columns = np.array([row[1:] for row in rows], dtype=float).T
    with_sizes = replace(
        problem,
        names=[problem.names[number] for number in parents],
        sizes_bytes=columns[2],
        fixed=frozenset(np.flatnonzero(np.isin(parents, sorted(problem.fixed))).tolist()),
    )
    versions = [
        _with_traffic(
            with_sizes,
            [_divide_traffic(p, workload, segments, parents, half) for p in problem.phases],
        )
        for half in (None, 0, 1)
    ]
    return RangedProblem(versions[0], parents, columns[0], columns[1], (versions[1], versions[2]))


def _rows_of(segments: Segments | None, whole: float) -> list[tuple[float, float, float]]:
    if segments is None:
        return [(0.0, 0.0, whole)]
    columns = (segments.begins, segments.ends, segments.sizes)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _with_traffic(problem: Problem, phases: list[PhaseTraffic]) -> Problem:
    """Return the problem with other rows; their total traffic is equal, so models are kept."""
    by_far = [
        [model.with_objects(phase) for model, phase in zip(models, phases, strict=True)]
        for models in problem.by_far
    ]
    return replace(problem, phases=phases, by_far=by_far)


def _divide_traffic(
    phase: PhaseTraffic,
    workload: WorkloadProfile,
    segments: dict[int, Segments],
    parents: NDArray[np.intp],
    half: int | None,
) -> PhaseTraffic:
    """Return the phase with the traffic of each object divided among its segments."""
    lines = phase.objects[parents].copy()
    rows = next(each.objects for each in workload.phases if each.name == phase.name)
    counted = {row.object: row for row in rows}
    for number, of_object in segments.items():
        at = np.flatnonzero(parents == number)
        lines[at] *= _portions(of_object, counted.get(number), half, lines.shape[1])
    return replace(phase, objects=lines)


def _portions(
    segments: Segments, row: ObjectTraffic | None, half: int | None, columns: int
) -> Array:
    """Return each segment's share of the object's traffic by column, (segments, columns)."""
    by_bytes = segments.sizes / segments.sizes.sum()
    portions = np.tile(by_bytes[:, np.newaxis], (1, columns))
    if row is None or row.ranges is None:
        return portions
    lines = _lines(row.ranges, half)
    if lines.sum() <= 0.0:
        return portions
    of_all = _by_segment(segments, lines)
    portions = np.tile(of_all[:, np.newaxis], (1, columns))
    for name, into in COUNTED.items():
        counts = np.asarray(getattr(row.ranges, name), dtype=float)
        if half is None and counts.sum() > 0.0:
            portions[:, into] = _by_segment(segments, counts)[:, np.newaxis]
    uncounted = max(0.0, 1.0 - _counted_share(row))
    return np.asarray((1.0 - uncounted) * portions + uncounted * by_bytes[:, np.newaxis])


def _by_segment(segments: Segments, counts: Array) -> Array:
    """Return each segment's share of the counts, which are by range."""
    groups = segments.groups[: len(counts)]
    sums = np.bincount(groups, weights=counts, minlength=len(segments.sizes))
    return np.asarray(sums / counts.sum())


def _lines(ranges: RangeTraffic, half: int | None = None) -> Array:
    """Return the lines of each range, from the whole sample or from one half (0 or 1)."""
    second = np.asarray(ranges.second_half, dtype=float)
    if half == 1:
        return second
    both = sum(np.asarray(getattr(ranges, name), dtype=float) for name in COUNTED)
    return np.asarray(np.maximum(both - second, 0.0) if half == 0 else both)


def _counted_share(row: ObjectTraffic) -> float:
    """Return the share of the object's misses and write-backs that are counted by range."""
    lines = row.traffic.misses() + row.traffic.write_backs
    if row.ranges is None or lines <= 0.0:
        return 0.0
    return float(_lines(row.ranges).sum()) / lines


def _segments(problem: Problem, workload: WorkloadProfile) -> Iterator[Segments]:
    """Yield the objects that have segments which differ in traffic."""
    names = {phase.name for phase in problem.phases}
    rows: dict[int, list[ObjectTraffic]] = {}
    for phase in workload.phases:
        for row in phase.objects if phase.name in names else ():
            if workload.objects[row.object].range_bytes and row.traffic.misses() > 0.0:
                rows.setdefault(row.object, []).append(row)
    for number, of_object in sorted(rows.items()):
        if number not in problem.fixed:
            segments = _segments_of(workload.objects[number], of_object, workload.sampling.rate)
            if segments is not None:
                yield segments


def _segments_of(item: MemoryObject, rows: Sequence[ObjectTraffic], rate: float) -> Segments | None:
    lines = sum(row.traffic.misses() + row.traffic.write_backs for row in rows)
    ranges = [row.ranges for row in rows if row.ranges is not None]
    count = max((len(each.second_half) for each in ranges), default=0)
    halves = np.zeros((2, count))
    for each in ranges:
        for half in (0, 1):
            halves[half, : len(each.second_half)] += _lines(each, half)
    if count < 2 or halves.sum() < MIN_COUNTED_SHARE * lines or item.size_bytes <= 0:
        return None
    begins = np.arange(count, dtype=float) * item.range_bytes
    ends = begins + item.range_bytes
    ends[-1] = max(float(item.size_bytes), begins[-1] + 1.0)
    if item.size_bytes < begins[-1]:
        ends[-1] = begins[-1] + item.range_bytes
    if ends[-1] > MAX_SPAN * item.size_bytes:
        return None
    sizes = (ends - begins) * (item.size_bytes / ends[-1])
    groups = joined_ranges(halves / rate, sizes)
    if groups[-1] == 0:
        return None
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    last = np.append(first[1:], count) - 1
    return Segments(
        object=item.id,
        begins=begins[first],
        ends=ends[last],
        sizes=np.asarray(np.bincount(groups, weights=sizes), dtype=float),
        groups=groups,
    )


def joined_ranges(halves: Array, sizes: Array) -> NDArray[np.intp]:
    """Return the segment of each range, by sampled lines (2, ranges) and bytes of each range.

    The pair of neighbours that differs least is joined, repeatedly, until all pairs differ by
    `MIN_DEVIATIONS` in both halves of the sample. (A single hot line is in one half only.) The
    variance of a count is the count times `excess`, which follows from the halves' difference.
    """
    counts = halves.sum(axis=0)
    seen = counts > 0
    differences = (halves[0, seen] - halves[1, seen]) ** 2 / counts[seen]
    excess = max(1.0, float(differences.mean())) if seen.any() else 1.0
    groups = [[at] for at in range(len(counts))]
    lines, size = list(halves.T), sizes.tolist()
    deviations = [_deviations(lines, size, at, excess) for at in range(len(groups) - 1)]
    while deviations and min(deviations) < MIN_DEVIATIONS:
        at = deviations.index(min(deviations))
        groups[at] += groups.pop(at + 1)
        lines[at] = lines[at] + lines.pop(at + 1)
        size[at] += size.pop(at + 1)
        deviations.pop(at)
        for pair in (at - 1, at):
            if 0 <= pair < len(deviations):
                deviations[pair] = _deviations(lines, size, pair, excess)
    return np.repeat(np.arange(len(groups)), [len(group) for group in groups])


def _deviations(lines: Sequence[Array], sizes: Sequence[float], at: int, excess: float) -> float:
    """Return the difference of two neighbours' traffic per byte, in standard deviations.

    The smaller difference of the two halves counts, scaled to the whole sample.
    """
    share = sizes[at] / (sizes[at] + sizes[at + 1])
    first, second = (
        _signed_deviation(float(lines[at][half]), float(lines[at + 1][half]), share, excess)
        for half in (0, 1)
    )
    return sqrt(2.0) * min(abs(first), abs(second)) if first * second > 0.0 else 0.0


def _signed_deviation(a: float, b: float, share: float, excess: float) -> float:
    """Return the deviation of `a` of `a + b` lines from `share`, by the likelihood ratio."""
    expected = ((a + b) * share, (a + b) * (1.0 - share))
    ratio = sum(x * log(x / e) for x, e in zip((a, b), expected, strict=True) if x > 0.0)
    deviation = sqrt(max(0.0, 2.0 * ratio / excess))
    return deviation if a > expected[0] else -deviation
