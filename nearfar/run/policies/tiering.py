"""The kernel moves cold pages down (demotion) and hot ones up (NUMA balancing in tiering mode)."""

from __future__ import annotations

from pathlib import Path

from nearfar.documents.machine import Node
from nearfar.machine.sysfs import Tree
from nearfar.run.policies import POLICIES, Policy, far_node, lacks

DEMOTION = "sys/kernel/mm/numa/demotion_enabled"
BALANCING = "proc/sys/kernel/numa_balancing"
TIERING_MODE = 2
"""NUMA_BALANCING_MEMORY_TIERING in linux/sched/numa_balancing.h."""


@POLICIES.register("tiering")
def tiering(nodes: list[Node], root: Path) -> Policy:
    """Return the policy if the machine's tiering is on; its settings are not changed."""
    tree = Tree(root)
    if far_node(nodes) is None:
        raise lacks(
            "--policy tiering needs a lower tier, a memory node without CPUs, and there is none: "
            "nearfar machine --check shows the nodes and what could be made one"
        )
    demotion = (tree.text(DEMOTION) or "").strip()
    if not demotion:
        raise lacks("this kernel cannot demote pages: that came with Linux 5.15 and needs NUMA")
    missing = []
    if demotion not in ("1", "true"):
        missing.append(f"echo 1 | sudo tee /{DEMOTION}")
    if not (tree.number(BALANCING) or 0) & TIERING_MODE:
        missing.append(f"echo {TIERING_MODE} | sudo tee /{BALANCING}")
    if missing:
        raise lacks(f"the kernel's tiering is off: {'; '.join(missing)}")
    return Policy(
        note="demotion and promotion are on; pages go near first, while near memory is free"
    )
