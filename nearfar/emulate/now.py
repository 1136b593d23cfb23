"""Near memory as it is now: its profile's curve, moved to what the probes take at this moment.

A profile was measured some time ago, often while less or more went on. What a batch of misses takes
now tells how they overlap only beside what such misses take now: with near memory 20 % slower than
its profile, four chains look like three, and their delays would be those of three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from nearfar.predict.memory import MemoryCosts

CHAINS = {"chase": 1.0, "chains-4": 4.0, "chains-16": 16.0}
"""Misses in flight of the probes that wait for them."""
STREAM = "stream"
FAR_OFF = 0.25
"""Profiles of one machine, taken minutes apart, differ by less (virtual ones by up to 15 %)."""


@dataclass(frozen=True)
class Now:
    """What probes take now over what the profile says; near memory's, plain."""

    at: Mapping[float, float]
    """By misses in flight; empty: nothing is known, and the profile is taken as it is."""
    stream: float = 1.0

    def memory(self, near: MemoryCosts) -> MemoryCosts:
        """Return near memory as it is now, in whatever pages its figures are for."""
        if not self.at:
            return near
        counts = np.log2(np.array(sorted(self.at)))
        factors = np.array([self.at[count] for count in sorted(self.at)])
        # Between the probes' chains as the curve itself: straight over the logarithm of both.
        moved = np.exp2(np.interp(np.log2(near.chain_counts), counts, np.log2(factors)))
        costs = np.minimum.accumulate(near.chain_costs_ns * moved)
        stream_ns = near.core_stream_ns * self.stream
        # All cores together draw no less than one does now: a profile of a busy moment would have a
        # stream's bandwidth take longer than the stream.
        read_ns = (min(near.read_ns[0], float(costs[-1])), min(near.read_ns[1], stream_ns))
        return replace(
            near,
            latency_ns=near.latency_ns * float(moved[0]),
            walk_ns=near.walk_ns * float(moved[0]),
            chain_costs_ns=costs,
            unwalked_costs_ns=None
            if near.unwalked_costs_ns is None
            else np.minimum(near.unwalked_costs_ns * moved, costs),
            waiting_ns=None,
            core_stream_ns=stream_ns,
            copied_ns=None if near.copied_ns is None else near.copied_ns * self.stream,
            copied_ends_ns=near.copied_ends_ns * self.stream,
            read_ns=read_ns,
        )

    def caveats(self) -> list[str]:
        """Say where the profile is another machine's, or this one was busy."""
        worst = max(self.at.values(), key=lambda factor: abs(np.log(factor)), default=1.0)
        if abs(worst - 1.0) <= FAR_OFF:
            return []
        return [
            f"near memory takes {worst:.2f} times as long now as its profile says: the machine is "
            "busy, or the profile is old or of another; the emulation goes by what is now"
        ]


UNKNOWN = Now({})


def now(near: MemoryCosts, runs: Sequence[Mapping[str, float]]) -> Now:
    """Return how near memory is, by ns per line of each probe in plain runs of it."""
    middle = {name: median(run[name] for run in runs) for name in (*CHAINS, STREAM)}
    return Now(
        {count: middle[name] / near.cost_ns(count) for name, count in CHAINS.items()},
        middle[STREAM] / near.core_stream_ns,
    )
