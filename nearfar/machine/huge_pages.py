"""Huge pages: transparent ones, and those reserved by size."""

from __future__ import annotations

import re

from nearfar.base.units import format_bytes
from nearfar.machine.sysfs import Tree


def read_transparent(tree: Tree) -> str:
    """Return always, madvise, never, or unknown."""
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
    """Return page size such as ``2MiB`` to how many are reserved."""
    folder = "sys/kernel/mm/hugepages"
    return {
        _name(int(name.removeprefix("hugepages-").removesuffix("kB"))): tree.number(
            f"{folder}/{name}/nr_hugepages"
        )
        or 0
        for name in tree.entries(folder, r"hugepages-[0-9]+kB")
    }


def _name(size_kib: int) -> str:
    number, unit = format_bytes(size_kib << 10).split()
    return f"{float(number):g}{unit}"
