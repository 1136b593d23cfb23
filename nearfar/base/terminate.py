"""SIGTERM as Ctrl-C: what a run leaves on the machine is removed before it ends."""

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


def _end(_number: int, _frame: FrameType | None) -> None:
    # Not SIG_IGN, which programs that are started would inherit.
    signal.signal(signal.SIGTERM, _already)
    raise KeyboardInterrupt


def _already(_number: int, _frame: FrameType | None) -> None:
    """Being ended."""
