"""Persistent-memory regions: their node, alignment, and what survives a power loss."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.checks import CHECKS, absent, lacks, note, works
from nearfar.machine.persistent_memory import DEVICES
from nearfar.machine.sysfs import Tree

ALIGNMENT_BYTES = 16 << 20
"""Alignment the kernel requires of a region and its namespaces (memremap_compat_align)."""
HUGE_PAGE_BYTES = 2 << 20


@CHECKS.register("pmem-regions")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Check every region's node, size and persistence, and every namespace's alignment."""
    del machine
    regions = tree.entries(DEVICES, r"region[0-9]+")
    if not regions:
        return absent("no persistent-memory region")
    lines: list[Finding] = []
    for region in regions:
        findings = _node(tree, region) + _size(tree, region) + _persistence(tree, region)
        lines += findings or works(region)
    for name in tree.entries(DEVICES, r"(pfn|dax)[0-9]+\.[0-9]+"):
        lines += _pages(tree, name)
    return lines


def _node(tree: Tree, region: str) -> list[Finding]:
    near = tree.number(f"{DEVICES}/{region}/numa_node")
    target = tree.number(f"{DEVICES}/{region}/target_node")
    if target is None or target < 0:
        return lacks(
            f"the firmware or the kernel names no node of {region}'s memory (target_node)",
            "as system RAM it joins its CPUs' node, and no policy can distinguish it from DRAM",
        )
    if near is None or near == target:
        return []
    return note(
        f"{region}: numa_node {near} is that of the nearest CPUs, its memory is node {target}",
        f"a tool that binds by numa_node binds to node {near}'s DRAM and measures that",
        f"cat /sys/bus/nd/devices/{region}/target_node",
        "persistent memory as quick as DRAM",
    )


def _size(tree: Tree, region: str) -> list[Finding]:
    size = tree.number(f"{DEVICES}/{region}/size") or 0
    if size % ALIGNMENT_BYTES == 0:
        return []
    return lacks(
        f"{region} has {size} bytes, no multiple of 16 MiB",
        "ndctl makes no namespace of its last part, or none at all",
        symptom='ndctl lists namespaces as "misaligned", or create-namespace says "Invalid '
        'argument"',
    )


def _persistence(tree: Tree, region: str) -> list[Finding]:
    if not tree.exists(f"{DEVICES}/{region}/persistence_domain"):
        return []  # Kernels before 4.18 do not say.
    if tree.text_if_allowed(f"{DEVICES}/{region}/persistence_domain"):
        return []
    return note(
        f"the platform does not state what {region} keeps at a power loss (persistence_domain is "
        "empty)",
        "a store may be lost although it was flushed; emulated and virtual memory is so",
    )


def _pages(tree: Tree, name: str) -> list[Finding]:
    size = tree.number(f"{DEVICES}/{name}/size")
    align = tree.number(f"{DEVICES}/{name}/align")
    if not size or align is None or align >= HUGE_PAGE_BYTES:
        return []
    namespace = tree.text(f"{DEVICES}/{name}/namespace") or name
    return lacks(
        f"{namespace} is aligned to {align} bytes",
        "its pages are mapped one by one: no huge pages, a TLB miss for each 4 KiB",
        f"sudo ndctl create-namespace --force --reconfig={namespace} --align=2M"
        "   # destroys its data",
    )
