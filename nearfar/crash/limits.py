"""Bounds of a request's numbers, checked before anything runs."""

from __future__ import annotations

import math
import os

from nearfar.base.errors import CommandError

MAX_SEED = (1 << 64) - 1
"""64 bits, as in the explorers' generator and the trace's header."""
_MAX_STATES = (1 << 63) - 1
_MAX_SECONDS = 30 * 86_400
_MIN_TIMEOUT_S, _MAX_TIMEOUT_S = 0.001, 86_400
"""Explorers count in ms, and poll(2) accepts at most 2**31 - 1 ms."""
_MAX_SCHEDULES = 10_000
"""Each schedule is a run of the program."""
_MAX_PREEMPTIONS = 64
_MAX_WORKERS_PER_CPU = 4
_MAX_WORKERS_ANYWHERE = 16
"""Checkers that wait leave CPUs free, so more workers than CPUs can help. More than four times as
many gain nothing, and each costs an image and its own processes."""


def max_workers() -> int:
    """Return the largest number of explorers on this machine."""
    return max(_MAX_WORKERS_ANYWHERE, _MAX_WORKERS_PER_CPU * len(os.sched_getaffinity(0)))


def check_limits(
    *,
    seed: int,
    states: int,
    seconds: float,
    timeout_s: float,
    workers: int,
    schedules: int,
    preemptions: int,
) -> None:
    """Raise CommandError for the first number out of bounds."""
    _within("--seed", seed, 0, MAX_SEED)
    _within("--states", states, 1, _MAX_STATES)
    if not (0 < seconds <= _MAX_SECONDS and math.isfinite(seconds)):
        raise CommandError(
            f"--seconds {seconds:g}: it must be more than 0, and {_MAX_SECONDS} (30 days) at most"
        )
    if not _MIN_TIMEOUT_S <= timeout_s <= _MAX_TIMEOUT_S:
        raise CommandError(f"--timeout of {timeout_s:g} s: it must be from 1ms to 24h")
    _within("--schedules", schedules, 1, _MAX_SCHEDULES)
    _within("--preemptions", preemptions, 0, _MAX_PREEMPTIONS)
    _within("--workers", workers, 1, max_workers(), " on this machine")


def _within(option: str, number: int, low: int, high: int, where: str = "") -> None:
    if not low <= number <= high:
        raise CommandError(f"{option} {number}: it must be from {low} to {high}{where}")
