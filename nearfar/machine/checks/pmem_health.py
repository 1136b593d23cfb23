"""Health of persistent-memory modules, as the kernel tells it to everyone."""

from __future__ import annotations

from nearfar.base.units import format_count
from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.checks import CHECKS, absent, lacks, works
from nearfar.machine.persistent_memory import DEVICES
from nearfar.machine.sysfs import Tree

FLAGS = {
    "save_fail": "its last save at power loss failed: its data may be lost",
    "restore_fail": "its restore at power on failed: its data may be lost",
    "flush_fail": "the platform failed to flush caches to it at the last power loss",
    "not_armed": "it will not save at the next power loss (battery or capacitor not ready)",
    "map_fail": "the firmware could not map it",
    "smart_event": "its SMART health reports an event",
    "smart_notify": "its SMART health reports an event",
}
"""Flags the kernel writes into nmemN/nfit/flags (drivers/acpi/nfit/core.c)."""


@CHECKS.register("pmem-health")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Read each module's flags and lock, and each region's bad blocks."""
    del machine
    modules = tree.entries(DEVICES, r"nmem[0-9]+")
    regions = tree.entries(DEVICES, r"region[0-9]+")
    if not modules and not regions:
        return absent("no persistent-memory module or region")
    lines = [line for module in modules for line in _module(tree, module)]
    lines += [line for region in regions for line in _region(tree, region)]
    count = format_count(len(modules), "module")
    return lines or works(f"{count} without a flag raised, no bad blocks")


def _module(tree: Tree, module: str) -> list[Finding]:
    lines: list[Finding] = []
    for flag in (tree.text_if_allowed(f"{DEVICES}/{module}/nfit/flags") or "").split():
        lines += lacks(
            f"{module} raises {flag}",
            FLAGS.get(flag, "the platform reports a fault of it"),
            f"sudo ndctl list -DH -d {module}",
        )
    if tree.text_if_allowed(f"{DEVICES}/{module}/security") == "locked":
        lines += lacks(
            f"{module} is locked by a passphrase",
            "its region cannot be used until it is unlocked",
            f"sudo ndctl load-keys && sudo ndctl enable-dimm {module}",
        )
    return lines


def _region(tree: Tree, region: str) -> list[Finding]:
    bad = (tree.text_if_allowed(f"{DEVICES}/{region}/badblocks") or "").split()
    if not bad:
        return []
    return lacks(
        f"{region} has bad blocks ({len(bad) // 2} ranges)",
        "a program that touches one is killed by SIGBUS",
        f"sudo ndctl clear-errors -r {region} all",
        '"Bus error" in a program that runs well elsewhere',
    )
