"""``--bandwidth_matrix``: all CPUs of every node against the memory of every node."""

from __future__ import annotations

from typing import Any

from nearfar_like.bench import BufferPlace
from nearfar_like.mlc import tables
from nearfar_like.mlc.run import MlcRun, mb_per_s


def run(run: MlcRun) -> dict[str, Any]:
    """Measure the matrix with the traffic of ``-R`` or ``-W``."""
    kind = run.arguments.traffic
    chosen = run.bandwidth_cpus()
    rows = {
        node.id: tuple(cpu for cpu in node.cpus if cpu in chosen)
        for node in run.nodes()
        if any(cpu in chosen for cpu in node.cpus)
    }
    memories = [node.id for node in run.nodes() if node.memory_bytes]
    size = run.bandwidth_bytes(min(len(cpus) for cpus in rows.values()))
    run.head(None, size)
    run.say("Measuring Memory Bandwidths between nodes within system")
    run.units_line()
    run.threads_line()
    run.say(f"Using {kind.title} traffic type")
    values: dict[int, dict[int, float]] = {}
    cells = []
    for row, cpus in rows.items():
        for memory in memories:
            workers = run.workers(cpus, BufferPlace(memory), size, kind)
            bandwidth = mb_per_s(run.measure(None, workers), [kind] * len(workers))
            values.setdefault(row, {})[memory] = bandwidth["value_mb_per_s"]
            cells.append(
                {"cpu_node": row, "memory_node": memory, "threads": len(cpus), **bandwidth}
            )
            run.spread(f"node {row} to node {memory}", bandwidth, "mb_per_s")
    run.lines(tables.bandwidth_matrix(values, memories))
    return {"traffic": kind.name, "buffer_bytes": size, "matrix": cells}
