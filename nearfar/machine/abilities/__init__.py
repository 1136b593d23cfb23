"""Abilities nearfar can use on a machine: one file each, found by the registry.

A check takes the tree and the profile read from it. It returns its lines: the ability, whether it
is usable, why not, and the command that fixes it; none if it does not apply (tiers with a single
node) or cannot be known (system calls of a captured tree).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from nearfar.base.registry import Registry
from nearfar.documents import MachineProfile
from nearfar.documents.machine import Ability, Node
from nearfar.machine.sysfs import Tree

Check = Callable[[Tree, MachineProfile], list[Ability]]

ABILITIES: Registry[Check] = Registry("nearfar.machine.abilities", "ability")


def read_abilities(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Return the lines of every check, in the order of their names."""
    return [
        msgspec.structs.replace(line, name=line.name or name)
        for name in ABILITIES.names()
        for line in ABILITIES.get(name)(tree, machine)
    ]


def usable(detail: str, name: str = "") -> list[Ability]:
    """Return the line of a usable ability; without a name it gets that of its check."""
    return [Ability(name=name, usable=True, detail=detail)]


def lacking(why: str, remedy: str = "", name: str = "") -> list[Ability]:
    """Return the line of a missing ability: the reason, and the command that fixes it, if any."""
    return [Ability(name=name, usable=False, detail=why, remedy=remedy)]


def memory_nodes(machine: MachineProfile) -> list[Node]:
    """Return the nodes that have memory."""
    return [node for node in machine.nodes if node.memory_bytes > 0]


def bare_nodes(machine: MachineProfile) -> list[Node]:
    """Return the nodes that have memory and no CPUs."""
    return [node for node in memory_nodes(machine) if not node.cpus]


def node_list(nodes: list[Node]) -> str:
    """Return ``node 2``, or ``nodes 1, 2 and 3``."""
    names = [str(node.id) for node in nodes]
    if len(names) == 1:
        return f"node {names[0]}"
    return f"nodes {', '.join(names[:-1])} and {names[-1]}"


def kernel_name(tree: Tree) -> str:
    """Return ``Linux 6.1``, or ``this kernel`` if its version is unknown."""
    version = tree.kernel()
    return f"Linux {version[0]}.{version[1]}" if version else "this kernel"


def newer_kernel(tree: Tree) -> str:
    """Return the command that installs a newer kernel; empty if no single command does."""
    system = dict(
        line.split("=", 1)
        for line in (tree.text("etc/os-release") or "").splitlines()
        if "=" in line
    )
    if system.get("VERSION_CODENAME", "").strip('"') != "bookworm":
        return ""  # Debian 12's backports hold 6.12; older releases' end before 6.9.
    return "sudo apt-get install -t bookworm-backports linux-image-amd64"
