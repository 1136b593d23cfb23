"""NUMA nodes: their CPUs (none: memory only), memory, distances and tiers."""

from __future__ import annotations

import re

from nearfar.base.errors import NearfarError
from nearfar.documents.machine import Node
from nearfar.machine.hmat import read_hmat, read_tiers
from nearfar.machine.sysfs import Tree

NODES = "sys/devices/system/node"


def read_nodes(tree: Tree, cpus: list[int]) -> list[Node]:
    """Return the online nodes; one node of everything for a kernel without NUMA."""
    online = tree.cpu_list(f"{NODES}/online")
    if not online:
        total, free = _memory(tree, "proc/meminfo")
        return [Node(id=0, cpus=cpus, memory_bytes=total, free_bytes=free, distances={"0": 10})]
    tiers = read_tiers(tree)
    nodes = []
    for node in online:
        here = f"{NODES}/node{node}"
        total, free = _memory(tree, f"{here}/meminfo")
        nodes.append(
            Node(
                id=node,
                cpus=tree.cpu_list(f"{here}/cpulist") or [],
                memory_bytes=total,
                free_bytes=free,
                distances=_distances(tree, node, online),
                hmat=read_hmat(tree, node),
                memory_side_cache_bytes=_memory_side_cache(tree, node),
                tier=tiers.get(node),
            )
        )
    return nodes


def _memory(tree: Tree, path: str) -> tuple[int, int]:
    """Return (all, free) bytes of a meminfo file: ``Node 0 MemTotal: 32 kB`` or without Node."""
    bytes_by_key = {}
    for key, value in tree.pairs(path):
        name = key.split()[-1]
        if name in ("MemTotal", "MemFree"):
            match = re.fullmatch(r"([0-9]+)\s*kB", value)
            if match is None:
                raise tree.broken(path, f"{name}: {value}", "a size in kB")
            bytes_by_key[name] = int(match[1]) << 10
    if "MemTotal" not in bytes_by_key:
        raise NearfarError(f"{tree.root / path} has no line MemTotal: the machine cannot be read")
    return bytes_by_key["MemTotal"], bytes_by_key.get("MemFree", 0)


def _distances(tree: Tree, node: int, online: list[int]) -> dict[str, int]:
    path = f"{NODES}/node{node}/distance"
    text = tree.text(path)
    if text is None:
        return {str(node): 10}
    values = text.split()
    if len(values) != len(online) or not all(value.isdigit() for value in values):
        raise tree.broken(path, text, f"{len(online)} distances, one for each online node")
    return {str(other): int(value) for other, value in zip(online, values, strict=True)}


def _memory_side_cache(tree: Tree, node: int) -> int | None:
    """Return the size of a memory-side cache before this node, as Memory Mode has; None: none."""
    here = f"{NODES}/node{node}/memory_side_cache"
    sizes = [tree.size_bytes(f"{here}/{i}/size") for i in tree.entries(here, r"index[0-9]+")]
    return sum(size for size in sizes if size) or None
