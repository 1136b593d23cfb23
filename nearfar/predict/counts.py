"""The counts that a phase is predicted from, and how far its other counts differ.

A profile holds several counts of the same misses: the source's by object and by instruction, the
number of sampled misses, miss curves from other lines, and, where QEMU ran, its own. An observer
can miss accesses but cannot invent any, so its counts may be too small, never too large. So where
counts disagree, the largest is used, a sentence names all that differ, and the interval reaches
from the smallest to the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.documents.workload import (
    AccessClasses,
    CountCheck,
    ObjectTraffic,
    Phase,
    Traffic,
    WorkloadProfile,
)
from nearfar.profile.added_traffic import add_traffic

RUNS_AGREE = 1.15
"""Ratio up to which the counts of two runs agree; they are runs of two builds with random sampled
lines."""
SUMS_AGREE = 1.03
"""Ratio up to which two sums of the same counters agree."""
CURVES_AGREE = 1.3
"""Ratio up to which a miss curve agrees with the simulated cache: the curve is of a fully
associative cache, and of fewer lines."""
KEPT_AGREE = 1.1
"""Ratio of an object's misses to those of its kept instructions, which hold 99 % of all."""
MAX_KEPT = 500
"""Number of instructions that a profile keeps at most; at this number they may hold less."""
MIN_SAMPLED = 30.0
"""Least difference in sampled misses: fewer are noise."""
MISS_NS = 30.0
MIN_TIME_SHARE = 0.01
"""Counts are compared if the difference, at `MISS_NS` a miss, takes this share of near time; the
misses of a program's start-up, for example, do not matter."""

UNSEEN = (
    "inline assembly was left out",
    "vector accesses were left out",
    "is not instrumented but allocates",
    "hardly any access to",
    "were built by another version of nearfar",
    "were built with another --nearfar-rate",
    "of phase, instruction and object (not counted)",
)
"""Texts in a profile's warnings which mean that accesses were not counted."""

OTHER_CACHE = "miss curves"
"""Beginning of the cache's origin in a profile converted to another cache."""


@dataclass(frozen=True)
class PhaseCounts:
    """The counts of one phase."""

    objects: Sequence[ObjectTraffic]
    range: tuple[float, float] = (1.0, 1.0)
    """Lowest and highest count by any observer, relative to the lines used."""
    remarks: tuple[str, ...] = ()
    unseen: bool = False
    """Whether the profile left out accesses that nothing else counted. Then any part of near time
    may be waiting for memory."""


@dataclass(frozen=True)
class _Count:
    """The misses of a phase by one observer."""

    observer: str
    misses: float
    agree: float
    """Ratio up to which it agrees with the objects' sum."""
    is_part: bool
    """Whether the observer may have seen only part of the run: a lower count then means nothing."""
    objects: Callable[[], Sequence[ObjectTraffic]]
    """Returns the objects' counts by this observer; most are never asked for."""


def counts_of(
    workload: WorkloadProfile, phase: Phase, all_listed: Callable[[], Sequence[float]]
) -> PhaseCounts:
    """Return the counts that predictions of a phase use.

    `all_listed` returns the misses of each phase, which `listed_misses` counts.
    """
    if workload.extrapolation is not None or workload.cache.origin in ("code", "counters"):
        return PhaseCounts(phase.objects)
    listed = all_listed()[next(n for n, each in enumerate(workload.phases) if each is phase)]
    rows, remarks = _without_impossible(workload, phase, listed)
    if remarks:
        phase = msgspec.structs.replace(phase, objects=list(rows))
    # Counts for another cache come from the curves alone.
    other_cache = workload.cache.origin.startswith(OTHER_CACHE)
    counts = [] if other_cache else list(_other_counts(workload, phase, listed, sum(all_listed())))
    larger = [count for count in counts if _exceeds(workload, phase, count.misses, count, listed)]
    smaller = [
        count
        for count in counts
        if not count.is_part and _exceeds(workload, phase, listed, count, count.misses)
    ]
    unseen = _has_uncounted_accesses(workload) and not any(
        check.phase == phase.name for check in workload.checks
    )
    remarks += [_unseen_remark(phase)] if unseen else []
    if not larger and not smaller:
        return PhaseCounts(phase.objects, remarks=tuple(remarks), unseen=unseen)
    own = _Count("its objects", listed, 1.0, is_part=False, objects=lambda: phase.objects)
    most = max(count.misses for count in (own, *larger))
    # QEMU's counts come last, because only the profile's own have access classes.
    used = next(count for count in (own, *larger) if count.misses * RUNS_AGREE >= most)
    differ = [own, *larger, *smaller]
    remarks.append(_disagreement(phase, differ, used))
    ends = (min(count.misses for count in differ) / used.misses, max(most / used.misses, 1.0))
    return PhaseCounts(used.objects(), ends, tuple(remarks), unseen=unseen)


def listed_misses(workload: WorkloadProfile) -> list[float]:
    """Return the misses of each phase by the counts of its objects."""
    return [_misses(phase.objects) for phase in workload.phases]


def _without_impossible(
    workload: WorkloadProfile, phase: Phase, lines: float
) -> tuple[Sequence[ObjectTraffic], list[str]]:
    """Return the objects' counts, write-backs within limits, and a remark on each contradiction."""
    rows, noise = phase.objects, MIN_SAMPLED * workload.sampling.rate
    traffic = [row.traffic for row in rows]
    accesses = sum([each.accesses for each in traffic])
    in_sequence = sum(
        each.read_sequential.total() + each.write_sequential.total() for each in traffic
    )
    backs = sum(each.write_backs for each in traffic)
    flushed = sum(each.flushes + each.syncs for each in traffic)
    stored = sum(each.nt_store_bytes + each.sync_bytes for each in traffic) / LINE_BYTES
    most = lines + flushed + stored + workload.cache.size_bytes / LINE_BYTES
    remarks = []
    if 0.0 < SUMS_AGREE * accesses < lines - noise:
        remarks.append(f"{lines:,.0f} misses of {accesses:,.0f} accesses; the misses are used")
    if in_sequence > SUMS_AGREE * lines + noise:
        remarks.append(
            f"{in_sequence:,.0f} misses in sequence of {lines:,.0f}; no more than all are used"
        )
    if backs > RUNS_AGREE * most + noise:
        remarks.append(
            f"{backs:,.0f} lines written back, of {most:,.0f} that it fetched, stored past the "
            "caches or found in them; as many are used"
        )
        rows = [_with_write_backs(row, most / backs) for row in rows]
    contradiction = "the profile contradicts itself: profile the program again"
    return rows, [f"phase {phase.name!r} has {text}; {contradiction}" for text in remarks]


def _with_write_backs(row: ObjectTraffic, factor: float) -> ObjectTraffic:
    """Return the row with `factor` times the lines written back."""
    backs = factor * row.traffic.write_backs
    traffic = msgspec.structs.replace(row.traffic, write_backs=backs)
    return msgspec.structs.replace(row, traffic=traffic)


def _other_counts(
    workload: WorkloadProfile, phase: Phase, listed: float, all_listed: float
) -> Iterator[_Count]:
    """Yield the counts of a phase besides those of its objects, which are `listed`.

    `all_listed` is the sum over all phases.
    """
    by_object: dict[int, float] = {}
    for row in phase.instructions:
        by_object[row.object] = by_object.get(row.object, 0.0) + row.misses
    if by_object:
        # Instructions are a part of the objects: an object with fewer misses contradicts them.
        def with_instructions() -> list[ObjectTraffic]:
            return [_at_least(row, by_object.get(row.object, 0.0)) for row in phase.objects]

        least = sum(_least(row, by_object.get(row.object, 0.0)) for row in phase.objects)
        if least > SUMS_AGREE * listed:
            yield _Count("its instructions", least, SUMS_AGREE, True, with_instructions)
        else:
            parts, few = sum(by_object.values()), _keeps_few(workload, all_listed)
            yield _Count("its instructions", parts, KEPT_AGREE, few, with_instructions)
    sampled = float(workload.sampling.sampled_misses) * workload.sampling.rate
    if listed > 0.0 and sampled > 0.0:
        factor = sampled / all_listed
        yield _Count(
            "its sampled lines",
            listed * factor,
            SUMS_AGREE,
            True,
            lambda: [_scaled(row, factor) for row in phase.objects],
        )
    if workload.curve_bytes:
        rows = [_by_curve(workload, row) for row in phase.objects]
        yield _Count("its miss curves", _misses(rows), CURVES_AGREE, False, lambda: rows)
    for check in workload.checks:
        if check.phase == phase.name:
            yield _by_check(phase, check)


def _keeps_few(workload: WorkloadProfile, listed: float) -> bool:
    """Return whether the kept instructions of an intact profile may lack misses of a phase.

    Kept instructions have 99 % of the misses of all phases together. Of a phase that has 1 % of
    these misses, they may have few.
    """
    kept = sum(row.misses for phase in workload.phases for row in phase.instructions)
    return len(workload.instructions) >= MAX_KEPT or KEPT_AGREE * kept > listed


def _by_check(phase: Phase, check: CountCheck) -> _Count:
    """Return QEMU's counts, with the profile's access classes for misses that both counted."""
    own = {row.object: row for row in phase.objects}
    rows = dict(own)
    for seen in check.objects:
        known = own.get(seen.object)
        misses, before = seen.traffic.misses(), known.traffic.misses() if known else 0.0
        if known is None:
            rows[seen.object] = seen
        elif misses > before:
            more = add_traffic(known.traffic, seen.traffic, 1.0 - before / misses)
            rows[seen.object] = ObjectTraffic(object=seen.object, traffic=more, curve=known.curve)
    joined, counted = list(rows.values()), _misses(check.objects)
    # An object that QEMU and the profile name differently would count twice.
    objects = joined if _misses(joined) <= RUNS_AGREE * counted else check.objects
    agree = RUNS_AGREE + 2.0 * check.relative_error
    return _Count("QEMU", counted, agree, not check.complete, lambda: objects)


def _exceeds(
    workload: WorkloadProfile, phase: Phase, more: float, count: _Count, less: float
) -> bool:
    """Return whether `more` exceeds `less` beyond the tolerance of `count`, and by enough misses.

    "Enough" is above sampling noise, with at least `MIN_TIME_SHARE` of near time.
    """
    difference = more - less
    return (
        more > count.agree * less
        and difference > MIN_SAMPLED * workload.sampling.rate
        and difference * MISS_NS > MIN_TIME_SHARE * phase.near_cpu_time_ns.value
    )


def _disagreement(phase: Phase, counts: Sequence[_Count], used: _Count) -> str:
    each = ", ".join(f"{count.misses:,.0f} by {count.observer}" for count in counts)
    only_seen = all(count.observer in ("its objects", "QEMU") for count in counts)
    reason = (
        "QEMU sees inline assembly and libraries, which the compiler pass does not"
        if only_seen
        else "the profile contradicts itself: profile the program again"
    )
    return (
        f"phase {phase.name!r}: its counts of misses disagree ({each}); those by {used.observer} "
        f"are used, and the interval reaches to all of them; {reason}"
    )


def _unseen_remark(phase: Phase) -> str:
    return (
        f"phase {phase.name!r}: accesses were left out of the profile and nothing else counted "
        "them, so the interval reaches to all of near time waiting for memory: profile with "
        "--bursts, which counts them under QEMU, or an unmodified build with --source qemu"
    )


def _has_uncounted_accesses(workload: WorkloadProfile) -> bool:
    return any(part in warning for warning in workload.warnings for part in UNSEEN)


def _misses(rows: Sequence[ObjectTraffic]) -> float:
    return sum(row.traffic.misses() for row in rows)


def _at_least(row: ObjectTraffic, misses: float) -> ObjectTraffic:
    """Return the row with at least so many misses."""
    own = row.traffic.misses()
    if misses <= own:
        return row
    if own <= 0.0:
        traffic = Traffic(read_misses=AccessClasses(opaque=misses))
        return ObjectTraffic(object=row.object, traffic=traffic, curve=row.curve)
    return _scaled(row, misses / own)


def _least(row: ObjectTraffic, misses: float) -> float:
    """Return the misses of `_at_least`."""
    own = row.traffic.misses()
    return own if misses <= own else _at_least(row, misses).traffic.misses()


def _by_curve(workload: WorkloadProfile, row: ObjectTraffic) -> ObjectTraffic:
    """Return the row with its curve's misses at the simulated cache's size, if it has a curve."""
    if row.curve is None or not workload.curve_bytes or row.traffic.misses() <= 0.0:
        return row
    sizes = np.log2(workload.curve_bytes)
    at = np.log2(workload.cache.size_bytes)
    misses = sum(float(np.interp(at, sizes, part)) for part in (row.curve.read, row.curve.write))
    return _scaled(row, misses / row.traffic.misses())


def _scaled(row: ObjectTraffic, factor: float) -> ObjectTraffic:
    """Return the row with `factor` times the traffic."""
    traffic = add_traffic(Traffic(), row.traffic, factor)
    return ObjectTraffic(object=row.object, traffic=traffic, curve=row.curve)
