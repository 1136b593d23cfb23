"""A phase of which only totals are known, for tests of models that read counters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES
from nearfar.predict.traffic import (
    COLUMNS,
    INDEPENDENT,
    WRITE_BACK,
    CountedIntervals,
    PhaseTraffic,
)


def counted_phase(
    near_time_ns: float, llc_misses: float, written_bytes: float = 0.0, concurrency: float = 1.0
) -> PhaseTraffic:
    """Return the phase; `near_time_ns` is CPU time of all threads, `llc_misses` lines read."""
    lines = np.zeros((1, COLUMNS))
    lines[0, INDEPENDENT], lines[0, WRITE_BACK] = llc_misses, written_bytes / LINE_BYTES
    time = Estimate(near_time_ns, near_time_ns, near_time_ns)
    phase = PhaseTraffic("p", time, concurrency, None, lines, 0.0)
    counted = CountedIntervals(
        near_ns=np.array([near_time_ns]),
        concurrency=np.array([concurrency]),
        waiting=np.array([llc_misses]),
        lines=np.array([llc_misses]),
        written=lines[:, WRITE_BACK],
    )
    return replace(phase, intervals=counted)
