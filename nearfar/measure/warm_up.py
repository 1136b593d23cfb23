"""How long to warm up before a chase is timed, and which regions no cache keeps."""

from __future__ import annotations

from dataclasses import dataclass, field

from nearfar.samples.point import SamplePoint

WARM_UP_ACCESSES = 100_000
"""Accesses before every timed stretch: a cold chase reads 30 % high (TLB, page tables, clock)."""

WARM_UP_PASSES = 12
"""Warm-up passes over a region that fits in the last level, which earlier points may have emptied:
caches that admit a line only at its second use fill slowly. On an AMD EPYC (family 25) a 4 MiB
region reads 115 ns after one pass, 38 ns after four and 16 ns, its settled latency, after
twelve."""

COLD_AND_WARM = 2
"""Warm-up passes of a region that no cache holds: the second is no faster than the first."""


def warm_up_accesses(region_bytes: int, llc_bytes: int) -> int:
    """Return how many accesses precede a timed chase of a region."""
    lines, llc_lines = region_bytes // 64, llc_bytes // 64
    if region_bytes <= llc_bytes:
        # Twice the cache bounds the time; it is four passes over half of it.
        return max(WARM_UP_ACCESSES, min(WARM_UP_PASSES * lines, 2 * llc_lines))
    if region_bytes <= 2 * llc_bytes:
        return max(WARM_UP_ACCESSES, llc_lines // 2)
    return WARM_UP_ACCESSES


def _pattern(point: SamplePoint) -> tuple[object, ...]:
    """Return the settings, other than size, that decide whether caches keep a point's region."""
    return point.kernel, point.page_bytes, point.stride_bytes, point.generator, point.pause_ns


def _visited_bytes(point: SamplePoint) -> int:
    """Return the size of the lines that one pass over a region visits."""
    step = max(point.stride_bytes, point.access_bytes)
    return point.region_bytes // step * point.access_bytes


@dataclass
class WarmUp:
    """Warm-up of a measurement's points, and what earlier ones showed of the caches."""

    llc_bytes: int
    _uncached: dict[tuple[object, ...], set[int]] = field(default_factory=dict, init=False)
    """Sizes by pattern of regions that no cache keeps from one warm-up pass to the next."""
    _latest: tuple[int, int] = field(default=(0, 0), init=False)
    """Page size and size of the latest region, which a cache may still hold."""

    def accesses(self, point: SamplePoint) -> tuple[int, int]:
        """Return the most accesses that warm up, and those of each pass (0: all at once)."""
        visited_bytes = _visited_bytes(point)
        llc_bytes = 0 if self._is_uncached(point, visited_bytes) else self.llc_bytes
        fits = visited_bytes <= llc_bytes  # else the latency settles within less than one pass
        pass_accesses = max(visited_bytes // 64, WARM_UP_ACCESSES // 2) if fits else 0
        return warm_up_accesses(visited_bytes, llc_bytes), pass_accesses

    def note_passes(self, point: SamplePoint, warm_up_passes: int) -> None:
        """Note that no cache keeps a large region if its second pass was as slow as its cold first.

        A virtual machine reports the whole last-level cache, but gets a small share of it. Warming
        up a region of a size between the two would take minutes and change nothing.
        """
        latest, self._latest = self._latest, (point.page_bytes, point.region_bytes)
        if warm_up_passes != COLD_AND_WARM or latest == self._latest:
            return
        visited_bytes = _visited_bytes(point)
        if visited_bytes // 64 > 2 * WARM_UP_ACCESSES:
            self._uncached.setdefault(_pattern(point), set()).add(visited_bytes)

    def _is_uncached(self, point: SamplePoint, visited_bytes: int) -> bool:
        """Return whether no cache keeps the region, as far as earlier samples show.

        A region beyond the last-level cache is uncached if any region of its pattern was.
        """
        sizes = self._uncached.get(_pattern(point), set())
        return visited_bytes in sizes if visited_bytes <= self.llc_bytes else bool(sizes)
