"""Deadlines that grow where the machine is slow or busy."""

from __future__ import annotations

import functools
import subprocess
import sys
import time

REFERENCE_JOB = "import numpy; sorted(numpy.random.default_rng(1).random(100_000).tolist())"
QUIET_REFERENCE_S = 0.3
"""Seconds of the reference job on two quiet cores of 2023: a process, libraries, a computation."""


@functools.cache
def machine_factor() -> float:
    """Return how many times as long as on a quiet machine the reference job takes; at least 1."""
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", REFERENCE_JOB], check=True)
    return max(1.0, (time.monotonic() - started) / QUIET_REFERENCE_S)


def patience(seconds: float) -> float:
    """Return the deadline of what may take `seconds` on a quiet machine."""
    return seconds * machine_factor()
