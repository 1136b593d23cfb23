"""What a core takes for a phase's instructions alone, with every line at hand: from its bursts."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from nearfar.predict.core_window import SECOND_LEVEL_CYCLES, core, cycle_ns
from nearfar.predict.memory import Memory
from nearfar.predict.recorded import FEWEST_MISSES
from nearfar.predict.traffic import PhaseTraffic, misses


@lru_cache(maxsize=512)
def computing_ns(phase: PhaseTraffic, near: Memory) -> float | None:
    """Return the CPU time of the phase were all its data in the core's own caches, ns; None where
    no bursts say.

    A window of instructions goes over the bursts, see `models.window`. What it does not know of
    (ports, decoding, more mispredicted branches than it takes for such) makes it too short.
    """
    if phase.bursts is None:
        return None
    trace = phase.bursts.trace
    missing = int(trace.missing.sum())
    if missing < FEWEST_MISSES:
        return None
    from nearfar._window import MOST_IN_FLIGHT, Medium, run
    from nearfar.profile.burst_trace import PRIVATE

    at_hand = Medium(
        latency=[SECOND_LEVEL_CYCLES] * MOST_IN_FLIGHT, buffer=0.0, line=0.0, write_back=0.0,
        stream=0.0,
    )  # fmt: skip
    served = np.full(len(trace.missing), PRIVATE, dtype=np.uint8)
    found = run(trace.native, served, core(), at_hand, at_hand)
    if found.instructions == 0:
        return None
    each_ns = found.cycles / found.instructions * cycle_ns(near)
    return float(misses(phase.total)) * trace.instructions / missing * each_ns
