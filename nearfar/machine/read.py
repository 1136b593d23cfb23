"""Read a whole machine: other modules read its parts, this one the processor and huge pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_bytes
from nearfar.documents import MachineProfile, producer
from nearfar.documents.processor import processor_id, processor_name
from nearfar.machine.abilities import read_abilities
from nearfar.machine.caches import read_caches
from nearfar.machine.cxl import read_cxl
from nearfar.machine.nodes import read_nodes
from nearfar.machine.persistent_memory import read_persistent_memory
from nearfar.machine.sysfs import Tree
from nearfar.machine.virtualisation import read_virtualisation


def read_machine(root: Path = Path("/")) -> MachineProfile:
    """Return the machine whose folders `sys` and `proc` are in `root`."""
    tree = Tree(root)
    cpu = read_cpu(tree)
    machine = MachineProfile(
        producer=producer(),
        cpu_model=cpu.model,
        cpu_id=cpu.id,
        architecture=cpu.architecture,
        sockets=cpu.sockets,
        cores=cpu.cores,
        cpus=cpu.cpus,
        threads_per_core=cpu.threads_per_core,
        vector_extensions=cpu.vector_extensions,
        caches=read_caches(tree),
        nodes=read_nodes(tree, cpu.cpus),
        transparent_huge_pages=read_transparent(tree),
        huge_pages=read_reserved(tree),
        persistent_memory=read_persistent_memory(tree),
        cxl=read_cxl(tree),
        virtualisation=read_virtualisation(tree),
        abilities=[],
    )
    machine.abilities = read_abilities(tree, machine)
    return machine


def read_transparent(tree: Tree) -> str:
    """Return the setting of transparent huge pages: always, madvise, never, or unknown."""
    text = tree.text("sys/kernel/mm/transparent_hugepage/enabled")
    if text is None:
        return "unknown"
    match = re.search(r"\[(always|madvise|never)\]", text)
    if match is None:
        raise tree.broken(
            "sys/kernel/mm/transparent_hugepage/enabled", text, "a choice such as [madvise]"
        )
    return match[1]


def read_reserved(tree: Tree) -> dict[str, int]:
    """Return the number of reserved huge pages by page size, such as ``2MiB``."""
    folder = "sys/kernel/mm/hugepages"
    return {
        _page_size_name(int(name.removeprefix("hugepages-").removesuffix("kB"))): tree.number(
            f"{folder}/{name}/nr_hugepages"
        )
        or 0
        for name in tree.entries(folder, r"hugepages-[0-9]+kB")
    }


def _page_size_name(size_kib: int) -> str:
    number, unit = format_bytes(size_kib << 10).split()
    return f"{float(number):g}{unit}"


VECTORS = (
    *("sse4_2", "avx", "avx2", "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "amx_tile"),
    *("asimd", "sve", "sve2"),
)
"""Flags of /proc/cpuinfo that change the width of a loop's accesses, x86 first, then Arm."""


@dataclass(frozen=True)
class Cpu:
    """The processor's part of a MachineProfile."""

    model: str
    id: str
    architecture: str
    sockets: int
    cores: int
    cpus: list[int]
    threads_per_core: int
    vector_extensions: list[str]


def read_cpu(tree: Tree) -> Cpu:
    """Return the processor, of whose CPUs only those that are online count."""
    info = tree.table("proc/cpuinfo")
    cpus = tree.cpu_list("sys/devices/system/cpu/online") or [
        int(value) for key, value in tree.pairs("proc/cpuinfo") if key == "processor"
    ]
    if not cpus:
        raise NearfarError(
            f"{tree.root} is not the root of a machine: no CPU is listed in "
            "sys/devices/system/cpu/online or proc/cpuinfo"
        )
    sockets: set[int] = set()
    cores: dict[tuple[int, int], int] = {}
    for cpu in cpus:
        here = f"sys/devices/system/cpu/cpu{cpu}/topology"
        # The kernel writes -1 if the firmware reports no socket.
        socket = max(0, tree.number(f"{here}/physical_package_id") or 0)
        core = tree.number(f"{here}/core_id")
        sockets.add(socket)
        key = (socket, cpu if core is None else core)
        cores[key] = cores.get(key, 0) + 1
    flags = info.get("flags", info.get("Features", "")).split()
    return Cpu(
        model=processor_name(info) or "unknown",
        id=processor_id(info),
        architecture=_architecture(tree, info),
        sockets=len(sockets),
        cores=len(cores),
        cpus=cpus,
        threads_per_core=max(cores.values()),
        vector_extensions=[name for name in VECTORS if name in flags],
    )


def _architecture(tree: Tree, info: dict[str, str]) -> str:
    named = tree.text("proc/sys/kernel/arch")  # since Linux 6.1
    if named:
        return named
    if "CPU implementer" in info:
        return "aarch64"
    return "x86_64" if "lm" in info.get("flags", "").split() else "unknown"
