"""The kernel's policy for added memory: online at once, in which zone, or left to the user."""

from __future__ import annotations

from nearfar.base.units import format_bytes
from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.checks import CHECKS, absent, lacks, note, unknown, works
from nearfar.machine.persistent_memory import DAX_DEVICES, is_system_ram
from nearfar.machine.sysfs import Tree

MEMORY = "sys/devices/system/memory"
POLICY = f"{MEMORY}/auto_online_blocks"


@CHECKS.register("auto-online")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Read the policy where device-dax could be added, and look for blocks left offline."""
    del machine
    policy = tree.text(POLICY)
    devices = tree.entries(DAX_DEVICES, r"dax[0-9]+\.[0-9]+")
    offline = _offline(tree)
    if not devices and not offline:
        return absent("no memory that could be added to a node")
    if policy is None and not tree.live:
        return unknown(f"the captured tree does not hold {POLICY}", f"cat /{POLICY}")
    if policy is None:
        return lacks(
            "the kernel cannot add memory (CONFIG_MEMORY_HOTPLUG)",
            "device-dax cannot become memory of a node",
        )
    lines = list(offline)
    waiting = [dax for dax in devices if not is_system_ram(tree, dax)]
    if policy != "offline" and waiting:
        why = "" if policy == "online_movable" else " and as memory that can never be removed again"
        lines += note(
            f"the kernel brings added memory online at once{why} (auto_online_blocks is {policy})",
            f"daxctl refuses to race with the kernel: {waiting[0]} does not become memory",
            f"echo offline | sudo tee /{POLICY}",
            'daxctl says "kernel policy will auto-online memory, aborting"',
        )
    return lines or works(f"auto_online_blocks is {policy}")


def _offline(tree: Tree) -> list[Finding]:
    blocks = tree.entries(MEMORY, r"memory[0-9]+")
    count = sum(tree.text_if_allowed(f"{MEMORY}/{block}/state") == "offline" for block in blocks)
    if not count:
        return []
    text = tree.text_if_allowed(f"{MEMORY}/block_size_bytes") or "0"
    size = int(text, 16) * count  # The kernel writes it without 0x.
    return lacks(
        f"{count} blocks of memory ({format_bytes(size)}) were added and are offline",
        "they belong to a node, and no program can use them",
        "sudo daxctl online-memory all",
        'a node of size 0; mbind to it says "Invalid argument"',
    )
