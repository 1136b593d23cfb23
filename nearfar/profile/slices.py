"""Cuts a run into slices of time, each counted as a phase: see detected_phases.py."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from nearfar.base.threads import working_beside
from nearfar.program.control import Control

SLICE_PREFIX = "slice "
MAX_SLICES = 240
"""Largest number of slices: the table of phases holds 250."""
EXPECTED_SLICES = 80
"""Number of slices if tracing doubles the plain run's time, as is typical."""
SLICE_GROWTH = 1.02
"""Ratio of a slice's length to that of the one before: slices stay below 2 % of the time so far,
and 240 of them last 70 times as long as 80 of the first length."""
MIN_SLICE_S = 0.01
"""Shortest slice, s: the granularity of CPU time and of samples of live bytes."""


@contextlib.contextmanager
def slicing(control: Control, plain_wall_ns: float, *, wanted: bool) -> Iterator[None]:
    """Cut the run into slices until the block ends or the program marks a phase itself."""
    if not wanted:
        yield
        return
    every_s = max(MIN_SLICE_S, plain_wall_ns * 2 / 1e9 / EXPECTED_SLICES)
    with working_beside(lambda over: _slice(control, over, every_s)):
        yield


def _slice(control: Control, over: threading.Event, every_s: float) -> None:
    while control.page.target_pid == 0:
        if over.wait(0.001):
            return
    number = 0
    while number < MAX_SLICES:
        name = control.page.phases[control.current_phase()].name.decode(errors="replace")
        if name not in ("-", "") and not name.startswith(SLICE_PREFIX):
            return
        control.begin(f"{SLICE_PREFIX}{number}")
        number += 1
        if over.wait(every_s):
            return
        every_s *= SLICE_GROWTH
