"""``--c2c_latency``: how long a line that one core wrote takes to another."""

from __future__ import annotations

from statistics import median
from typing import Any

from nearfar_like.mlc import tables
from nearfar_like.mlc.run import Run
from nearfar_like.repeat import summed


def run(run: Run) -> dict[str, Any]:
    """Measure every pair of cores; print the medians within a node and between nodes."""
    pairs = run.bench.core_to_core()
    run.say("Measuring cache-to-cache transfer latency (in ns)...")
    local = [one for one in pairs if run.node_of(one.cpu) == run.node_of(one.other_cpu)]
    if local:
        hit = median(ns for one in local for ns in one.clean_ns)
        hitm = median(ns for one in local for ns in one.modified_ns)
        run.say(f"Local Socket L2->L2 HIT  latency\t{hit:.1f}")
        run.say(f"Local Socket L2->L2 HITM latency\t{hitm:.1f}")
    between: dict[int, dict[int, list[float]]] = {}
    for one in pairs:
        first, second = run.node_of(one.cpu), run.node_of(one.other_cpu)
        if first != second:
            between.setdefault(first, {}).setdefault(second, []).extend(one.modified_ns)
            between.setdefault(second, {}).setdefault(first, []).extend(one.modified_ns)
    if between:
        rows = {
            first: {second: median(values) for second, values in row.items()}
            for first, row in between.items()
        }
        run.lines(
            tables.writers_readers(
                "Remote Socket L2->L2 HITM latency (either socket the writer's)", rows, sorted(rows)
            )
        )
    return {
        "pairs": [
            {
                "cpu": one.cpu,
                "other_cpu": one.other_cpu,
                "hitm": summed(one.modified_ns, "ns"),
                "hit": summed(one.clean_ns, "ns"),
            }
            for one in pairs
        ]
    }
