"""Inferred sizes of caches beside those that the kernel reports: which of them not to use."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from nearfar.base.units import format_bytes, parse_size_bytes
from nearfar.documents.device import BufferFigure
from nearfar.measure.subject import CACHES_FACT

MAX_GAP = 0.2
"""Distance from the interval of an inferred size to the reported size, over the latter, beyond
which the inferred size is not to be used."""

CACHE_NAME = re.compile(r"L\d+")
"""Name of a cache of the processor; other names are of buffers of the memory."""


@dataclass(frozen=True)
class ReportedCache:
    """An inferred cache, and what the kernel reports for it."""

    inferred: BufferFigure
    reported_bytes: int | None
    """None: the kernel reports no such cache."""
    is_last: bool = False
    """Whether it is the last level, of which one core may get a part."""
    inner_bytes: int = 0
    """All nearer caches that the kernel reports: an exclusive last level adds its size to theirs,
    and a part of it can be seen only beyond them."""

    @property
    def is_part(self) -> bool:
        """Whether it can be the part of the last level that this core gets."""
        return self.is_last and self.inner_bytes <= self._ends()[1] < (self.reported_bytes or 0)

    @property
    def is_wrong(self) -> bool:
        """Whether the interval leaves out the reported size by more than `MAX_GAP`."""
        if self.reported_bytes is None:
            return True
        low, high = self._ends()
        most = self.reported_bytes + (self.inner_bytes if self.is_last else 0)
        gap = max(low - most, self.reported_bytes - high, 0)
        return gap > MAX_GAP * self.reported_bytes and not self.is_part

    def __str__(self) -> str:
        """Return what the kernel reports and, unless the size is wrong, the confidence."""
        if self.reported_bytes is None:
            return "the kernel reports no such cache"
        kernel = f"the kernel reports {format_bytes(self.reported_bytes)}"
        if self.is_wrong:
            return kernel
        part = ", of which a core may get a part" if self.is_part else ""
        confidence = self.inferred.confidence
        return f"{kernel}{part}" + ("" if confidence is None else f"; confidence {confidence:.0%}")

    def _ends(self) -> tuple[int, int]:
        size = self.inferred.capacity_bytes
        return (
            self.inferred.capacity_low_bytes or size,
            self.inferred.capacity_high_bytes or size,
        )


def kernels_caches(facts: Mapping[str, str]) -> list[int]:
    """Return the sizes of caches in a measurement's facts, bytes; empty: the kernel reports none.

    The first level is first.
    """
    text = facts.get(CACHES_FACT, "unknown")
    return [] if text == "unknown" else [parse_size_bytes(size) for size in text.split(", ")]


def reported_caches(
    buffers: Sequence[BufferFigure], sizes: Sequence[int]
) -> dict[str, ReportedCache]:
    """Return the caches among `buffers` by name; empty if `sizes`, which the kernel reports, is.

    Both kinds keep their order; of all ways to pair them, this one has the smallest ratios.
    """
    caches = [buffer for buffer in buffers if CACHE_NAME.fullmatch(buffer.name)]
    if not sizes:
        return {}
    count = min(len(caches), len(sizes))
    ways = product(combinations(caches, count), combinations(sizes, count))

    def ratios(way: tuple[tuple[BufferFigure, ...], tuple[int, ...]]) -> float:
        pairs = zip(*way, strict=True)
        return sum(abs(math.log(cache.capacity_bytes / size)) for cache, size in pairs)

    paired = {cache.name: size for cache, size in zip(*min(ways, key=ratios), strict=True)}
    reported = {cache.name: (cache, paired.get(cache.name)) for cache in caches}
    return {
        name: ReportedCache(cache, size, is_last=size == sizes[-1], inner_bytes=sum(sizes[:-1]))
        for name, (cache, size) in reported.items()
    }


def caches_verdict(caches: Mapping[str, ReportedCache]) -> str:
    """Return which sizes not to use, in a sentence; empty: all agree with the kernel."""
    wrong = [name for name, cache in caches.items() if cache.is_wrong]
    if not wrong:
        return ""
    return (
        f"do not use the inferred size of {', '.join(wrong)}: the kernel reports one that is more "
        f"than {MAX_GAP:.0%} off, or no such cache; measure again at a quieter time (a hypervisor "
        "may describe other caches than the processor has)"
    )
