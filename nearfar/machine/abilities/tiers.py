"""Memory tiers: the kernel migrates between tiers, never inside one."""

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
from nearfar.machine.hmat import TIERS
from nearfar.machine.sysfs import Tree

NAME = "tiers"
BY_HMAT = (6, 10)
"""From this kernel on the HMAT sets the tier of ordinary nodes without CPUs too ("memory tier:
create CPUless memory tiers after obtaining HMAT info"); before, only of those that a driver
(dax/kmem) brought online."""


@ABILITIES.register(NAME)
def check(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Compare the tiers of nodes with CPUs and without."""
    nodes = memory_nodes(machine)
    if len(nodes) < 2:
        return []
    if not tree.exists(TIERS):
        return lacking(NAME, f"{kernel_name(tree)} has no memory tiers (they came with 6.1)")
    tiers = {node.tier for node in nodes}
    if len(tiers) > 1:
        order = sorted(nodes, key=lambda node: (node.tier is None, node.tier or 0))
        shown = ", ".join(f"node {node.id} in {node.tier}" for node in order)
        return usable(NAME, shown)
    bare = [str(node.id) for node in nodes if not node.cpus]
    if not bare:
        return []  # Two sockets are peers: one tier is right.
    why = (
        f"all nodes are in one tier, node {' and '.join(bare)} without CPUs too: the kernel "
        "migrates nothing between them, and says nothing"
    )
    if "efi=nosoftreserve" in (tree.text("proc/cmdline") or "").split():
        return lacking(
            NAME,
            f"{why}; efi=nosoftreserve made them ordinary memory",
            "sudo sed -i s/efi=nosoftreserve// /etc/default/grub && sudo update-grub",
        )
    version = tree.kernel()
    if version and version < BY_HMAT:
        why += f"; {kernel_name(tree)} does not set such nodes' tiers by the HMAT, 6.10 does"
        return lacking(NAME, why, newer_kernel(tree))
    return lacking(NAME, f"{why}; the firmware gives no HMAT that tells them apart")
