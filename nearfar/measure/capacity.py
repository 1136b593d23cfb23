"""How much of the last-level cache one core really gets, from a chase over growing regions.

A virtual machine's cache is shared with neighbours it cannot see, and what the processor claims
is not what a program gets. A random chase over a region R that does not fit takes
h x cached + (1 - h) x memory with h = C / R, so each region implies a capacity C = h R; a region
that fits implies at least itself.
"""

from __future__ import annotations

from collections.abc import Mapping

SMALLEST_SHARE = 1 / 16
"""No less than this share of the claimed capacity is believed: below it the curve says noise."""


def effective_llc_bytes(
    latency_ns_by_region: Mapping[int, float], inner_bytes: int, llc_bytes: int
) -> int | None:
    """Return the last-level capacity the curve implies, at most `llc_bytes`; None: not seen.

    `inner_bytes` is the size of the cache before the last level; regions within twice of it say
    nothing of the last level. None where no region lies between it and the last level's size.
    """
    regions = sorted(latency_ns_by_region)
    inside = [size for size in regions if 2 * inner_bytes < size <= llc_bytes]
    if not inside or regions[-1] < 2 * llc_bytes:
        return None
    memory_ns = latency_ns_by_region[regions[-1]]
    cached_ns = min(latency_ns_by_region[size] for size in inside)
    if memory_ns <= cached_ns:
        return None
    implied = [
        size * (memory_ns - latency_ns_by_region[size]) / (memory_ns - cached_ns) for size in inside
    ]
    return int(min(llc_bytes, max(*implied, llc_bytes * SMALLEST_SHARE)))
