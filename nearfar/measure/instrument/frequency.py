"""Frequency drift: a fixed piece of arithmetic, timed again and again between rounds.

It touches no memory beyond a few lines of the first-level cache, so what changes is the clock (or
what else runs on the core). SHA-256 rounds of the standard library: the same instructions every
time, in C.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from statistics import median

from nearfar.measure.instrument.verdict import InstrumentVerdict

ITERATIONS = 3000
"""About 1 ms: a thousand times the clock's cost, a hundredth of a round."""

TRIES = 3
"""The shortest of so many counts: what interrupts only ever adds."""

DRIFT = 0.03
"""Relative spread of the loop's time beyond which figures taken at different times differ by the
clock alone: three times the interval that ends a measurement (`rounds.NARROW`)."""

TAIL = 0.1
"""Share of rounds at either end of the spread that do not count: single ones are interruptions."""


def loop_ns(cpu: int) -> float:
    """Return the CPU time of the fixed loop on `cpu`, ns; the calling thread comes back after."""
    with _pinned(cpu):
        best = float("inf")
        for _ in range(TRIES):
            start = time.thread_time_ns()
            hashlib.pbkdf2_hmac("sha256", b"nearfar", b"fixed work", ITERATIONS)
            best = min(best, time.thread_time_ns() - start)
    return best


def judge(times_ns: Sequence[float]) -> InstrumentVerdict:
    """Say how much the fixed loop's time moved over the rounds, and which way."""
    if len(times_ns) < 4:
        text = f"frequency drift is not known: {len(times_ns)} rounds are too few to see it"
        return InstrumentVerdict("frequency", "unknown", text, facts={"frequency_drift": "unknown"})
    ordered = sorted(times_ns)
    cut = int(TAIL * len(ordered))
    low, high = ordered[cut], ordered[len(ordered) - 1 - cut]
    spread = high / low - 1
    half = len(times_ns) // 2
    trend = median(times_ns[half:]) / median(times_ns[:half]) - 1
    kept = {"frequency_drift": f"{spread:.3f}", "frequency_trend": f"{trend:+.3f}"}
    text = (
        f"a fixed piece of arithmetic took {spread:.1%} longer at the slow end of "
        f"{len(times_ns)} rounds than at the fast end, and {abs(trend):.1%} "
        f"{'longer' if trend > 0 else 'less'} in their second half"
    )
    if spread <= DRIFT:
        return InstrumentVerdict("frequency", "good", text, facts=kept)
    return InstrumentVerdict(
        "frequency",
        "doubtful",
        f"the clock drifted: {text}",
        "fix it (cpupower frequency-set -g performance), let the machine warm up first, or, on a "
        "shared machine, measure at a quieter time",
        kept,
    )


@contextlib.contextmanager
def _pinned(cpu: int) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError:
        yield  # the CPU went offline or was taken away: the loop runs wherever it may
        return
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
