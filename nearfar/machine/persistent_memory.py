"""Persistent memory: regions, their namespaces, and the mode and mount point of each."""

from __future__ import annotations

from nearfar.documents.machine import PersistentMemory
from nearfar.machine.sysfs import Tree

DEVICES = "sys/bus/nd/devices"
DAX_DEVICES = "sys/bus/dax/devices"

MODES = {"raw": "raw", "safe": "sector", "memory": "fsdax", "dax": "devdax"}
"""Mode of a namespace in sysfs to its name in ndctl."""


def read_persistent_memory(tree: Tree) -> list[PersistentMemory]:
    """Return every namespace with a size, and every region without such a namespace."""
    memories = []
    for region in tree.entries(DEVICES, r"region[0-9]+"):
        names = [
            name
            for name in tree.entries(DEVICES, rf"namespace{region.removeprefix('region')}\.[0-9]+")
            # A seed, which becomes the next namespace, has no size.
            if tree.number(f"{DEVICES}/{name}/size")
        ]
        if not names:
            size = tree.number(f"{DEVICES}/{region}/size") or 0
            memories.append(
                PersistentMemory(
                    device=region, mode="raw", size_bytes=size, node=node_of(tree, region)
                )
            )
        memories += [_namespace(tree, region, name) for name in names]
    return memories


def dax_device(tree: Tree, namespace: str) -> str | None:
    """Return the device-dax of a namespace, such as dax1.0: a child of the namespace's holder."""
    holder = tree.text(f"{DEVICES}/{namespace}/holder")
    names = tree.entries(f"{DEVICES}/{holder}", r"dax[0-9]+\.[0-9]+") if holder else []
    return names[0] if names else None


def is_system_ram(tree: Tree, dax: str) -> bool:
    """Return whether the kernel uses the device-dax as ordinary memory."""
    return tree.link_name(f"{DAX_DEVICES}/{dax}/driver") == "kmem"


def _namespace(tree: Tree, region: str, name: str) -> PersistentMemory:
    here = f"{DEVICES}/{name}"
    mode = MODES.get(tree.text(f"{here}/mode") or "raw", "raw")
    block = block_device(tree, name)
    dax = dax_device(tree, name)
    if mode == "devdax" and dax and is_system_ram(tree, dax):
        mode = "system-ram"
    mount, with_dax = mount_of(tree, block) if block else (None, None)
    return PersistentMemory(
        device=block or (dax if mode in ("devdax", "system-ram") and dax else name),
        mode=mode,
        size_bytes=tree.number(f"{here}/size") or 0,
        node=node_of(tree, region),
        mount=mount,
        dax=with_dax,
    )


def node_of(tree: Tree, region: str) -> int | None:
    """Return the node that the region's memory would form; else the node of the nearest CPUs."""
    for key in ("target_node", "numa_node"):
        node = tree.number(f"{DEVICES}/{region}/{key}")
        if node is not None and node >= 0:
            return node
    return None


def block_device(tree: Tree, namespace: str) -> str | None:
    """Return the block device of a namespace: its own, or that of the pfn or btt that holds it."""
    for holder in (namespace, tree.text(f"{DEVICES}/{namespace}/holder") or ""):
        if holder:
            names = tree.entries(f"{DEVICES}/{holder}/block", r"pmem.+")
            if names:
                return names[0]
    return None


def mount_of(tree: Tree, block: str) -> tuple[str | None, bool | None]:
    """Return where `block` is mounted and whether with DAX for every file; None: not mounted."""
    for line in (tree.text("proc/mounts") or "").splitlines():
        fields = line.split()
        if len(fields) >= 4 and fields[0] == f"/dev/{block}":
            options = fields[3].split(",")
            return fields[1], "dax" in options or "dax=always" in options
    return None, None
