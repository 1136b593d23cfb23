"""Stalls that recur by time, and what they do to a mean latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nearfar.base.units import format_ns
from nearfar.documents.device import StallFigure

NOTABLE_SHARE = 0.1
"""Share of the time that a stall takes from which latencies are said to include it: the refresh of
DDR4 and DDR5 takes 5 to 8 % (350 ns of 7.8 us, 295 ns of 3.9 us), and nobody counts it."""


def stall_share(stall: StallFigure) -> float:
    """Return the share of time that a stall by time takes, 0 to 1; 0 for one by writes."""
    return stall.length_ns / stall.period_ns if stall.period_ns else 0.0


def is_notable(stall: StallFigure) -> bool:
    """Return whether a stall takes so much of the time that latencies are said to include it."""
    return stall_share(stall) >= NOTABLE_SHARE


def stalled_latency(
    stalls: Sequence[StallFigure], latency_ns_by_region: Mapping[int, float]
) -> list[str]:
    """Return a warning for each stall that an idle latency notably includes, one sentence each.

    `latency_ns_by_region`: mean latency of dependent reads, by bytes; the largest region counts.
    """
    warnings = []
    for stall in stalls:
        if not is_notable(stall):
            continue
        text = (
            f"a stall of {format_ns(stall.length_ns)} every {format_ns(stall.period_ns or 0.0)} "
            f"takes {stall_share(stall):.0%} of the time, and latencies include the wait for it"
        )
        if latency_ns_by_region:
            latency_ns = latency_ns_by_region[max(latency_ns_by_region)]
            text += f": the idle read latency of {latency_ns:.0f} ns"
            low, high = without_stalls(latency_ns, stall)
            text += f" is {low:.0f} to {high:.0f} ns without it, if it delays reads as writes"
        warnings.append(text)
    return warnings


def without_stalls(latency_ns: float, stall: StallFigure) -> tuple[float, float]:
    """Return the range, ns, of a mean latency of dependent reads without a stall by time.

    The read during which a stall begins still ends, so up to one read a period overlaps it. Both
    intervals of the stall widen the range.
    """
    assert stall.period_ns is not None
    least = (stall.length_low_ns or stall.length_ns) / (stall.high or stall.period_ns)
    most = (stall.length_high_ns or stall.length_ns) / (stall.low or stall.period_ns)
    overlap = min(latency_ns / stall.period_ns, 1.0)
    high = min(latency_ns * (1 - least) / max(1 - overlap, 1e-9), latency_ns)
    return latency_ns * max(1 - most, 0.0), high
