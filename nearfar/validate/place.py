"""Where near and far data go: the memories a machine has, as a kernel or program can use them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.machine.sysfs import Tree
from nearfar.measure import topology
from nearfar.measure.spec import MemorySpec, parse_spec

STAND_IN = "dram,pages=4k,load=store"
"""Slower than huge pages by page walks and a contending core: the widest that an ordinary machine
was found to have (chases 1.27 to 1.5 times, kernels up to 2.2 times as slow)."""


@dataclass(frozen=True)
class Place:
    """A memory, and how data get there."""

    spec: MemorySpec
    node: int | None
    """NUMA node to bind to; None: there is but one, or the memory is a file."""
    offset_bytes: int = 0
    """Of a DAX device: where kernels' data begin; what is before is for the device curves."""

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
        """Whether transparent huge pages are to be kept away."""
        return self.spec.pages == "4k"


def place_of(text: str, machine: topology.Topology) -> Place:
    """Return a place of a memory spec; refuses what can hold no program's data."""
    spec = parse_spec(text)
    if spec.kind == "model":
        raise NearfarError(
            f"{text} is simulated and can hold no program's data: name a memory of this machine"
        )
    if spec.kind == "hugetlb" or spec.pages in ("2m", "1g"):
        raise NearfarError(
            f"{text} is of reserved pages, which the kernels do not take: write pages=thp"
        )
    if spec.kind in ("dram", "node") and spec.pages is None:
        spec = replace(spec, pages="thp")
    node = spec.node
    if node is None and spec.kind == "dram" and len(machine.nodes) > 1:
        node = machine.node
    return Place(spec, node)


def check_apart(near: Place, far: Place) -> None:
    """Refuse a near memory with a load, and two memories that are one."""
    if near.spec.load != "none":
        raise NearfarError(
            f"near memory {near.spec} has a load: near is what programs have today; give the load "
            "to --far"
        )
    if near.spec == far.spec:
        raise NearfarError(f"near and far are both {near.spec}: there is nothing to predict")


def slower_memories(machine: topology.Topology, root: Path = Path("/")) -> list[str]:
    """Return the physically slower memories found, as specs, memory-only nodes first.

    DAX devices are not among them: validating overwrites what is on them, so they must be named.
    """
    others = [node for node in machine.nodes if node != machine.node]
    sizes = {node: topology.node_memory_bytes(node, root)[0] for node in others}
    bare = [node for node in others if sizes[node] and not topology.node_cpus(node, root)]
    remote = [node for node in others if sizes[node] and node not in bare]
    found = [f"node:{node},pages=thp" for node in [*bare, *remote]]
    return found + [f"file:{folder}" for folder in dax_mounts(root)]


def dax_mounts(root: Path = Path("/")) -> list[str]:
    """Return folders where a DAX file system on persistent memory is mounted and writable."""
    text = Tree(root).text("proc/mounts") or ""
    found = []
    for line in text.splitlines():
        device, folder, _, options, *_ = [*line.split(), "", "", "", ""]
        dax = any(option in ("dax", "dax=always", "dax=inode") for option in options.split(","))
        folder = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), folder)
        if device.startswith("/dev/pmem") and dax and os.access(root / folder[1:], os.W_OK):
            found.append(folder)
    return found


def check_cpus(far: Place, machine: topology.Topology) -> None:
    """Refuse a contending core where there is only one."""
    if far.spec.load != "none" and len(machine.cpus) < 2:
        raise NearfarError(
            f"{far.spec} needs a second core for its load and this process may use one only: name "
            "a memory that is slower by itself with --far",
            ExitCode.MACHINE_LACKS,
        )
