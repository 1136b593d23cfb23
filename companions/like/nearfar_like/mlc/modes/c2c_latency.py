"""``--c2c_latency``: how long a line that one core wrote takes to another."""

from __future__ import annotations

from statistics import median
from typing import Any

from nearfar_like.mlc import tables
from nearfar_like.mlc.run import MlcRun
from nearfar_like.repeat import summed


def run(run: MlcRun) -> dict[str, Any]:
    """Measure every pair of cores; print the medians within a node and between nodes."""
    pairs = run.bench.core_to_core()
    for pair in pairs:
        cores = f"CPU {pair.cpu} to CPU {pair.other_cpu}"
        run.noise.value(f"{cores}, HITM", pair.modified_ns, "ns")
        run.noise.value(f"{cores}, HIT", pair.clean_ns, "ns")
    run.say("Measuring cache-to-cache transfer latency (in ns)...")
    local = [pair for pair in pairs if run.node_of(pair.cpu) == run.node_of(pair.other_cpu)]
    if local:
        hit = median(ns for pair in local for ns in pair.clean_ns)
        hitm = median(ns for pair in local for ns in pair.modified_ns)
        run.say(f"Local Socket L2->L2 HIT  latency\t{hit:.1f}")
        run.say(f"Local Socket L2->L2 HITM latency\t{hitm:.1f}")
    between: dict[int, dict[int, list[float]]] = {}
    for pair in pairs:
        first, second = run.node_of(pair.cpu), run.node_of(pair.other_cpu)
        if first != second:
            between.setdefault(first, {}).setdefault(second, []).extend(pair.modified_ns)
            between.setdefault(second, {}).setdefault(first, []).extend(pair.modified_ns)
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
                "cpu": pair.cpu,
                "other_cpu": pair.other_cpu,
                "hitm": summed(pair.modified_ns, "ns"),
                "hit": summed(pair.clean_ns, "ns"),
            }
            for pair in pairs
        ]
    }
