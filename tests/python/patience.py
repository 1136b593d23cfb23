"""Deadlines that grow on slow or busy machines."""

from __future__ import annotations

import functools
import subprocess
import sys
import time

REFERENCE_JOB = "import numpy; sorted(numpy.random.default_rng(1).random(100_000).tolist())"
QUIET_REFERENCE_S = 0.3
"""Seconds of the reference job on two quiet cores of 2023: a process, libraries, a computation."""
MAX_FACTOR = 20.0
"""Beyond it the machine is not slow but stuck: a hung test must still end."""


@functools.cache
def machine_factor() -> float:
    """Return the reference job's time relative to a quiet machine, from 1 to 20."""
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", REFERENCE_JOB], check=True)
    return min(max(1.0, (time.monotonic() - started) / QUIET_REFERENCE_S), MAX_FACTOR)


def patience(seconds: float) -> float:
    """Return the deadline for work that takes `seconds` on a quiet machine."""
    return seconds * machine_factor()
