"""CPUs, nodes and caches that a measurement needs to know, from sysfs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

SYSFS = Path("/sys")

ASSUMED_LLC_BYTES = 32 << 20
"""Where sysfs describes no caches (some virtual machines): regions go up to 8 times this."""


@dataclass(frozen=True)
class Topology:
    """The CPUs this process may use on the node it starts on, and what they share."""

    cpus: tuple[int, ...]
    """One CPU of each core, of one node, that this process may run on; ascending."""
    node: int | None
    """Their node; None where the kernel has no nodes."""
    nodes: tuple[int, ...]
    llc_bytes: int
    """Last-level cache as the first of `cpus` sees it."""
    total_llc_bytes: int
    """Of all last-level caches that `cpus` have."""
    llc_known: bool


def detect(sysfs: Path = SYSFS, allowed: set[int] | None = None) -> Topology:
    """Return the topology seen by a process that may run on `allowed` CPUs (default: ours)."""
    allowed = allowed or os.sched_getaffinity(0)
    first = min(allowed)
    nodes = _online_nodes(sysfs)
    node = next((n for n in nodes if first in node_cpus(n, sysfs)), None)
    near = allowed & node_cpus(node, sysfs) if node is not None else allowed
    cores: dict[frozenset[int], int] = {}
    for cpu in sorted(near):
        siblings = sysfs / f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        cores.setdefault(frozenset(parse_cpu_list(_text(siblings)) or {cpu}), cpu)
    cpus = tuple(sorted(cores.values()))
    caches = {cpu: _last_level(cpu, sysfs) for cpu in cpus}
    own = caches[cpus[0]]
    distinct = {cache for cache in caches.values() if cache is not None}
    llc_bytes = own[0] if own else ASSUMED_LLC_BYTES
    return Topology(
        cpus=cpus,
        node=node,
        nodes=nodes,
        llc_bytes=llc_bytes,
        total_llc_bytes=sum(size for size, _ in distinct) or llc_bytes,
        llc_known=own is not None,
    )


def node_cpus(node: int, sysfs: Path = SYSFS) -> set[int]:
    """Return the CPUs of a node; empty: a memory-only node."""
    return parse_cpu_list(_text(sysfs / f"devices/system/node/node{node}/cpulist"))


def node_memory_bytes(node: int, sysfs: Path = SYSFS) -> tuple[int, int]:
    """Return (total, free) bytes of a node; the page cache it could drop counts as free."""
    found: dict[str, int] = {}
    for line in _text(sysfs / f"devices/system/node/node{node}/meminfo").splitlines():
        words = line.split()
        if len(words) >= 4 and words[3].isdigit():
            found[words[2].rstrip(":")] = int(words[3]) * 1024
    free = found.get("MemFree", 0) + found.get("Inactive(file)", 0)
    return found.get("MemTotal", 0), free


def node_technology(node: int, sysfs: Path = SYSFS) -> Literal["remote-dram", "cxl", "pmem"]:
    """Guess what a memory-only node is made of: cxl, pmem, else remote-dram."""
    for region in sysfs.glob("bus/nd/devices/region*/target_node"):
        if _text(region).strip() == str(node):
            return "pmem"
    for region in sysfs.glob("bus/dax/devices/dax*/target_node"):
        if _text(region).strip() == str(node):
            return "cxl" if "cxl" in os.path.realpath(region) else "remote-dram"
    if any(sysfs.glob("bus/cxl/devices/region*")):
        return "cxl"
    return "remote-dram"


def parse_cpu_list(text: str) -> set[int]:
    """Parse the kernel's ``0-3,8``."""
    cpus: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def _online_nodes(sysfs: Path) -> tuple[int, ...]:
    found = (path.name[4:] for path in sysfs.glob("devices/system/node/node[0-9]*"))
    return tuple(sorted(int(number) for number in found if number.isdigit()))


def _last_level(cpu: int, sysfs: Path) -> tuple[int, frozenset[int]] | None:
    """Return (bytes, CPUs that share it) of a CPU's last data cache."""
    best: tuple[int, int, frozenset[int]] | None = None
    for index in sysfs.glob(f"devices/system/cpu/cpu{cpu}/cache/index*"):
        size = _text(index / "size").strip()
        level = _text(index / "level").strip()
        if _text(index / "type").strip() == "Instruction" or not level.isdigit():
            continue
        if not size.endswith("K") or not size[:-1].isdigit():
            continue
        shared = frozenset(parse_cpu_list(_text(index / "shared_cpu_list")))
        found = (int(level), int(size[:-1]) * 1024, shared)
        if best is None or found[:2] > best[:2]:
            best = found
    return (best[1], best[2]) if best else None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
