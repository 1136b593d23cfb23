"""Pages interleaved over the nodes by the weights in sysfs (Linux 6.9)."""

from __future__ import annotations

from pathlib import Path

from nearfar.documents.machine import Node
from nearfar.machine.sysfs import Tree
from nearfar.run.policies import POLICIES, WEIGHTED_INTERLEAVE, Policy, lacks, with_memory

WEIGHTS = "sys/kernel/mm/mempolicy/weighted_interleave"


@POLICIES.register("weighted-interleave")
def weighted_interleave(nodes: list[Node], root: Path) -> Policy:
    """Return the policy; its note has the machine's weights."""
    tree = Tree(root)
    if not tree.exists(WEIGHTS):
        raise lacks(
            "this kernel has no weighted interleave: it came with Linux 6.9; --policy interleave "
            "spreads pages evenly, and a plan with interleave weights needs no kernel support"
        )
    chosen = with_memory(nodes)
    weights = {node: tree.number(f"{WEIGHTS}/node{node}") for node in chosen}
    text = ", ".join(f"node {node}: {weight}" for node, weight in weights.items())
    note = f"the kernel's weights are {text}"
    if len(chosen) == 1:
        note = "this machine has one memory node: all pages go there, whatever its weight"
    return Policy(WEIGHTED_INTERLEAVE, chosen, note=note)
