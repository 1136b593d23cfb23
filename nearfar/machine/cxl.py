"""CXL memory devices, and the NUMA node that each forms."""

from __future__ import annotations

from nearfar.documents.machine import CxlDevice
from nearfar.machine.sysfs import Tree

DEVICES = "sys/bus/cxl/devices"


def read_cxl(tree: Tree) -> list[CxlDevice]:
    """Return the memory devices of the CXL bus."""
    nodes = _node_by_device(tree)
    return [
        CxlDevice(
            device=name,
            volatile_bytes=tree.number(f"{DEVICES}/{name}/ram/size"),
            persistent_bytes=tree.number(f"{DEVICES}/{name}/pmem/size"),
            node=nodes.get(name),
        )
        for name in tree.entries(DEVICES, r"mem[0-9]+")
    ]


def region_dax(tree: Tree, region: str) -> str | None:
    """Return the device-dax of a CXL region, such as dax0.0."""
    for parent in tree.entries(f"{DEVICES}/{region}", r"dax_region[0-9]+"):
        for name in tree.entries(f"{DEVICES}/{region}/{parent}", r"dax[0-9]+\.[0-9]+"):
            return name
    return None


def _node_by_device(tree: Tree) -> dict[str, int]:
    """Return, by memory device, the node that the device's region forms.

    A region lists its endpoint decoders (``decoder3.0`` in ``target0``). The link `uport` of a
    decoder's endpoint (``endpoint3``) names the memory device.
    """
    nodes: dict[str, int] = {}
    for region in tree.entries(DEVICES, r"region[0-9]+"):
        dax = region_dax(tree, region)
        # A region of persistent memory also has a region of the same number on the nd bus.
        holder = f"sys/bus/dax/devices/{dax}" if dax else f"sys/bus/nd/devices/{region}"
        node = tree.number(f"{holder}/target_node")
        if node is None or node < 0:
            continue
        for target in tree.entries(f"{DEVICES}/{region}", r"target[0-9]+"):
            decoder = tree.text(f"{DEVICES}/{region}/{target}") or ""
            endpoint = decoder.replace("decoder", "endpoint").partition(".")[0]
            device = tree.link_name(f"{DEVICES}/{endpoint}/uport")
            if device is not None:
                nodes[device] = node
    return nodes
