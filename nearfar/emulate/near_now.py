"""Near memory's costs at this moment: its profile, scaled by the times of probes.

The profile was measured earlier, often under another load. The overlap of a batch of misses follows
from its time compared with the present time of such misses. If near memory is 20 % slower than its
profile, four chains look like three and would get the delays of three.
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
MAX_CHANGE = 0.25
"""Change from the profile above which a caveat is printed: profiles of one machine, measured
minutes apart, differ by less (up to 15 % on virtual machines)."""


@dataclass(frozen=True)
class NearNow:
    """Ratio of the times of plain probes to the times in the near memory's profile."""

    chains: Mapping[float, float]
    """Ratio by misses in flight; empty: not measured, and the profile is used as it is."""
    stream: float = 1.0

    def memory(self, near: MemoryCosts) -> MemoryCosts:
        """Return the present costs of near memory, for the page size of `near`."""
        if not self.chains:
            return near
        counts = np.log2(np.array(sorted(self.chains)))
        factors = np.array([self.chains[count] for count in sorted(self.chains)])
        # Between the probes' chain counts, interpolate like the curve: linear in both logarithms.
        ratios = np.exp2(np.interp(np.log2(near.chain_counts), counts, np.log2(factors)))
        costs = np.minimum.accumulate(near.chain_costs_ns * ratios)
        stream_ns = near.core_stream_ns * self.stream
        # All cores together have at least the bandwidth of one core. If the profile was measured
        # on a busy machine, the bandwidth time of a stream could exceed the stream's time.
        read_ns = (min(near.read_ns[0], float(costs[-1])), min(near.read_ns[1], stream_ns))
        return replace(
            near,
            latency_ns=near.latency_ns * float(ratios[0]),
            walk_ns=near.walk_ns * float(ratios[0]),
            chain_costs_ns=costs,
            unwalked_costs_ns=None
            if near.unwalked_costs_ns is None
            else np.minimum(near.unwalked_costs_ns * ratios, costs),
            waiting_ns=None,
            core_stream_ns=stream_ns,
            copied_ns=None if near.copied_ns is None else near.copied_ns * self.stream,
            copied_ends_ns=near.copied_ends_ns * self.stream,
            read_ns=read_ns,
        )

    def caveats(self) -> list[str]:
        """Return a caveat if near memory's times differ from its profile."""
        worst = max(self.chains.values(), key=lambda factor: abs(np.log(factor)), default=1.0)
        if abs(worst - 1.0) <= MAX_CHANGE:
            return []
        return [
            f"near memory takes {worst:.2f} times as long now as in its profile: the machine is "
            "busy, or the profile is old or of another machine; the emulation uses what was "
            "measured now"
        ]


UNKNOWN = NearNow({})


def near_now(near: MemoryCosts, runs: Sequence[Mapping[str, float]]) -> NearNow:
    """Return the ratios, from the ns per line of each probe in plain runs."""
    medians = {name: median(run[name] for run in runs) for name in (*CHAINS, STREAM)}
    return NearNow(
        {count: medians[name] / near.cost_ns(count) for name, count in CHAINS.items()},
        medians[STREAM] / near.core_stream_ns,
    )
