"""Memories of this machine as a kernel or program can use them for its data."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.machine.sysfs import Tree
from nearfar.memories import topology
from nearfar.memories.spec import MemorySpec, parse_spec

STAND_IN = "dram,pages=4k,load=store"
"""A far memory for machines without one: slower than huge pages by page walks and a storing core.

The widest gap found on an ordinary machine: chases 1.27 to 1.5 times, kernels up to 2.2 times as
slow."""


@dataclass(frozen=True)
class ProgramMemory:
    """A memory, and how a program's data are put into it."""

    spec: MemorySpec
    node: int | None
    """NUMA node to bind to; None: there is only one, or the memory is a file."""
    offset_bytes: int = 0
    """Start of the kernels' data on a DAX device; device curves use the part before it."""

    def words(self) -> str:
        """Return the memory as the kernels' harness reads it (kernels/harness/memory.c)."""
        if self.spec.kind == "file":
            assert self.spec.path is not None
            folder = self.spec.path if self.spec.path.is_dir() else self.spec.path.parent
            return f"file={folder}"
        if self.spec.kind == "devdax":
            return f"device={self.spec.path},offset={self.offset_bytes}"
        node = "" if self.node is None else f",node={self.node}"
        return f"pages={self.spec.pages}{node}"

    @property
    def small_pages(self) -> bool:
        """Whether transparent huge pages are to be avoided."""
        return self.spec.pages == "4k"


def program_memory(text: str, machine: topology.Topology) -> ProgramMemory:
    """Return the memory of a spec; refuse a spec that cannot hold a program's data."""
    spec = parse_spec(text)
    if spec.kind == "model":
        raise NearfarError(
            f"{text} is simulated and cannot hold a program's data: name a memory of this machine"
        )
    if spec.kind == "hugetlb" or spec.pages in ("2m", "1g"):
        raise NearfarError(f"{text} needs reserved pages, which kernels cannot use: use pages=thp")
    if spec.kind in ("dram", "node") and spec.pages is None:
        spec = replace(spec, pages="thp")
    node = spec.node
    if node is None and spec.kind == "dram" and len(machine.nodes) > 1:
        node = machine.node
    return ProgramMemory(spec, node)


def check_pair(near: ProgramMemory, far: ProgramMemory) -> None:
    """Refuse a near memory with a load, and two memories that are the same."""
    if near.spec.load != "none":
        raise NearfarError(
            f"near memory {near.spec} has a load (load=): give the load to --far, because near "
            "memory must have none"
        )
    if near.spec == far.spec:
        raise NearfarError(f"near and far are both {near.spec}: there is nothing to predict")


def check_cpus(far: ProgramMemory, machine: topology.Topology) -> None:
    """Refuse a load where there is only one CPU."""
    if far.spec.load != "none" and len(machine.cpus) < 2:
        raise NearfarError(
            f"{far.spec} needs a second CPU for its load; this process may use 1: name a memory "
            "that is slower by itself with --far",
            ExitCode.MACHINE_LACKS,
        )


def slower_memories(machine: topology.Topology) -> list[str]:
    """Return the specs of physically slower memories, memory-only nodes first.

    DAX devices are left out: a run overwrites their contents, so the user must name them.
    """
    others = [node for node in machine.nodes if node != machine.node]
    sizes = {node: topology.node_memory_bytes(node)[0] for node in others}
    bare = [node for node in others if sizes[node] and not topology.node_cpus(node)]
    remote = [node for node in others if sizes[node] and node not in bare]
    nodes = [f"node:{node},pages=thp" for node in [*bare, *remote]]
    return nodes + [f"file:{folder}" for folder in dax_mounts()]


def dax_mounts() -> list[str]:
    """Return folders where a DAX file system on persistent memory is mounted and writable."""
    folders = []
    for line in (Tree(Path("/")).text("proc/mounts") or "").splitlines():
        device, folder, _, options, *_ = [*line.split(), "", "", "", ""]
        dax = any(option in ("dax", "dax=always", "dax=inode") for option in options.split(","))
        folder = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), folder)
        if device.startswith("/dev/pmem") and dax and os.access(folder, os.W_OK):
            folders.append(folder)
    return folders
