"""``--max_bandwidth``: the best of several injection rates, for five kinds of traffic."""

from __future__ import annotations

from typing import Any

from nearfar_like.mlc.modes.peak_injection_bandwidth import peaks
from nearfar_like.mlc.run import MlcRun

DELAYS = (0, 2, 8, 15, 50, 100)
"""Cycles, from MLC's table: beyond 100 the threads no longer fill a memory."""


def run(run: MlcRun) -> dict[str, Any]:
    """Measure with each delay and keep the best."""
    return peaks(run, "Measuring Maximum Memory Bandwidths for the system", DELAYS, 2)
