"""The cost of persisting for a list, a hash set and a skip list, in turns with volatile sets.

Two facts that hold on any machine are judged, and slowdowns are shown: flushes and fences add less
to persistent code than that code costs over the volatile set, so a set that skips them is no
baseline; and the lost throughput grows from list to hash set, as published.
"""

from __future__ import annotations

from benchmarks import Row, make_row
from nearfar_bench.kinds.intset import slowdown_text
from nearfar_bench.slowdowns import Pair, geometric_mean_slowdown
from nearfar_studies.intset_runs import (
    DRAM,
    NO_FLUSH,
    STRUCTURES,
    VOLATILE,
    SetCase,
    SetPlan,
    SetRuns,
    sets,
)

SECONDS = 15

PLAN = SetPlan(sizes=(256,), repeats=10, seconds=0.1)
"""The original benchmark's first size, with the published number of runs."""

PUBLISHED = {"list": 3.2, "hash": 11.2, "skip": 4.7}
COMMAND = "nearfar bench intset --set initial=256"


def rows() -> list[Row]:
    """Measure; return a row per baseline and one for the order of the structures."""
    runs = sets(PLAN, (VOLATILE, NO_FLUSH, DRAM))
    results = []
    for baseline, words in ((VOLATILE, "volatile"), (NO_FLUSH, "persistent code without flushes")):
        by_structure = {each: [pair(runs, each, baseline, DRAM)] for each in STRUCTURES}
        mean = geometric_mean_slowdown([item for pairs in by_structure.values() for item in pairs])
        each = ", ".join(
            f"{structure} {slowdown_text(geometric_mean_slowdown(pairs))}"
            for structure, pairs in by_structure.items()
        )
        results.append(
            make_row(
                f"sets in a pool in DRAM, geometric mean slowdown over {words}",
                mean.value,
                "x",
                # The published mean on Optane is 5.54 with larger, slower volatile sets; flushes to
                # DRAM have never doubled the rest of a transaction.
                bar=30.0 if baseline == VOLATILE else 3.0,
                peer=f"{words}, same rounds",
                command=COMMAND,
                note=f"{slowdown_text(mean)}; {each}",
            )
        )
    slowest, rest = (
        geometric_mean_slowdown([pair(runs, each, VOLATILE, DRAM) for each in names]).value
        for names in (["hash"], ["list", "skip"])
    )
    published = PUBLISHED["hash"] / (PUBLISHED["list"] * PUBLISHED["skip"]) ** 0.5
    results.append(
        make_row(
            f"the hash set loses most, over list and skip list (published {published:.1f}x)",
            slowest,
            "x",
            bar=1.0,
            at_most=False,
            judge="ratio",
            peer="list and skip list, geometric mean",
            peer_value=rest,
            command=COMMAND,
        )
    )
    return results


def pair(runs: SetRuns, structure: str, baseline: str, memory: str) -> Pair:
    """Return the throughputs of one set in two memories."""
    size = PLAN.sizes[0]
    return (
        runs.throughput[SetCase(structure, size, baseline)],
        runs.throughput[SetCase(structure, size, memory)],
    )
