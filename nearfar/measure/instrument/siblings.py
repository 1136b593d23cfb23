"""CPUs that measure, and whether two of them share a core."""

from __future__ import annotations

import os
from pathlib import Path

from nearfar.machine.sysfs import Tree
from nearfar.measure.instrument.verdict import InstrumentVerdict
from nearfar.memories.topology import node_cpus


def judge(
    cpus: tuple[int, ...], root: Path = Path("/"), allowed: set[int] | None = None
) -> InstrumentVerdict:
    """Judge which CPUs were chosen, why, and whether siblings are idle."""
    tree = Tree(root)
    allowed = os.sched_getaffinity(0) if allowed is None else allowed
    idle: set[int] = set()
    shared: list[tuple[int, int]] = []
    known = True
    for cpu in cpus:
        siblings = tree.cpu_list(f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        known = known and siblings is not None
        others = set(siblings or []) - {cpu}
        shared += [(cpu, other) for other in sorted(others & set(cpus)) if cpu < other]
        idle |= others - set(cpus)
    first = cpus[0]
    listed = ", ".join(map(str, cpus))
    node = next((n for n in range(1024) if first in node_cpus(n, root)), None)
    why = f"CPU{'s' if len(cpus) > 1 else ''} {listed} measured: one of each core"
    why += f" of node {node}" if node is not None else ""
    if len(allowed) < (os.cpu_count() or 1):
        why += f" that this process may use ({len(allowed)} of {os.cpu_count()} CPUs)"
    kept = {"cpus_chosen": listed, "siblings_idle": ", ".join(map(str, sorted(idle))) or "none"}
    if shared:
        pairs = ", ".join(f"{first} and {second}" for first, second in shared)
        return InstrumentVerdict(
            "cpus",
            "doubtful",
            f"CPUs {pairs} are two threads of one core and share its caches and load buffers",
            "measure with fewer threads: --threads",
            kept,
        )
    if not known:
        return InstrumentVerdict(
            "cpus", "unknown", f"{why}; the kernel does not name siblings", facts=kept
        )
    why += f"; their siblings {kept['siblings_idle']} were left idle" if idle else ""
    return InstrumentVerdict("cpus", "good", why, facts=kept)
