"""Which accesses of a long row were stalled, and whether they recur: what noise does is taken off.

Times beyond the noise of the row itself are looked at by length, because stalls of one cause are
alike and strays are of all lengths: those of one length that recur at a fixed distance are stalls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nearfar.measure.infer.periods import LEAST_EVENTS, Period, find_period
from nearfar.samples.point import SamplePoint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.measure.infer.probe import InferenceProbe


SMALLEST_BYTES, LARGEST_BYTES = 512, 256 << 10
"""Around the blocks counted in the published media, 4 KiB; twice the one before each time."""

ACCESS_BYTES = 64
PERIODS = 10
"""Of each region's expected stalls: enough for a period to be seen."""

MOST_WRITES = 2_000_000
"""In one sample: half a second on the media known."""

LEADS = (0.0, 0.23)
"""Of a period; the second is no half and no quarter of one."""

NEAR = 0.12
"""A region's period counts as so many times the first if within so much of it."""


def wear_granularity(
    probe: InferenceProbe, period_writes: int, length_ns: float
) -> tuple[int | None, str]:
    """Return the block whose writes are counted together, or why it is not known."""
    region = SMALLEST_BYTES
    while region <= LARGEST_BYTES:
        if probe.seconds_left() <= 0:
            return None, "the time was up"
        found = [_times(probe, region, (period_writes, length_ns), lead) for lead in LEADS]
        if any(times is not None and abs(times - 2) <= 2 * NEAR for times in found):
            return region // 2, ""
        if all(times is None for times in found):
            if region == SMALLEST_BYTES:
                return None, f"writes spread over {region} bytes are not stalled"
            # Half of it was stalled as one place is: spread over more than one block, none is.
            return region // 2, ""
        if not any(times is not None and abs(times - 1) <= NEAR for times in found):
            return None, f"a region of {region} bytes stalls neither every period nor every second"
        region *= 2
    return None, f"writes to all of {LARGEST_BYTES >> 10} KiB are counted together, or more"


def _times(
    probe: InferenceProbe, region: int, stall: tuple[int, float], lead: float
) -> float | None:
    """Return a region's period in those of one place; None: it has none.

    Two blocks whose counts are half a period apart would stall as one does: `lead`, in periods,
    is written to the first of them before.
    """
    period_writes, length_ns = stall
    if lead > 0:
        probe.sample(_overwrite(probe, SMALLEST_BYTES // 2, max(int(lead * period_writes), 1)))
    writes = min(2 * PERIODS * period_writes, MOST_WRITES)
    sample = probe.calm(_overwrite(probe, region, writes))
    if sample.each_ns is None:
        return None
    period = recurring_at(sample.each_ns.astype(float), length_ns)
    return None if period is None else period.value / period_writes


def _overwrite(probe: InferenceProbe, region: int, writes: int) -> SamplePoint:
    return SamplePoint(
        "overwrite",
        "overwrite",
        probe.facts.page_sizes[0],
        region,
        access_bytes=ACCESS_BYTES,
        each=True,
        accesses=writes,
    )


MOST_STALLED = 0.1
"""Share of accesses: what hits more of them is how the memory is, not a stall."""

BEYOND_NOISE = 8.0
"""Robust standard deviations of the row beyond its median from which an access is looked at."""

ALIKE = 1.4
"""Stalls of one cause are so many times as long as each other, at most: those published are."""

OVERLAP = 1.18
"""Ratio of one looked-at length to the next: half of `ALIKE`, so that none is parted by the cut."""

MOST_EVENTS = 600
"""Of one length: enough for any period, and looked through in a moment."""

MOST_KINDS = 3
"""Wear, refresh, and one of the host's."""

SHARED = 0.3
"""Two kinds that share so many of their accesses are one."""


@dataclass(frozen=True)
class Stalls:
    """Stalled accesses of one kind: alike in length, and recurring."""

    indices: NDArray[np.intp]
    """In the row of accesses."""
    lengths_ns: NDArray[np.float64]
    """Beyond the usual access."""
    by_writes: Period | None
    """Distance counted in accesses; None: none fixed."""
    by_time: Period | None
    """Distance in ns."""

    @property
    def share(self) -> float:
        """Of the stalls, that keep to the better of both periods."""
        return max(one.share for one in (self.by_writes, self.by_time) if one is not None)


def find_kinds(each_ns: NDArray[np.float64], rest_ns: float) -> list[Stalls]:
    """Return every kind of stall that recurs among accesses in order, surest first.

    `rest_ns` passes between two accesses.
    """
    usual = float(np.median(each_ns))
    lengths = each_ns - usual
    events = np.nonzero(lengths > beyond_noise(each_ns))[0]
    ends_ns = np.cumsum(each_ns + rest_ns)
    found: list[Stalls] = []
    if len(events) < LEAST_EVENTS:
        return found
    low = float(lengths[events].min())
    while low < lengths[events].max():
        alike = events[(lengths[events] >= low) & (lengths[events] < low * ALIKE)]
        if LEAST_EVENTS < len(alike) <= MOST_STALLED * len(each_ns):
            kind = _recurring(alike[:MOST_EVENTS], lengths, ends_ns)
            if kind is not None:
                found.append(kind)
        low *= OVERLAP
    return _distinct(found)


def beyond_noise(each_ns: NDArray[np.float64]) -> float:
    """Return the length beyond the median that noise alone does not make, ns."""
    low, usual, high = np.percentile(each_ns, (16, 50, 84))
    return BEYOND_NOISE * float(max(high - usual, usual - low))


def recurring_at(each_ns: NDArray[np.float64], length_ns: float) -> Period | None:
    """Return the period, in accesses, of stalls about as long as `length_ns`."""
    lengths = each_ns - np.median(each_ns)
    alike = (lengths > length_ns / ALIKE) & (lengths < length_ns * ALIKE)
    return find_period(np.nonzero(alike)[0][:MOST_EVENTS].astype(float))


def _recurring(
    indices: NDArray[np.intp], lengths: NDArray[np.float64], ends_ns: NDArray[np.float64]
) -> Stalls | None:
    by_writes = find_period(indices.astype(float))
    by_time = find_period(ends_ns[indices])
    chosen = max(
        (one for one in (by_writes, by_time) if one is not None),
        key=lambda one: one.share,
        default=None,
    )
    if chosen is None:
        return None
    members = indices[chosen.members]
    return Stalls(members, lengths[members], by_writes, by_time)


def _distinct(kinds: list[Stalls]) -> list[Stalls]:
    """Drop kinds that share accesses with a surer one."""
    kept: list[Stalls] = []
    for kind in sorted(kinds, key=lambda one: (one.share, len(one.indices)), reverse=True):
        taken = [len(np.intersect1d(kind.indices, one.indices)) for one in kept]
        if all(shared <= SHARED * len(kind.indices) for shared in taken):
            kept.append(kind)
    return kept[:MOST_KINDS]
