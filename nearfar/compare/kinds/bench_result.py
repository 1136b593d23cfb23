"""Two results of `nearfar bench`: the values of every cell, by its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from nearfar.compare.kind import KINDS, ComparableKind, ComparedValue, SideNames
from nearfar.documents import BenchResult

MORE_IS_BETTER = ("_per_s",)
"""Endings of names of values of which more is better; others are times, shares or counts."""


@KINDS.register("bench-result")
class BenchResults(ComparableKind[BenchResult]):
    """Results of one experiment; several results of a folder pool their samples."""

    document = BenchResult

    def values(self, documents: Sequence[BenchResult]) -> list[ComparedValue]:
        """Return all values of all cells."""
        samples: dict[tuple[str, str], list[float]] = {}
        for result in documents:
            for cell in result.cells:
                name = ", ".join(f"{key} {value}" for key, value in cell.arguments.items())
                for what, values in cell.samples.items():
                    samples.setdefault((what, name), []).extend(values)
        return [
            ComparedValue(
                what,
                name,
                "ns" if what.startswith(("ns_", "cpu_ns_")) else "",
                median(values),
                "less" if what.endswith(MORE_IS_BETTER) else "more",
                samples=tuple(values),
                timed=True,
            )
            for (what, name), values in samples.items()
            if values
        ]

    def warnings(
        self, a: Sequence[BenchResult], b: Sequence[BenchResult], names: SideNames
    ) -> list[str]:
        """Warn of different experiments."""
        if (a[0].name, a[0].arguments) != (b[0].name, b[0].arguments):
            return [f"{names.a} is {a[0].title!r}, {names.b} {b[0].title!r}, with other arguments"]
        return []
