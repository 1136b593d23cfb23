"""What the numbers of a request may be: refused before anything runs."""

from __future__ import annotations

import math
import os

from nearfar.base.errors import CommandError

MOST_SEED = (1 << 64) - 1
"""The explorers' generator and the trace's header have 64 bits for it."""
_MOST_STATES = (1 << 63) - 1
_MOST_SECONDS = 30 * 86_400
_LEAST_TIMEOUT_S, _MOST_TIMEOUT_S = 0.001, 86_400
"""Explorers count in ms, and poll(2) takes at most 2**31 - 1 of them."""
_MOST_SCHEDULES = 10_000
"""Each is a run of the program."""
_WORKERS_A_PROCESSOR = 4
_WORKERS_ANYWHERE = 16
"""Checkers that wait leave processors free, so more workers than those can help; by four times as
many nothing is gained, and each costs an image and processes of its own."""


def most_workers() -> int:
    """Return how many explorers may share the states here."""
    return max(_WORKERS_ANYWHERE, _WORKERS_A_PROCESSOR * len(os.sched_getaffinity(0)))


def check_limits(
    *, seed: int, states: int, seconds: float, timeout_s: float, workers: int, schedules: int
) -> None:
    """Raise CommandError at the first number that is senseless, or more than can be held."""
    _within("--seed", seed, 0, MOST_SEED)
    _within("--states", states, 1, _MOST_STATES)
    if not (0 < seconds <= _MOST_SECONDS and math.isfinite(seconds)):
        raise CommandError(
            f"--seconds {seconds:g}: it must be more than 0, and {_MOST_SECONDS} (30 days) at most"
        )
    if not _LEAST_TIMEOUT_S <= timeout_s <= _MOST_TIMEOUT_S:
        raise CommandError(f"--timeout of {timeout_s:g} s: it must be from 1ms to 24h")
    _within("--schedules", schedules, 1, _MOST_SCHEDULES)
    _within("--workers", workers, 1, most_workers(), " on this machine")


def _within(option: str, number: int, least: int, most: int, where: str = "") -> None:
    if not least <= number <= most:
        raise CommandError(f"{option} {number}: it must be from {least} to {most}{where}")
