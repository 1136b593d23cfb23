"""Checks before anything is mapped: memories that are missing, busy or too small.

Each check raises an error of one sentence that ends with the remedy. Checks read sysfs below
`root`, so that tests can describe any machine. Problems that only mapping shows are reported by the
code that maps.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes
from nearfar.machine.nodes import NODES
from nearfar.machine.persistent_memory import (
    DAX_DEVICES,
    is_system_ram,
    read_persistent_memory,
)
from nearfar.machine.sysfs import Tree
from nearfar.memories import topology
from nearfar.memories.spec import PAGE_BYTES, MemorySpec, Pages

ROOT = Path("/")


def _lacks(text: str) -> NearfarError:
    return NearfarError(text, ExitCode.MACHINE_LACKS)


def check_threads(wanted: int | None, cpus: int, node: int | None) -> None:
    """Refuse more threads than there are cores for them."""
    if wanted is not None and wanted > cpus:
        where = "" if node is None else f" of node {node}"
        raise _lacks(
            f"{wanted} threads need {wanted} cores, and this process may use {cpus}{where} (one "
            f"thread a core): --threads {cpus}, or allow it more CPUs (taskset, the container)"
        )


def check_node(node: int, root: Path = ROOT) -> None:
    """Refuse a node that is missing, offline, or without memory."""
    tree = Tree(root)
    online = [int(name[4:]) for name in tree.entries(NODES, r"node[0-9]+")]
    if node not in online:
        there = ", ".join(map(str, online)) or "none (the kernel has no NUMA support)"
        if node in (tree.cpu_list(f"{NODES}/possible") or []):
            raise _lacks(
                f"node {node} is offline; online are: {there}. Bring its memory online: daxctl "
                "reconfigure-device --mode=system-ram daxX.Y, or echo online to its blocks in "
                "/sys/devices/system/memory"
            )
        raise _lacks(f"this machine has no NUMA node {node}; it has: {there}")
    if topology.node_memory_bytes(node, root)[0] == 0:
        raise _lacks(f"node {node} has no memory: choose another (`nearfar machine` lists them)")


def check_folder(path: Path, size_bytes: int) -> None:
    """Refuse a folder that is missing, not writable, or has too little space."""
    if not path.exists():
        # A parent folder is no substitute: if pmem is not mounted, the parent is on a disk.
        raise _lacks(
            f"there is no {path}: name a folder or file on the memory to measure, and mount it "
            "first"
        )
    folder = path if path.is_dir() else path.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _lacks(
            f"cannot map a file in {folder}: permission denied; choose a folder you may write to"
        )
    status = os.statvfs(folder)
    free = status.f_bavail * status.f_frsize
    if free < size_bytes:
        raise _lacks(
            f"{folder} has {format_bytes(free)} free, and {format_bytes(size_bytes)} are needed: "
            "free some space or choose a smaller --largest"
        )


def no_dax(path: Path, root: Path = ROOT) -> NearfarError:
    """Return the error for a folder whose file system maps through the page cache."""
    mounts = [
        mount
        for mount in read_persistent_memory(Tree(root))
        if mount.mode == "fsdax" and not mount.dax
    ]
    remedy = "mount -o dax on a namespace in fsdax mode (ndctl create-namespace --mode=fsdax)"
    if mounts:
        names = ", ".join(f"/dev/{mount.device}" for mount in mounts)
        remedy = f"{names} can do it: mount -o dax (ext4 or XFS)"
    return _lacks(
        f"dax=require, but {path} is mapped through the page cache, which is DRAM: {remedy}, or "
        "leave dax=require out to measure that"
    )


def check_devdax(path: Path, root: Path = ROOT) -> tuple[int, int]:
    """Return (size, alignment) bytes of a DAX device; refuse one that cannot be used."""
    tree = Tree(root)
    name = path.name
    here = f"{DAX_DEVICES}/{name}"
    devices = tree.entries(DAX_DEVICES, r"dax[0-9]+\.[0-9]+")
    if name not in devices:
        raise _lacks(_no_device(path, devices, tree))
    if is_system_ram(tree, name):
        node = tree.number(f"{here}/target_node")
        raise _lacks(
            f"{path} is busy: it is used as ordinary memory (system-ram); measure node:{node}, or "
            f"daxctl reconfigure-device --mode=devdax --force {name}"
        )
    device = root / str(path).lstrip("/")
    try:
        mode = device.stat().st_mode
    except OSError as error:
        raise _lacks(f"cannot open {path}: {error.strerror}; `daxctl list` shows all") from error
    if not stat.S_ISCHR(mode) and tree.live:
        raise _lacks(f"{path} is no DAX device: it is not a character device")
    if not os.access(device, os.R_OK | os.W_OK):
        raise _lacks(
            f"may not open {path}: permission denied; setfacl -m u:{os.getuid()}:rw {path}, or "
            "run as root"
        )
    size = tree.number(f"{here}/size") or 0
    align = tree.number(f"{here}/align") or PAGE_BYTES["2m"]
    if size < align:
        raise _lacks(f"{path} is empty: its size is {size} bytes; `daxctl list` shows all")
    return size, align


def check_aligned(path: Path, size_bytes: int, align_bytes: int) -> None:
    """Refuse a region of a DAX device that is not a multiple of its pages."""
    if size_bytes % align_bytes:
        raise _lacks(
            f"{format_bytes(size_bytes)} of {path} cannot be mapped: the size must be a multiple "
            f"of {format_bytes(align_bytes)}; choose another --largest, or a namespace of smaller "
            "alignment (ndctl create-namespace -f -e NAMESPACE --mode=devdax --align=4096)"
        )


def _no_device(path: Path, devices: list[str], tree: Tree) -> str:
    there = f"there are: {', '.join('/dev/' + name for name in devices)}"
    if devices:
        return f"there is no DAX device {path}; {there}"
    others = [device for device in read_persistent_memory(tree) if device.mode != "devdax"]
    if not others:
        return f"there is no DAX device {path}: this machine has none; `nearfar machine` shows all"
    used = ", ".join(
        f"{device.device} ({device.mode}{f', mounted at {device.mount}' if device.mount else ''})"
        for device in others
    )
    unmount = next((f"umount {device.mount}; " for device in others if device.mount), "")
    return (
        f"there is no DAX device {path}: namespaces have another mode, {used}; to "
        f"convert one and lose its data: {unmount}ndctl create-namespace -f -e NAMESPACE "
        "--mode=devdax"
    )


def free_huge_pages(page_bytes: int, root: Path = ROOT) -> int | None:
    """Return the number of free reserved pages of this size; None: the kernel lacks the size."""
    folder = f"sys/kernel/mm/hugepages/hugepages-{page_bytes >> 10}kB"
    return Tree(root).number(f"{folder}/free_hugepages")


def check_huge_pages(pages: Pages, size_bytes: int, root: Path = ROOT) -> None:
    """Refuse missing huge pages, with the command that reserves them."""
    page_bytes = PAGE_BYTES[pages]
    free = free_huge_pages(page_bytes, root)
    if free is None:
        raise _lacks(
            f"this kernel or processor has no pages of {format_bytes(page_bytes)}: use pages=thp"
        )
    count = -(-size_bytes // page_bytes)
    if free >= count:
        return
    reserve = f"sysctl vm.nr_hugepages={count}"
    if pages == "1g":
        reserve = (
            f"echo {count} > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages (best at "
            f"boot: hugepagesz=1G hugepages={count})"
        )
    raise _lacks(
        f"{count} reserved pages of {format_bytes(page_bytes)} are needed, and {free} are free: "
        f"{reserve}, or measure dram,pages=thp"
    )


def check_region(spec: MemorySpec, wanted_bytes: int, total_bytes: int, what: str) -> None:
    """Refuse a region larger than all memory of `what`, free or in use."""
    if wanted_bytes > total_bytes:
        raise _lacks(
            f"a region of {format_bytes(wanted_bytes)} is larger than {what}, which has "
            f"{format_bytes(total_bytes)}: choose a smaller --largest"
            + (
                " (it would reach into another socket's memory)"
                if spec.kind == "dram" and what.startswith("node")
                else ""
            )
        )
