"""The present state of far memory, under the names that ndctl and daxctl use."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.machine.nodes import NODES
from nearfar.machine.persistent_memory import (
    DAX_DEVICES,
    DEVICES,
    MODES,
    block_device,
    dax_device,
    is_system_ram,
    mount_of,
    node_of,
)
from nearfar.machine.sysfs import Tree


@dataclass(frozen=True)
class ConvertibleMemory:
    """A namespace, a region without namespace, or a device-dax without namespace."""

    name: str
    """namespace0.0, region0 or dax0.0: the name that the user types to convert or destroy it."""
    region: str | None
    mode: str
    """empty (region without namespace), raw, sector, fsdax, devdax, system-ram."""
    size_bytes: int
    block: str | None = None
    dax: str | None = None
    node: int | None = None
    mount: str | None = None
    mounted_with_dax: bool = False
    provider: str = ""
    """Driver that made it: ACPI.NFIT, e820, CXL, hmem."""

    def names(self) -> set[str]:
        """Return all its names."""
        names = {self.name, self.block, self.dax}
        if self.mode == "empty":
            names.add(self.region)
        return {name for name in names if name}


def all_far(tree: Tree) -> list[ConvertibleMemory]:
    """Return all memories that can be converted."""
    far: list[ConvertibleMemory] = []
    for region in tree.entries(DEVICES, r"region[0-9]+"):
        names = namespaces(tree, region)
        far += [_namespace(tree, region, name) for name in names]
        if not names:
            far.append(
                ConvertibleMemory(
                    name=region,
                    region=region,
                    mode="empty",
                    size_bytes=tree.number(f"{DEVICES}/{region}/size") or 0,
                    node=node_of(tree, region),
                    provider=provider(tree, region),
                )
            )
    taken = {far.dax for far in far}
    for dax in tree.entries(DAX_DEVICES, r"dax[0-9]+\.[0-9]+"):
        size = tree.number(f"{DAX_DEVICES}/{dax}/size") or 0
        if dax not in taken and size:
            far.append(
                ConvertibleMemory(
                    name=dax,
                    region=None,
                    mode="system-ram" if is_system_ram(tree, dax) else "devdax",
                    size_bytes=size,
                    dax=dax,
                    node=tree.number(f"{DAX_DEVICES}/{dax}/target_node"),
                    provider="hmem",
                )
            )
    return far


def find(tree: Tree, name: str) -> ConvertibleMemory | None:
    """Return the memory that has `name` now; None if there is none."""
    return next((far for far in all_far(tree) if name in far.names()), None)


def namespaces(tree: Tree, region: str) -> list[str]:
    """Return the namespaces of a region, without seeds, which have no size."""
    number = region.removeprefix("region")
    return [
        name
        for name in tree.entries(DEVICES, rf"namespace{number}\.[0-9]+")
        if tree.number(f"{DEVICES}/{name}/size")
    ]


def provider(tree: Tree, region: str) -> str:
    """Return the driver that made a region: the provider of its bus, the parent of its folder."""
    real = (tree.root / DEVICES / region).resolve()
    try:
        return (real.parent / "provider").read_text().strip()
    except OSError:
        return tree.text(f"{DEVICES}/{region}/provider") or "ACPI.NFIT"


def usual_block(name: str) -> str:
    """Return a namespace's usual block device: pmem0 of namespace0.0, pmem0.1 of namespace0.1."""
    number = name.removeprefix("namespace").removeprefix("region")
    return f"pmem{number.removesuffix('.0')}"


def usual_dax(name: str) -> str:
    """Return a namespace's usual device-dax."""
    number = name.removeprefix("namespace").removeprefix("region")
    return f"dax{number}" if "." in number else f"dax{number}.0"


def node_bytes(tree: Tree, node: int | None) -> tuple[int, int]:
    """Return (all, free) bytes of a node; (0, 0) of one that is not online."""
    bytes_by_key = {"MemTotal": 0, "MemFree": 0}
    for key, value in tree.pairs(f"{NODES}/node{node}/meminfo"):
        name = key.split()[-1]
        if name in bytes_by_key and value.split()[0].isdigit():
            bytes_by_key[name] = int(value.split()[0]) << 10
    return bytes_by_key["MemTotal"], bytes_by_key["MemFree"]


def _namespace(tree: Tree, region: str, name: str) -> ConvertibleMemory:
    mode = MODES.get(tree.text(f"{DEVICES}/{name}/mode") or "raw", "raw")
    dax = dax_device(tree, name)
    if mode == "devdax" and dax and is_system_ram(tree, dax):
        mode = "system-ram"
    block = block_device(tree, name)
    mount, with_dax = mount_of(tree, block) if block else (None, None)
    return ConvertibleMemory(
        name=name,
        region=region,
        mode=mode,
        size_bytes=tree.number(f"{DEVICES}/{name}/size") or 0,
        block=block,
        dax=dax,
        node=node_of(tree, region),
        mount=mount,
        mounted_with_dax=bool(with_dax),
        provider=provider(tree, region),
    )
