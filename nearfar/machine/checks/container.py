"""Containers: the rights that placement needs, and the nodes and bytes a cgroup leaves."""

from __future__ import annotations

import re

from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.checks import CHECKS, lacks, note, works
from nearfar.machine.sysfs import Tree, parse_list

SYS_NICE = 23
"""CAP_SYS_NICE of include/uapi/linux/capability.h: moving pages of other processes."""
FILTERED = "2"
"""SECCOMP_MODE_FILTER of include/uapi/linux/seccomp.h."""
SIGNS = {".dockerenv": "Docker", "run/.containerenv": "Podman"}


@CHECKS.register("container")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Look for signs of a container, and check its capabilities and nodes."""
    name = next((who for sign, who in SIGNS.items() if tree.exists(sign)), None)
    groups = tree.text_if_allowed("proc/1/cgroup") or ""
    runtime = re.search(r"docker|kubepods|containerd|libpod|lxc", groups)
    name = name or (runtime[0] if runtime else None)
    lines = _nodes(tree, machine)
    if name is None:
        return lines or works("none: this is the machine itself")
    status = tree.table("proc/self/status")
    rights = status.get("CapEff", "0")
    if not re.fullmatch("[0-9a-f]+", rights):
        raise tree.broken("proc/self/status", rights, "rights in hexadecimal")
    if not int(rights, 16) >> SYS_NICE & 1:
        lines += note(
            f"this container ({name}) has no CAP_SYS_NICE",
            "pages of other processes cannot be asked for or moved; with Docker's seccomp filter "
            "mbind is refused too",
            "docker run --cap-add SYS_NICE ...",
            '"mbind: Operation not permitted"',
        )
    elif status.get("Seccomp") == FILTERED:
        lines += works(f"{name}, with CAP_SYS_NICE and a seccomp filter")
    else:
        lines += works(f"{name}, with CAP_SYS_NICE")
    return lines


def _nodes(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Compare the nodes this process may use with those that have memory."""
    allowed = tree.table("proc/self/status").get("Mems_allowed_list")
    if not allowed:
        return []
    numbers = parse_list(allowed)
    if numbers is None:
        raise tree.broken("proc/self/status", allowed, "a list of nodes such as 0-3,8")
    shut = [str(n.id) for n in machine.nodes if n.memory_bytes and n.id not in numbers]
    if not shut:
        return []
    nodes = ",".join(str(node.id) for node in machine.nodes)
    return lacks(
        f"the cpuset allows nodes {allowed}, not {', '.join(shut)}",
        "no data of this process can go to the other nodes",
        f"docker run --cpuset-mems {nodes} ...",
        'mbind to a node that numactl -H shows says "Invalid argument"',
    )
