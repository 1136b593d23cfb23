"""Limits of the control groups above this process: memory that the machine has and it has not."""

from __future__ import annotations

from nearfar.base.units import format_bytes
from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.checks import CHECKS, lacks, works
from nearfar.machine.sysfs import Tree

V2 = ("memory.max", "memory.high")
"""Files of limits: above max a program is killed, above high it is slowed down."""


@CHECKS.register("cgroup-memory")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Return the lowest limit of this group and those above it, of either version of cgroups."""
    total = sum(node.memory_bytes for node in machine.nodes)
    limits = [
        (size, path)
        for path in _files(tree)
        if (size := _limit(tree, path)) is not None and size < total
    ]
    if not limits:
        return works("no limit below what the machine has")
    size, path = min(limits)
    return lacks(
        f"{format_bytes(size)} of the machine's {format_bytes(total)}, by /{path}",
        "the limit applies to all nodes together: far memory counts like near memory, and above "
        "the limit pages are swapped or the program is killed",
        f"echo max | sudo tee /{path}",
        'programs end with "Killed" while the far node is empty',
    )


def _files(tree: Tree) -> list[str]:
    paths = []
    for line in (tree.text_if_allowed("proc/self/cgroup") or "").splitlines():
        if line.count(":") < 2:
            raise tree.broken("proc/self/cgroup", line, "a line such as 0::/user.slice")
        _, controllers, group = line.split(":", 2)
        parts = [part for part in group.split("/") if part and part != ".."]
        for depth in range(len(parts) + 1):
            here = "/".join(parts[:depth])
            if not controllers:
                paths += [f"sys/fs/cgroup/{here}/{name}" for name in V2]
            elif "memory" in controllers.split(","):
                paths.append(f"sys/fs/cgroup/memory/{here}/memory.limit_in_bytes")
    return [path.replace("//", "/") for path in paths]


def _limit(tree: Tree, path: str) -> int | None:
    text = tree.text_if_allowed(path)
    return int(text) if text and text.isdigit() else None
