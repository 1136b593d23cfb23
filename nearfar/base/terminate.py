"""SIGTERM ends a run as Ctrl-C does: what it leaves on the machine is removed before."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Raise KeyboardInterrupt at the first SIGTERM; later ones do not disturb the clearing up."""
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def exit_when_terminated() -> None:
    """Raise SystemExit (143) at each SIGTERM from now on, so that blocks that are left clear up."""
    signal.signal(signal.SIGTERM, _exit)


def _exit(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _end(_number: int, _frame: FrameType | None) -> None:
    # Not SIG_IGN, which programs that are started would inherit.
    signal.signal(signal.SIGTERM, _already)
    raise KeyboardInterrupt


def _already(_number: int, _frame: FrameType | None) -> None:
    """Being ended."""
