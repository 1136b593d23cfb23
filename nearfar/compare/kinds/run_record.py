"""Runs of a program: wall and CPU time, and where its data landed.

A folder of records is better: each is one run, and only several show the random error.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from nearfar.compare.kind import KINDS, ComparableKind, ComparedValue, SideNames, Worse
from nearfar.documents import RunRecord


@KINDS.register("run-record")
class RunRecords(ComparableKind[RunRecord]):
    """One run, or a folder of runs of the same command."""

    document = RunRecord

    def values(self, documents: Sequence[RunRecord]) -> list[ComparedValue]:
        """Return medians over the runs."""
        values = [
            _of("time", "wall", "ns", [run.wall_time_ns for run in documents], timed=True),
            _of("time", "CPU", "ns", [run.cpu_time_ns for run in documents], timed=True),
        ]
        memories = dict.fromkeys(name for run in documents for name in run.pages_by_memory)
        for memory in memories:
            pages = [float(run.pages_by_memory.get(memory, 0)) for run in documents]
            values.append(_of("landing", f"in {memory}", "bytes", pages, "neither"))
        places: dict[str, list[float]] = {}
        for run in documents:
            for row in run.objects:
                if row.on_plan is not None:
                    places.setdefault(row.name, []).append(row.on_plan)
        values += [_of("objects", name, "on plan", on, "less") for name, on in places.items()]
        return values

    def warnings(
        self, a: Sequence[RunRecord], b: Sequence[RunRecord], names: SideNames
    ) -> list[str]:
        """Warn of different commands or policies, and of failed runs."""
        warnings = []
        for side, name in ((a, names.a), (b, names.b)):
            failed = sum(not run.exit_status.startswith("exited 0") for run in side)
            if failed:
                warnings.append(f"{failed} of {len(side)} runs of {name} failed")
        if a[0].command != b[0].command:
            warnings.append("they are runs of different commands")
        if a[0].policy != b[0].policy:
            warnings.append(f"{names.a} ran under {a[0].policy}, {names.b} under {b[0].policy}")
        return warnings


def _of(
    family: str,
    name: str,
    unit: str,
    values: list[float],
    worse: Worse = "more",
    *,
    timed: bool = False,
) -> ComparedValue:
    return ComparedValue(
        *(family, name, unit, median(values), worse),
        samples=tuple(values),
        timed=timed,
    )
