"""Whose writes are counted together: overwrite regions of growing size.

A region within one counted block stalls after as many writes as a single place; one of m blocks
after m times as many to each, because each block gets one write in m.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.measure.infer.stall_events import recurring_at
from nearfar.samples.point import SamplePoint

if TYPE_CHECKING:
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
