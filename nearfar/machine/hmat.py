"""A node's latencies and bandwidths in the firmware's HMAT, and the kernel's memory tiers."""

from __future__ import annotations

from nearfar.documents.machine import HmatFigures
from nearfar.machine.sysfs import Tree

TIERS = "sys/devices/virtual/memory_tiering"


def read_hmat(tree: Tree, node: int) -> HmatFigures | None:
    """Return the HMAT's figures of `node` for accesses by its nearest CPUs; None without figures.

    The folder access1 has figures of the nearest CPUs, access0 those of the nearest initiator of
    any kind, such as a GPU. The kernel reports ns and MB/s, and 0 if a value is unknown.
    """
    for access in ("access1", "access0"):
        here = f"sys/devices/system/node/node{node}/{access}/initiators"
        values = {
            key: tree.number(f"{here}/{key}") or None
            for key in ("read_latency", "write_latency", "read_bandwidth", "write_bandwidth")
        }
        if any(value is not None for value in values.values()):
            return HmatFigures(
                read_latency_ns=_float(values["read_latency"]),
                write_latency_ns=_float(values["write_latency"]),
                read_bandwidth_gb_per_s=_gb(values["read_bandwidth"]),
                write_bandwidth_gb_per_s=_gb(values["write_bandwidth"]),
            )
    return None


def read_tiers(tree: Tree) -> dict[int, int]:
    """Return each node's tier (lower is faster); empty if the kernel has no tiers."""
    tiers: dict[int, int] = {}
    for name in tree.entries(TIERS, r"memory_tier[0-9]+"):
        for node in tree.cpu_list(f"{TIERS}/{name}/nodelist") or []:
            tiers[node] = int(name.removeprefix("memory_tier"))
    return tiers


def _float(value: int | None) -> float | None:
    return None if value is None else float(value)


def _gb(mb_per_s: int | None) -> float | None:
    return None if mb_per_s is None else mb_per_s / 1000
