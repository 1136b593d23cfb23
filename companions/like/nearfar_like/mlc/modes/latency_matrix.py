"""``--latency_matrix``: idle latency from every node's CPUs to every node's memory."""

from __future__ import annotations

from typing import Any

from nearfar_like.bench import BufferPlace
from nearfar_like.mlc import tables
from nearfar_like.mlc.run import MlcRun
from nearfar_like.repeat import summed


def run(run: MlcRun) -> dict[str, Any]:
    """Measure the matrix; with ``-a`` from every CPU (``-X``: of every core)."""
    size = run.latency_bytes()
    run.head(size, None)
    memories = [node.id for node in run.nodes() if node.memory_bytes]
    if run.arguments.has("a"):
        cpus = run.all_cpus()
        if run.arguments.has("X"):
            cpus = run.bench.one_per_core(cpus)
        rows = {cpu: cpu for cpu in cpus}
    else:
        rows = {node.id: node.cpus[0] for node in run.nodes() if node.cpus}
    kind = "random" if run.arguments.random_latency else "sequential"
    run.say(f"Measuring idle latencies for {kind} access (in ns)...")
    by = "cpu" if run.arguments.has("a") else "cpu_node"
    values: dict[int, dict[int, float]] = {}
    cells = []
    for row, cpu in rows.items():
        for memory in memories:
            latency = summed(run.measure(run.chase(cpu, BufferPlace(memory), size), []).ns, "ns")
            values.setdefault(row, {})[memory] = latency["value_ns"]
            cells.append({by: row, "memory_node": memory, **latency})
            run.spread(f"{by} {row} to node {memory}", latency, "ns")
    first = "CPU      " if run.arguments.has("a") else "Numa node"
    run.lines(tables.latency_matrix(values, memories, first))
    return {"buffer_bytes": size, "matrix": cells}
