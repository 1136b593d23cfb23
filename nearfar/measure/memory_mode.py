"""Memory Mode: persistent memory behind a cache of DRAM.

The kernel reports it as a memory-side cache (from the firmware's HMAT), or ipmctl does. Regions
within the cache measure DRAM, larger ones mostly persistent memory.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from nearfar.base.units import format_bytes
from nearfar.machine.nodes import NODES
from nearfar.machine.sysfs import Tree

BEYOND = 2
"""Ratio of the largest region to the DRAM cache: it is direct-mapped, so at least half of the lines
come from behind it."""

IPMCTL_S = 10.0
"""Time limit of ipmctl, s: it asks every module."""


def cache_bytes(
    node: int | None, root: Path = Path("/"), ipmctl: Callable[[], str] | None = None
) -> int:
    """Return the DRAM that caches the memory of `node`; 0: none is known."""
    tree = Tree(root)
    if node is not None:
        here = f"{NODES}/node{node}/memory_side_cache"
        sizes = [tree.size_bytes(f"{here}/{i}/size") for i in tree.entries(here, r"index[0-9]+")]
        if total := sum(size for size in sizes if size):
            return total
    sockets = len(tree.entries(NODES, r"node[0-9]+")) or 1
    return _from_ipmctl((ipmctl or _ask_ipmctl)()) // sockets


def _ask_ipmctl() -> str:
    """Return ``ipmctl show -memoryresources``; empty if it is missing or fails."""
    program = shutil.which("ipmctl")
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, "show", "-memoryresources"],
            capture_output=True,
            text=True,
            timeout=IPMCTL_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _from_ipmctl(text: str) -> int:
    """Return DRAM used as cache of all sockets: the row Cache, or DRAM where Memory Mode is on.

    Newer ipmctl prints a table of rows Volatile, AppDirect, Cache; older ones pairs such as
    ``MemoryCapacity=252.0 GiB`` without a word on the cache, from which nothing follows.
    """
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if cells and cells[0].lower() == "cache" and len(cells) > 1:
            # DDR is the first column, the total the last.
            match = re.fullmatch(r"([0-9.]+)\s*(MiB|GiB|TiB)", cells[1])
            if match:
                unit = {"MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[match[2]]
                return int(float(match[1]) * unit)
    return 0


def largest_bytes(cache: int, usual: int, usable: int) -> int:
    """Return the largest region: beyond the DRAM cache if `usable` memory allows it."""
    beyond = BEYOND * cache
    return beyond if usual < beyond <= usable else usual


def warning(cache: int, largest: int) -> str:
    """Return a sentence on what was measured."""
    cached = f"Memory Mode: {format_bytes(cache)} of DRAM cache the memory"
    if largest > cache:
        return (
            f"{cached}, so regions up to that read DRAM and larger ones, up to "
            f"{format_bytes(largest)}, DRAM and persistent memory together"
        )
    return (
        f"{cached}, and the largest region is {format_bytes(largest)}: that DRAM was "
        "measured; a larger --largest measures the memory behind it"
    )
