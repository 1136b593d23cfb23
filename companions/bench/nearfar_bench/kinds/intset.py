"""Sets: slowdowns of each structure and their geometric mean, against both baselines."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.base.estimate import Estimate
from nearfar.documents.bench import BenchCell, BenchResult
from nearfar_bench.kind import KINDS, Kind
from nearfar_bench.slowdowns import Pair, geometric_mean_slowdown

BASELINES = {
    "volatile": "the volatile set",
    "tmpfs,noflush": "the persistent code on DRAM without flushes",
}
THROUGHPUT = "operations_per_s"
STRUCTURES = {"list": "list", "hash": "hash set", "skip": "skip list"}


@KINDS.register("intset")
class Intset(Kind):
    """Says what the published comparison says: slowdowns by structure, and their means."""

    def columns(self) -> list[str]:
        """Return throughput, which the published figures are of."""
        return [THROUGHPUT]

    def summary(self, result: BenchResult) -> list[str]:
        """Return a sentence for each memory and baseline."""
        return [*slowdown_sentences(result), *skipped_sentences(result)]


def slowdown_sentences(result: BenchResult) -> Iterator[str]:
    """Yield the slowdowns of each memory against each baseline that was run."""
    for memory in dict.fromkeys(_memory(result, cell) for cell in result.cells):
        for baseline, words in BASELINES.items():
            by_structure = pairs(result, baseline, memory)
            if memory == baseline or not by_structure or memory == "volatile":
                continue
            each = ", ".join(
                f"{STRUCTURES.get(structure, structure)} {said(geometric_mean_slowdown(found))}"
                for structure, found in by_structure.items()
            )
            every = [pair for found in by_structure.values() for pair in found]
            mean = said(geometric_mean_slowdown(every))
            together = f"; geometric mean {mean}" if len(by_structure) > 1 else ""
            yield f"{memory} against {words}: {each}{together}"


def skipped_sentences(result: BenchResult) -> Iterator[str]:
    """Warn of results of sets that a crash would break."""
    used = {*result.matrix.get("safety", []), result.arguments.get("safety", "safe")} - {"safe"}
    if used:
        yield (
            f"safety {' and '.join(sorted(used))}: these sets do not survive a crash; their times "
            "only say what skipping safety hides"
        )


def pairs(result: BenchResult, baseline: str, memory: str) -> dict[str, list[Pair]]:
    """Return throughputs on `baseline` and on `memory` of all cells that differ only in it."""

    def rest(cell: BenchCell) -> tuple[tuple[str, str], ...]:
        return tuple(sorted((k, v) for k, v in cell.arguments.items() if k != "memory"))

    bases = {rest(cell): cell for cell in result.cells if _memory(result, cell) == baseline}
    found: dict[str, list[Pair]] = {}
    for cell in result.cells:
        base = bases.get(rest(cell))
        if base is None or _memory(result, cell) != memory:
            continue
        structure = {**result.arguments, **cell.arguments}.get("structure", "list")
        pair = (base.samples[THROUGHPUT], cell.samples[THROUGHPUT])
        found.setdefault(structure, []).append(pair)
    return found


def said(estimate: Estimate) -> str:
    """Return a slowdown in words: ``3.21x (3.10-3.35)``."""
    return f"{estimate.value:.3g}x ({estimate.low:.3g}-{estimate.high:.3g})"


def _memory(result: BenchResult, cell: BenchCell) -> str:
    return {**result.arguments, **cell.arguments}.get("memory", "volatile")
