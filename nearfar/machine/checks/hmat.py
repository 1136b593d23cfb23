"""HMAT: what the firmware says of each node's latency and bandwidth."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.abilities import bare_nodes, memory_nodes, node_list
from nearfar.machine.checks import CHECKS, absent, lacks, works
from nearfar.machine.sysfs import Tree

COSTS = (
    "the kernel cannot order the tiers, and placement has no figures until they are measured here"
)


@CHECKS.register("hmat")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Compare the figures of nodes without CPUs with those of the CPUs' own memory."""
    del tree
    bare = bare_nodes(machine)
    if not bare:
        return absent("no node without CPUs, so there are no figures to check")
    silent = [node for node in bare if node.hmat is None or node.hmat.read_latency_ns is None]
    if silent:
        return lacks(
            f"the firmware gives no latency of {node_list(silent)}",
            COSTS,
            "nearfar machine --measure -o machine.json",
        )
    near = [
        node.hmat.read_latency_ns
        for node in memory_nodes(machine)
        if node.cpus and node.hmat and node.hmat.read_latency_ns
    ]
    shown = ", ".join(f"node {n.id} {n.hmat.read_latency_ns:g} ns" for n in bare if n.hmat)
    wrong = [
        node
        for node in bare
        if node.hmat and near and (node.hmat.read_latency_ns or 0) <= min(near)
    ]
    if wrong:
        return lacks(
            f"the firmware says that {node_list(wrong)} is no slower than the CPUs' own memory "
            f"({shown}; near {min(near):g} ns)",
            "the kernel puts it into one tier with near memory, or before it",
            "nearfar machine --measure -o machine.json",
        )
    return works(shown)
