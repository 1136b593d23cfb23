"""Stalled accesses in a long row of timed accesses, and the block whose wear is counted together.

Accesses longer than the noise of the row are grouped by length: stalls of one cause are alike and
strays have any length. A group that recurs at a fixed distance is a kind of stall, and other rows
may contain it too.
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

MAX_UNSEEN_NS = 120.0
"""Most ns between two writes that neither their times nor the rest include: timer and loop."""

MIN_WAIT_SHARE = 0.7
"""Share of the shortest possible wait from which waits count, for errors of their times."""

MAX_WAIT_RATIO, MAX_WAIT_SHARE = 1.5, 1.2
"""Ratios to a kind's longest wait, and to its longest possible one, up to which waits count."""

MIN_USUAL_SHARE = 0.1
"""Share of a row's writes that must not be stalled for them to give its usual time."""

MAX_SPREAD = 0.1
"""Largest relative deviation of single usual writes: beyond it, it is not that of a stall too."""


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


@dataclass(frozen=True)
class WriteRow:
    """A row of writes to one place, with a rest between each two."""

    times_ns: NDArray[np.float64]
    rest_ns: float


@dataclass(frozen=True)
class RowWaits:
    """Writes of a row that may be stalls of one kind; times in ns."""

    indices: NDArray[np.intp]
    waits_ns: NDArray[np.float64]
    usual_ns: float
    spread: float
    """Relative deviation of a single usual write."""
    range_ns: tuple[float, float]
    """Shortest and longest wait that counts."""


def waits_of(row: WriteRow, kind: Stalls, plain_usual_ns: float) -> RowWaits:
    """Return the writes that waited about as long as a kind's, or shorter by a write and a rest.

    `plain_usual_ns` is the usual time where all writes of this row are stalled.
    """
    quick = row.times_ns[row.times_ns <= LONG_WRITES * plain_usual_ns]
    usual, noise, spread = plain_usual_ns, 0.0, 0.0
    if len(quick) > MIN_USUAL_SHARE * len(row.times_ns):
        low, usual, high = (float(value) for value in np.percentile(quick, (16, 50, 84)))
        noise = beyond_noise(quick)
        spread = min((high - low) / 2 / max(usual, np.finfo(float).tiny), MAX_SPREAD)
    shortest, longest = float(np.min(kind.lengths_ns)), float(np.max(kind.lengths_ns))
    least = max(noise, MIN_WAIT_SHARE * (shortest - usual - row.rest_ns))
    possible = shortest + plain_usual_ns + MAX_UNSEEN_NS
    most = max(MAX_WAIT_RATIO * longest, MAX_WAIT_SHARE * possible, least)
    waits = row.times_ns - usual
    indices = np.nonzero((waits > least) & (waits <= most))[0]
    return RowWaits(indices, waits[indices], usual, spread, (least, most))


def find_kinds(each_ns: NDArray[np.float64], rest_ns: float) -> list[Stalls]:
    """Return every kind of stall that recurs among accesses in order, most regular first.

    `rest_ns` passes between two accesses.
    """
    if not is_usable(each_ns):
        return []
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
        # Writes that wait for one kind of stall begin up to a write later than it.
        high = max(low * MAX_LENGTH_RATIO, low + usual)
        alike = events[(lengths[events] >= low) & (lengths[events] < high)]
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


def is_usable(each_ns: NDArray[np.floating]) -> bool:
    """Return whether these ns are times of enough accesses to contain stalls."""
    return len(each_ns) >= MIN_EVENTS and bool(np.isfinite(each_ns).all() and each_ns.min() >= 0)


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
