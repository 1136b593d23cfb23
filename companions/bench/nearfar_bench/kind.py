"""Reports of kinds of workload: figures, columns and sentences; see README.md."""

from __future__ import annotations

from nearfar.base.registry import Registry
from nearfar.documents.bench import BenchResult
from nearfar_bench.native import WorkloadRun

KINDS: Registry[type[KindReport]] = Registry("nearfar_bench.kinds", "kind of workload")


MIN_CPU_NS_FOR_SHARE = 50e6
"""Shortest processor time, in ns, for which a kernel share is shown. The kernel samples once per
tick (1 to 4 ms), so below a dozen ticks the share is chance."""


class KindReport:
    """Figures and sentences of a kind; this base class serves kinds without a file."""

    def figures(self, line: WorkloadRun) -> dict[str, float]:
        """Return extra figures of one run; the unit is in the name."""
        return {name: value for name, value in line.notes.items() if value is not None}

    def columns(self) -> list[str]:
        """Return which of `figures` the table shows."""
        return []

    def summary(self, result: BenchResult) -> list[str]:
        """Return sentences to print below the table."""
        del result
        return []


def kind_of(name: str) -> KindReport:
    """Return the report of a kind, or the default."""
    return KINDS.get(name)() if name in KINDS.names() else KindReport()


def common_figures(line: WorkloadRun) -> dict[str, float]:
    """Return the figures that every run has."""
    operations = max(line.operations, 1)
    figures = {
        "ns_per_operation": line.wall_ns / operations,
        "cpu_ns_per_operation": line.cpu_ns / operations,
        "operations_per_s": line.operations / max(line.wall_ns, 1.0) * 1e9,
    }
    if line.cpu_ns >= MIN_CPU_NS_FOR_SHARE:
        figures["kernel_share"] = min(line.system_ns / line.cpu_ns, 1.0)
    return figures
