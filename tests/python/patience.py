"""Deadlines that grow where the machine is slow or busy."""

from __future__ import annotations

import functools
import subprocess
import sys
import time

REFERENCE_JOB = "import numpy; sorted(numpy.random.default_rng(1).random(100_000).tolist())"
QUIET_REFERENCE_S = 0.3
"""Seconds of the reference job on two quiet cores of 2023: a process, libraries, a computation."""
MAX_FACTOR = 20.0
"""Beyond it the machine is not slow but stuck: a hung test must still end while somebody waits."""


@functools.cache
def machine_factor() -> float:
    """Return how many times as long as on a quiet machine the reference job takes; 1 to 20."""
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", REFERENCE_JOB], check=True)
    return min(max(1.0, (time.monotonic() - started) / QUIET_REFERENCE_S), MAX_FACTOR)


def patience(seconds: float) -> float:
    """Return the deadline of what may take `seconds` on a quiet machine."""
    return seconds * machine_factor()
