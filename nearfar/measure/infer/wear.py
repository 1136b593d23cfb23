"""Whose writes are counted together: overwrite regions of growing size.

A region within one counted block stalls after as many writes as a single place; one of m blocks
after m times as many to each, because each block gets one write in m.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearfar.measure.infer.stall_events import find_stalls
from nearfar.measure.subject import Point

if TYPE_CHECKING:
    from nearfar.measure.infer.probe import Probe

SMALLEST_BYTES, LARGEST_BYTES = 512, 16 << 10
"""Around the block counted in the published media, 4 KiB; twice the one before each time."""

ACCESS_BYTES = 256
PERIODS = 10
"""Of each region's expected stalls: enough for a period to be seen."""

MOST_WRITES = 2_000_000
"""In one sample: half a second on the media known."""

NEAR = 0.12
"""A region's period counts as so many times the first if within so much of it."""


def wear_granularity(probe: Probe, period_writes: int) -> tuple[int | None, str]:
    """Return the block whose writes are counted together, or why it is not known."""
    region = SMALLEST_BYTES
    while region <= LARGEST_BYTES:
        if probe.seconds_left() <= 0:
            return None, "the time was up"
        writes = min(2 * PERIODS * period_writes, MOST_WRITES)
        sample = probe.sample(
            Point(
                "overwrite",
                "overwrite",
                probe.facts.page_sizes[0],
                region,
                access_bytes=ACCESS_BYTES,
                each=True,
                accesses=writes,
            )
        )
        if sample.each_ns is None:
            return None, "single writes are not timed"
        found = find_stalls(sample.each_ns.astype(float), 0.0)
        period = found.by_writes if found is not None else None
        if period is None:
            return _gone(region, writes, period_writes)
        times = period.value / period_writes
        if abs(times - 2) <= 2 * NEAR:
            return region // 2, ""
        if abs(times - 1) > NEAR:
            return None, f"a region of {region} bytes stalls every {times:.1f} periods"
        region *= 2
    return None, f"writes to all of {LARGEST_BYTES >> 10} KiB are counted together, or more"


def _gone(region: int, writes: int, period_writes: int) -> tuple[int | None, str]:
    expected = writes / period_writes
    if region == SMALLEST_BYTES or expected < PERIODS or not np.isfinite(expected):
        return None, f"writes spread over {region} bytes are not stalled"
    # Half of it was stalled as one place is: spread over more than one block, none is.
    return region // 2, ""
