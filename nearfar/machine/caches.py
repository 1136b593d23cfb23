"""Caches: sizes, ways, lines, and which CPUs share one."""

from __future__ import annotations

from typing import Literal

from nearfar.base.units import LINE_BYTES
from nearfar.documents.machine import Cache
from nearfar.machine.sysfs import Tree

_TYPES: dict[str, Literal["data", "instruction", "unified"]] = {
    "Data": "data",
    "Instruction": "instruction",
    "Unified": "unified",
}


def read_caches(tree: Tree) -> list[Cache]:
    """Return one entry for each kind of cache; hybrid CPUs have several kinds at a level."""
    kinds: dict[tuple[int, str, int, int | None, int], dict[tuple[int, ...], None]] = {}
    for cpu in tree.entries("sys/devices/system/cpu", r"cpu[0-9]+"):
        folder = f"sys/devices/system/cpu/{cpu}/cache"
        for index in tree.entries(folder, r"index[0-9]+"):
            here = f"{folder}/{index}"
            level, size = tree.number(f"{here}/level"), tree.size_bytes(f"{here}/size")
            kind = _TYPES.get(tree.text(f"{here}/type") or "")
            if level is None or size is None or size == 0 or kind is None:
                continue
            key = (
                level,
                kind,
                size,
                # 0 means unknown (or fully associative, but no large cache is).
                tree.number(f"{here}/ways_of_associativity") or None,
                tree.number(f"{here}/coherency_line_size") or LINE_BYTES,
            )
            shared = tree.cpu_list(f"{here}/shared_cpu_list") or [int(cpu[3:])]
            kinds.setdefault(key, {})[tuple(shared)] = None
    caches = [
        Cache(
            level=level,
            type=_TYPES[kind.title()],
            size_bytes=size,
            ways=ways,
            line_bytes=line,
            shared_by_cpus=list(next(iter(groups))),
            count=len(groups),
        )
        for (level, kind, size, ways, line), groups in kinds.items()
    ]
    return sorted(caches, key=lambda c: (c.level, c.type, -c.size_bytes)) or _from_cpuinfo(tree)


def _from_cpuinfo(tree: Tree) -> list[Cache]:
    """Return the single cache of /proc/cpuinfo, for a kernel or guest without caches in sysfs.

    Its "cache size" is the last level on Intel processors. On AMD it is the second level, a tenth
    of the last level or less, so there the caches stay unknown.
    """
    rows = tree.table("proc/cpuinfo")
    words = rows.get("cache size", "").split()
    if rows.get("vendor_id") != "GenuineIntel" or len(words) != 2 or not words[0].isdigit():
        return []
    return [
        Cache(
            level=3,
            type="unified",
            size_bytes=int(words[0]) << 10,
            ways=None,
            line_bytes=LINE_BYTES,
            shared_by_cpus=[
                int(value) for key, value in tree.pairs("proc/cpuinfo") if key == "processor"
            ],
            count=1,
        )
    ]
