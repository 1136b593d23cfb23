"""CPUs, NUMA nodes and caches of this machine, as far as a measurement needs them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nearfar.machine.caches import read_caches
from nearfar.machine.cxl import read_cxl
from nearfar.machine.detect import last_level_cache
from nearfar.machine.nodes import NODES
from nearfar.machine.sysfs import Tree

ROOT = Path("/")

ASSUMED_LLC_BYTES = 32 << 20
"""Last-level cache assumed where nothing describes the caches (some virtual machines)."""


@dataclass(frozen=True)
class Topology:
    """The CPUs this process may use on the node it starts on, and what they share."""

    cpus: tuple[int, ...]
    """One CPU of each core of one node that this process may use; ascending."""
    node: int | None
    """Their node; None where the kernel has no nodes."""
    nodes: tuple[int, ...]
    llc_bytes: int
    """Last-level cache as one CPU sees it."""
    inner_bytes: int
    """The largest data cache before the last level, as one CPU sees it; 0: none."""
    total_llc_bytes: int
    """Total size of the last-level caches that `cpus` can use at most."""
    llc_known: bool


def detect(root: Path = ROOT, allowed: set[int] | None = None) -> Topology:
    """Return the topology seen by a process that may run on `allowed` CPUs (default: ours)."""
    tree = Tree(root)
    allowed = allowed or os.sched_getaffinity(0)
    first = min(allowed)
    nodes = tuple(int(name[4:]) for name in tree.entries(NODES, r"node[0-9]+"))
    node = next((n for n in nodes if first in node_cpus(n, root)), None)
    near = allowed & node_cpus(node, root) if node is not None else allowed
    cores: dict[frozenset[int], int] = {}
    for cpu in sorted(near):
        siblings = tree.cpu_list(f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        cores.setdefault(frozenset(siblings or [cpu]), cpu)
    cpus = tuple(sorted(cores.values()))
    cache = last_level_cache(root)
    llc_bytes = cache.size_bytes if cache else ASSUMED_LLC_BYTES
    return Topology(
        cpus=cpus,
        node=node,
        nodes=nodes,
        llc_bytes=llc_bytes,
        inner_bytes=inner_cache_bytes(root),
        total_llc_bytes=llc_bytes * min(cache.count if cache else 1, len(cpus)),
        llc_known=cache is not None,
    )


def inner_cache_bytes(root: Path = ROOT) -> int:
    """Return the size of the largest data cache below the last level; 0: there is none."""
    return max(data_cache_bytes(root)[:-1], default=0)


def data_cache_bytes(root: Path = ROOT) -> list[int]:
    """Return the size of each level of data caches that the kernel reports, the first level first.

    If a level has several caches, the largest is used.
    """
    largest: dict[int, int] = {}
    for cache in read_caches(Tree(root)):
        if cache.type != "instruction":
            largest[cache.level] = max(largest.get(cache.level, 0), cache.size_bytes)
    return [largest[level] for level in sorted(largest)]


def node_cpus(node: int, root: Path = ROOT) -> set[int]:
    """Return the CPUs of a node; empty: a memory-only node."""
    return set(Tree(root).cpu_list(f"{NODES}/node{node}/cpulist") or [])


def node_memory_bytes(node: int, root: Path = ROOT) -> tuple[int, int]:
    """Return (total, free) bytes of a node; page cache that can be dropped counts as free."""
    sizes: dict[str, int] = {}
    for key, value in Tree(root).pairs(f"{NODES}/node{node}/meminfo"):
        number = value.split()[0]
        if number.isdigit():
            sizes[key.split()[-1]] = int(number) * 1024
    free = sizes.get("MemFree", 0) + sizes.get("Inactive(file)", 0)
    return sizes.get("MemTotal", 0), free


def node_technology(node: int, root: Path = ROOT) -> Literal["remote-dram", "cxl", "pmem"]:
    """Return the technology of a memory-only node, as far as the kernel reports it."""
    tree = Tree(root)
    if any(device.node == node for device in read_cxl(tree)):
        return "cxl"
    regions = tree.entries("sys/bus/nd/devices", r"region[0-9]+")
    if any(tree.number(f"sys/bus/nd/devices/{name}/target_node") == node for name in regions):
        return "pmem"
    return "remote-dram"
