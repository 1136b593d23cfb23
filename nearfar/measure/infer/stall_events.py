"""Stalled accesses in a long row of timed accesses, and the block whose wear is counted together.

Accesses longer than the noise of the row are grouped by length: stalls of one cause are alike and
strays have any length. A group that recurs at a fixed distance is a kind of stall.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.measure.infer.periods import MIN_EVENTS, Period, find_period
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.samples.point import SamplePoint

SMALLEST_BYTES, LARGEST_BYTES = 512, 256 << 10
"""Smallest and largest region written, each twice the one before: published blocks have 4 KiB."""

ACCESS_BYTES = 64
EXPECTED_STALLS = 10
"""Stalls expected in each region: enough to show a period."""

MAX_WRITES = 2_000_000
"""Writes in one sample: half a second on published media."""

LEADS = (0.0, 0.23)
"""Writes before a run, in periods; the second is neither half nor a quarter of a period."""

PERIOD_TOLERANCE = 0.12
"""Relative deviation allowed between a region's period and a multiple of the first."""


def wear_granularity(
    probe: InferenceProbe, period_writes: int, length_ns: float
) -> tuple[int | None, str]:
    """Return the block whose writes are counted together, or why it is unknown."""
    region = SMALLEST_BYTES
    while region <= LARGEST_BYTES:
        if probe.seconds_left() <= 0:
            return None, "time ran out"
        ratios = [_period_ratio(probe, region, (period_writes, length_ns), lead) for lead in LEADS]
        if any(times is not None and abs(times - 2) <= 2 * PERIOD_TOLERANCE for times in ratios):
            return region // 2, ""
        if all(times is None for times in ratios):
            if region == SMALLEST_BYTES:
                return None, f"writes spread over {region} bytes are not stalled"
            # Half of this region stalled like one place, but this region spans several blocks.
            return region // 2, ""
        if not any(times is not None and abs(times - 1) <= PERIOD_TOLERANCE for times in ratios):
            return None, f"a region of {region} bytes stalls neither every period nor every second"
        region *= 2
    return None, f"writes to all of {LARGEST_BYTES >> 10} KiB are counted together, or more"


def _period_ratio(
    probe: InferenceProbe, region: int, stall: tuple[int, float], lead: float
) -> float | None:
    """Return the ratio of a region's period to that of one place; None: it has no period.

    Two blocks whose counts are half a period apart would together stall like one block. To prevent
    this, one of them first gets `lead` periods of writes.
    """
    period_writes, length_ns = stall
    if lead > 0:
        probe.sample(_overwrite(probe, SMALLEST_BYTES // 2, max(int(lead * period_writes), 1)))
    writes = min(2 * EXPECTED_STALLS * period_writes, MAX_WRITES)
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


LONG_WRITES = 4.0
"""Ratio to the usual time from which an access is a stall by its length alone, however many are."""

MAX_STALLED_SHARE = 0.1
"""Share of accesses that a stall may hit: more is the memory's normal time."""

MAX_LONG_SHARE = 0.45
"""The same of stalls beyond `LONG_WRITES`: the median is then still an access without a stall."""

NOISE_DEVIATIONS = 8.0
"""Robust standard deviations above the median from which an access may be a stall."""

MAX_LENGTH_RATIO = 1.4
"""Longest over shortest stall of one cause, as published."""

LENGTH_STEP = 1.18
"""Ratio of one tested length to the next: half of `MAX_LENGTH_RATIO`, so that no kind is split."""

MAX_EVENTS = 600
"""Events of one length that are tested: enough for any period, and quick."""

MAX_KINDS = 3
"""Kinds of stall kept: wear, refresh, and one of the host."""

MAX_COMMON_SHARE = 0.3
"""Share of common accesses above which two kinds are one."""


@dataclass(frozen=True)
class Stalls:
    """Stalled accesses of one kind: alike in length, and recurring."""

    indices: NDArray[np.intp]
    """Positions in the row of accesses."""
    lengths_ns: NDArray[np.float64]
    """Time beyond the usual access, ns."""
    by_writes: Period | None
    """Period in accesses; None: not fixed."""
    by_time: Period | None
    """Period in ns; None: not fixed."""

    @property
    def share(self) -> float:
        """Share of the stalls that keep to the better of both periods."""
        return max(period.share for period in (self.by_writes, self.by_time) if period is not None)


def find_kinds(each_ns: NDArray[np.float64], rest_ns: float) -> list[Stalls]:
    """Return every kind of stall that recurs among accesses in order, most regular first.

    `rest_ns` passes between two accesses.
    """
    usual = usual_ns(each_ns)
    lengths = each_ns - usual
    events = np.nonzero(lengths > beyond_noise(each_ns))[0]
    ends_ns = np.cumsum(each_ns + rest_ns)
    kinds: list[Stalls] = []
    if len(events) < MIN_EVENTS:
        return kinds
    low = float(lengths[events].min())
    previous = events[:0]
    while low <= lengths[events].max():
        alike = events[(lengths[events] >= low) & (lengths[events] < low * MAX_LENGTH_RATIO)]
        most = MAX_LONG_SHARE if low > LONG_WRITES * usual else MAX_STALLED_SHARE
        if MIN_EVENTS < len(alike) <= most * len(each_ns) and not np.array_equal(alike, previous):
            kind = _recurring(alike[:MAX_EVENTS], lengths, ends_ns)
            if kind is not None:
                kinds.append(kind)
        previous = alike
        low *= LENGTH_STEP
    return _distinct(kinds)


def usual_ns(each_ns: NDArray[np.float64]) -> float:
    """Return the usual time of an access, ns: the median of those that are not far longer."""
    return float(np.median(_quick(each_ns)))


def beyond_noise(each_ns: NDArray[np.float64]) -> float:
    """Return the time beyond the usual one, ns, that noise alone does not reach."""
    low, usual, high = np.percentile(_quick(each_ns), (16, 50, 84))
    return NOISE_DEVIATIONS * float(max(high - usual, usual - low))


def _quick(each_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    return each_ns[each_ns <= LONG_WRITES * np.median(each_ns)]


def recurring_at(each_ns: NDArray[np.float64], length_ns: float) -> Period | None:
    """Return the period, in accesses, of stalls about as long as `length_ns`."""
    lengths = each_ns - np.median(each_ns)
    alike = (lengths > length_ns / MAX_LENGTH_RATIO) & (lengths < length_ns * MAX_LENGTH_RATIO)
    return find_period(np.nonzero(alike)[0][:MAX_EVENTS].astype(float))


def _recurring(
    indices: NDArray[np.intp], lengths: NDArray[np.float64], ends_ns: NDArray[np.float64]
) -> Stalls | None:
    by_writes = find_period(indices.astype(float))
    by_time = find_period(ends_ns[indices])
    chosen = max(
        (period for period in (by_writes, by_time) if period is not None),
        key=lambda period: period.share,
        default=None,
    )
    if chosen is None:
        return None
    members = indices[chosen.members]
    return Stalls(members, lengths[members], by_writes, by_time)


def _distinct(kinds: list[Stalls]) -> list[Stalls]:
    """Drop kinds that share accesses with a more regular one."""
    kept: list[Stalls] = []
    for kind in sorted(kinds, key=lambda other: (other.share, len(other.indices)), reverse=True):
        common = [len(np.intersect1d(kind.indices, other.indices)) for other in kept]
        if all(shared <= MAX_COMMON_SHARE * len(kind.indices) for shared in common):
            kept.append(kind)
    return kept[:MAX_KINDS]
