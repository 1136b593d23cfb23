"""Weighted interleave: pages spread over nodes in proportion to their bandwidth."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine import Ability
from nearfar.machine.abilities import (
    ABILITIES,
    kernel_name,
    lacking,
    memory_nodes,
    newer_kernel,
    usable,
)
from nearfar.machine.sysfs import Tree

FOLDER = "sys/kernel/mm/mempolicy/weighted_interleave"
SINCE = (6, 9)


@ABILITIES.register("weighted-interleave")
def check(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Look for the weights in sysfs; with a single node there is nothing to weigh."""
    nodes = memory_nodes(machine)
    if len(nodes) < 2:
        return []
    if tree.exists(FOLDER):
        weights = [(node.id, tree.number(f"{FOLDER}/node{node.id}")) for node in nodes]
        shown = ", ".join(f"node {node} {weight}" for node, weight in weights if weight)
        return usable(f"weights: {shown}")
    version = tree.kernel()
    if version is None or version < SINCE:
        return lacking(
            f"{kernel_name(tree)} has none (it came with {SINCE[0]}.{SINCE[1]}): asking for it "
            'says only "Invalid argument"',
            newer_kernel(tree),
        )
    return lacking(f"{kernel_name(tree)} here was built without CONFIG_NUMA")
