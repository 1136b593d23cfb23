"""Put a machine together from its parts."""

from __future__ import annotations

from pathlib import Path

from nearfar.documents import MachineProfile, producer
from nearfar.machine.abilities import read_abilities
from nearfar.machine.caches import read_caches
from nearfar.machine.cpu import read_cpu
from nearfar.machine.cxl import read_cxl
from nearfar.machine.huge_pages import read_reserved, read_transparent
from nearfar.machine.nodes import read_nodes
from nearfar.machine.persistent_memory import read_persistent_memory
from nearfar.machine.sysfs import Tree
from nearfar.machine.virtualisation import read_virtualisation


def read_machine(root: Path = Path("/")) -> MachineProfile:
    """Return the machine whose `sys` and `proc` lie in `root`."""
    tree = Tree(root)
    cpu = read_cpu(tree)
    machine = MachineProfile(
        producer=producer(),
        cpu_model=cpu.model,
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
