"""A second node with memory, and the calls that put pages there."""

from __future__ import annotations

import os

from nearfar.documents import MachineProfile
from nearfar.documents.machine import Ability
from nearfar.machine.abilities import (
    ABILITIES,
    bare_nodes,
    lacking,
    memory_nodes,
    node_list,
    usable,
)
from nearfar.machine.syscalls import try_move_pages
from nearfar.machine.sysfs import Tree

PLACEMENT = "page-placement"


@ABILITIES.register("far-node")
def check(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Count nodes with memory; on the running machine also try to ask for a page's node."""
    lines = []
    nodes = memory_nodes(machine)
    if len(nodes) < 2:
        lines += lacking(
            "all memory is one node: far memory can be predicted from the device library, not used",
        )
    else:
        bare = bare_nodes(machine)
        lines += usable(
            f"{node_list(bare)} without CPUs"
            if bare
            else f"{len(nodes)} nodes, all with CPUs: the other socket's memory is the far one",
        )
    if not tree.exists("sys/devices/system/node"):
        lines += lacking(
            "the kernel was built without NUMA: no mbind, no move_pages", name=PLACEMENT
        )
    elif tree.live:
        error = try_move_pages()
        lines += (
            lacking(
                f"move_pages was refused ({os.strerror(error)}): a container's seccomp filter "
                "does so",
                "docker run --cap-add SYS_NICE ...",
                PLACEMENT,
            )
            if error
            else usable("move_pages works, and with it mbind", PLACEMENT)
        )
    return lines
