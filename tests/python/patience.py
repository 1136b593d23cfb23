"""Deadlines that grow on slow or busy machines."""

from __future__ import annotations

import contextlib
import functools
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from types import FrameType

REFERENCE_JOB = "import numpy; sorted(numpy.random.default_rng(1).random(100_000).tolist())"
QUIET_REFERENCE_S = 0.3
"""Seconds of the reference job on two quiet cores of 2023: a process, libraries, a computation."""
MAX_FACTOR = 20.0
"""Beyond it the machine is not slow but stuck: a hung test must still end."""


def measure_factor() -> float:
    """Return the reference job's time relative to a quiet machine, from 1 to 20."""
    started = time.monotonic()
    limit_s = QUIET_REFERENCE_S * MAX_FACTOR
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-c", REFERENCE_JOB], check=False, timeout=limit_s)
    return min(max(1.0, (time.monotonic() - started) / QUIET_REFERENCE_S), MAX_FACTOR)


@functools.cache
def machine_factor() -> float:
    """Return the factor as it is at the first call of this process."""
    return measure_factor()


def patience(seconds: float) -> float:
    """Return the deadline for work that takes `seconds` on a quiet machine."""
    return seconds * machine_factor()


def remaining_s(
    seconds: float, elapsed_s: float, factor: Callable[[], float] = measure_factor
) -> float:
    """Return the time left for work that takes `seconds` on a quiet machine; <= 0: none.

    The reference job runs again, because other work may have started since the first time.
    """
    return seconds * max(machine_factor(), factor()) - elapsed_s


def extend_alarm(seconds: float, factor: Callable[[], float] = measure_factor) -> None:
    """Put off the alarm that is set `seconds` ahead by as much as the machine is then slower.

    The alarm's handler runs once that time is over, too.
    """
    started = time.monotonic()
    end = signal.getsignal(signal.SIGALRM)
    assert callable(end)

    def end_or_wait(number: int, frame: FrameType | None) -> None:
        left_s = remaining_s(seconds, time.monotonic() - started, factor)
        if left_s > 0:
            signal.setitimer(signal.ITIMER_REAL, left_s)
        else:
            end(number, frame)

    signal.signal(signal.SIGALRM, end_or_wait)
