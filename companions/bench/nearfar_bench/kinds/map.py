"""Maps: the cost of persistence by kind of operation over all maps, and the lock."""

from __future__ import annotations

from statistics import geometric_mean

from nearfar.documents.bench import BenchResult
from nearfar_bench.kind import KINDS, KindReport


@KINDS.register("map")
class Map(KindReport):
    """Report of maps: slowdowns by operation and memory."""

    def summary(self, result: BenchResult) -> list[str]:
        """Return geometric means of slowdowns, and the locks of threads."""
        by_kind: dict[tuple[str, str], list[float]] = {}
        for cell in result.cells:
            if cell.slowdown is None:
                continue
            shown = {**result.arguments, **cell.arguments}
            key = shown.get("operation", "insert"), shown.get("memory", "volatile")
            by_kind.setdefault(key, []).append(cell.slowdown.value)
        sentences = [
            f"{operation}, {memory}: {geometric_mean(slowdowns):.3g} times as long, geometric mean "
            f"of {len(slowdowns)}"
            for (operation, memory), slowdowns in by_kind.items()
            if len(slowdowns) > 1
        ]
        locks = sorted({cell.words["locking"] for cell in result.cells if "locking" in cell.words})
        shared = [lock for lock in locks if "no lock" not in lock]
        return sentences + [f"several threads: {lock}" for lock in shared]
