"""Memory tiers: the kernel migrates between tiers, never inside one."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine import Ability
from nearfar.machine.abilities import (
    ABILITIES,
    bare_nodes,
    kernel_name,
    lacking,
    memory_nodes,
    newer_kernel,
    node_list,
    usable,
)
from nearfar.machine.hmat import TIERS
from nearfar.machine.sysfs import Tree

BY_HMAT = (6, 10)
"""From this kernel on the HMAT sets the tier of ordinary nodes without CPUs too ("memory tier:
create CPUless memory tiers after obtaining HMAT info"); before, only of those that a driver
(dax/kmem) brought online."""


@ABILITIES.register("tiers")
def check(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Compare the tiers of nodes with CPUs and without."""
    bare = bare_nodes(machine)
    if not bare:
        return []  # Sockets are peers: one tier is right.
    if not tree.exists(TIERS):
        return lacking(f"{kernel_name(tree)} has no memory tiers (they came with 6.1)")
    nodes = memory_nodes(machine)
    fast = {node.tier for node in nodes if node.cpus}
    mixed = [node for node in bare if node.tier in fast]
    if not mixed:
        order = sorted(nodes, key=lambda node: (node.tier is None, node.tier or 0))
        return usable(", ".join(f"node {node.id} in {node.tier}" for node in order))
    why = (
        f"{node_list(mixed)} without CPUs {'is' if len(mixed) == 1 else 'are'} in one tier with "
        "the CPUs' memory: the kernel migrates nothing between them, without a message"
    )
    if "efi=nosoftreserve" in (tree.text("proc/cmdline") or "").split():
        return lacking(
            f"{why}; efi=nosoftreserve made it ordinary memory",
            "sudo sed -i s/efi=nosoftreserve// /etc/default/grub && sudo update-grub  "
            "# then reboot",
        )
    version = tree.kernel()
    if version and version < BY_HMAT:
        why += f"; {kernel_name(tree)} does not set a tier by the HMAT here, 6.10 does"
        return lacking(why, newer_kernel(tree))
    return lacking(f"{why}; the firmware gives no HMAT that tells it apart")
