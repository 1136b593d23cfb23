"""Small questions about the running machine that other stages ask."""

from __future__ import annotations

from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents.machine import Cache
from nearfar.machine.caches import read_caches
from nearfar.machine.sysfs import Tree

USUAL_WAYS = 16
"""Ways of the last-level cache if the kernel does not report them: the most common on servers."""


def last_level_cache(root: Path = Path("/")) -> Cache | None:
    """Return the largest data or unified cache of the highest level, or None if unknown."""
    caches = [cache for cache in read_caches(Tree(root)) if cache.type != "instruction"]
    return max(caches, key=lambda cache: (cache.level, cache.size_bytes), default=None)


def llc(root: Path = Path("/")) -> tuple[int, int]:
    """Return size in bytes and ways of the last-level cache that one CPU can use."""
    cache = last_level_cache(root)
    if cache is None:
        raise NearfarError(
            "the size of the last-level cache is unknown: neither sysfs nor /proc/cpuinfo has "
            "it; give it with the option that overrides it",
            ExitCode.MACHINE_LACKS,
        )
    return cache.size_bytes, cache.ways or USUAL_WAYS
