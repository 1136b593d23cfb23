"""Results of a program that is instrumented by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nearfar.documents.workload import MemoryObject, Traffic
from nearfar.profile.run_file import ProcessFile
from nearfar.profile.traffic import RunTraffic

KINDS = ("read_misses", "write_misses", "read_sequential", "write_sequential")
"""Counts of a Traffic by access class."""


@dataclass
class Result:
    """Holds one run of a program under the runtime."""

    code: int
    output: str
    files: list[ProcessFile]
    objects: list[MemoryObject]
    traffic: RunTraffic
    phases: list[tuple[str, int, float]]
    """Name, entries, operations."""
    message: str

    def named(self, part: str) -> MemoryObject:
        """Return the only object whose name contains `part`."""
        results = [each for each in self.objects if part in each.name]
        assert len(results) == 1, [each.name for each in self.objects]
        return results[0]

    def of(self, part: str, phase: str | None = None) -> Traffic:
        """Return the traffic of the objects with that name, in one phase or all."""
        numbers = {each.id for each in self.objects if part in each.name}
        assert numbers, [each.name for each in self.objects]
        names = [name for name, _, _ in self.phases]
        total = Traffic()
        for (at, each), row in self.traffic.objects.items():
            if each in numbers and (phase is None or names[at] == phase):
                total.accesses += row.accesses
                total.write_backs += row.write_backs
                for name in ("chase", "indirect", "stream", "opaque"):
                    for kind in KINDS:
                        classes, more = getattr(total, kind), getattr(row, kind)
                        setattr(classes, name, getattr(classes, name) + getattr(more, name))
        return total


Build = Callable[..., Path]
Run = Callable[..., Result]
