"""References, lengths and orders of a workload profile that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from nearfar.documents.fields import MOST

if TYPE_CHECKING:
    from nearfar.documents.workload import ObjectTraffic, Phase, WorkloadProfile


def contradictions(profile: WorkloadProfile) -> Iterator[str]:
    """Yield each, in words."""
    for at, item in enumerate(profile.objects):
        if item.id != at:
            yield f"objects[{at}] has the id {item.id}; ids count from 0"
    if any(big <= small for small, big in pairwise(profile.curve_bytes)):
        yield "curve_bytes must rise"
    if name := next((name for name, value in profile.size.items() if not value <= MOST), None):
        yield f"size {name} must be at most {MOST:g}"
    names = [phase.name for phase in profile.phases]
    if twice := next((name for name in names if names.count(name) > 1), None):
        yield f"two phases are called {twice!r}"
    for phase in profile.phases:
        yield from _of_phase(profile, phase)
    for check in profile.checks:
        yield from _of_rows(profile, check.objects, f"the check of phase {check.phase!r}")


def _of_phase(profile: WorkloadProfile, phase: Phase) -> Iterator[str]:
    where = f"phase {phase.name!r}"
    time = phase.near_cpu_time_ns
    if not 0.0 <= time.low <= time.value <= time.high <= MOST:
        yield f"{where}: near_cpu_time_ns must be at least 0, with low <= value <= high"
    yield from _of_rows(profile, phase.objects, where)
    for row in phase.instructions:
        if row.object >= len(profile.objects) or row.instruction >= len(profile.instructions):
            yield f"{where}: a row is of an object or an instruction that is not listed"


def _of_rows(profile: WorkloadProfile, rows: list[ObjectTraffic], where: str) -> Iterator[str]:
    seen = set()
    for row in rows:
        if row.object >= len(profile.objects):
            yield f"{where}: there is no object {row.object}; there are {len(profile.objects)}"
        if row.object in seen:
            yield f"{where}: object {row.object} has two rows"
        seen.add(row.object)
        if (ranges := row.ranges) is not None:
            lists = (ranges.read_misses, ranges.write_misses, ranges.write_backs)
            if any(len(counts) != len(ranges.second_half) for counts in lists):
                yield f"{where}: the ranges of object {row.object} have lists of several lengths"
            sums = [sum(counts) for counts in zip(*lists, strict=False)]
            if any(
                half > 1.000001 * lines
                for half, lines in zip(ranges.second_half, sums, strict=False)
            ):
                yield f"{where}: half of a range of object {row.object} has more than all its lines"
        for name, points, curves in (
            (
                "curve_bytes",
                len(profile.curve_bytes),
                (row.curve.read, row.curve.write) if row.curve else (),
            ),
            (
                "page_curve_bytes",
                len(profile.page_curve_bytes),
                (row.page_curve.faults, row.page_curve.written) if row.page_curve else (),
            ),
        ):
            for curve in curves:
                if len(curve) != points:
                    yield (
                        f"{where}: a curve of object {row.object} has {len(curve)} points, and "
                        f"{name} has {points}"
                    )
