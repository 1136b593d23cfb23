"""Sets: slowdowns of each structure and their geometric mean, against both baselines."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.base.estimate import Estimate
from nearfar.documents.bench import BenchCell, BenchResult
from nearfar_bench.kind import KINDS, KindReport
from nearfar_bench.slowdowns import Pair, geometric_mean_slowdown

BASELINES = {
    "volatile": "the volatile set",
    "tmpfs,noflush": "the persistent code on DRAM without flushes",
}
THROUGHPUT = "operations_per_s"
STRUCTURES = {"list": "list", "hash": "hash set", "skip": "skip list"}


@KINDS.register("intset")
class Intset(KindReport):
    """Report of `intset`: slowdowns by structure and their means, as published."""

    def columns(self) -> list[str]:
        """Return throughput, as in the published figures."""
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
            means = {
                STRUCTURES.get(structure, structure): geometric_mean_slowdown(structure_pairs)
                for structure, structure_pairs in by_structure.items()
            }
            each = ", ".join(f"{name} {slowdown_text(mean)}" for name, mean in means.items())
            every = [pair for structure_pairs in by_structure.values() for pair in structure_pairs]
            overall = slowdown_text(geometric_mean_slowdown(every))
            together = f"; geometric mean {overall}" if len(by_structure) > 1 else ""
            yield f"{memory} against {words}: {each}{together}"


def skipped_sentences(result: BenchResult) -> Iterator[str]:
    """Yield a warning if the sets do not survive a crash."""
    used = {*result.matrix.get("safety", []), result.arguments.get("safety", "safe")} - {"safe"}
    if used:
        yield (
            f"safety {' and '.join(sorted(used))}: these sets do not survive a crash; their times "
            "only say what skipping safety hides"
        )


def pairs(result: BenchResult, baseline: str, memory: str) -> dict[str, list[Pair]]:
    """Return, by structure, throughputs on `baseline` and on `memory` of cells otherwise equal."""

    def other_arguments(cell: BenchCell) -> tuple[tuple[str, str], ...]:
        return tuple(sorted((k, v) for k, v in cell.arguments.items() if k != "memory"))

    bases = {
        other_arguments(cell): cell for cell in result.cells if _memory(result, cell) == baseline
    }
    by_structure: dict[str, list[Pair]] = {}
    for cell in result.cells:
        base = bases.get(other_arguments(cell))
        if base is None or _memory(result, cell) != memory:
            continue
        structure = {**result.arguments, **cell.arguments}.get("structure", "list")
        pair = (base.samples[THROUGHPUT], cell.samples[THROUGHPUT])
        by_structure.setdefault(structure, []).append(pair)
    return by_structure


def slowdown_text(estimate: Estimate) -> str:
    """Return a slowdown in words: ``3.21x (3.10-3.35)``."""
    return f"{estimate.value:.3g}x ({estimate.low:.3g}-{estimate.high:.3g})"


def _memory(result: BenchResult, cell: BenchCell) -> str:
    return {**result.arguments, **cell.arguments}.get("memory", "volatile")
