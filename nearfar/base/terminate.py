"""SIGTERM ends a run as Ctrl-C does; if a run is killed, the programs it started end too."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM)
"""Signals that ask a program to end, of Ctrl-C and of batch systems."""

_PDEATHSIG = 1
"""PR_SET_PDEATHSIG of linux/prctl.h."""
_LIBC = ctypes.CDLL(None)


def end_with_parent(parent: int, at_end: signal.Signals = signal.SIGKILL) -> None:
    """Send `at_end` to this process when `parent` ends, even if `parent` is killed.

    A child may call this between fork and exec, because prctl takes no lock. The kernel sends the
    signal when the parent's thread that started the child ends.
    """
    _LIBC.prctl(_PDEATHSIG, at_end, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the call
        os.kill(os.getpid(), at_end)


def kill_group(group: int) -> None:
    """Kill all processes of a group; nothing happens if they have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


@contextlib.contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Raise KeyboardInterrupt at the first SIGTERM; later signals do not disturb the cleanup."""
    before = signal.signal(signal.SIGTERM, _interrupt_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def interrupts_held_back() -> Iterator[Callable[[], contextlib.AbstractContextManager[None]]]:
    """Hold back SIGINT and SIGTERM, except in blocks that the yielded function makes.

    In such a block, SIGINT and the first SIGTERM raise KeyboardInterrupt. A signal that came
    earlier raises it at the block's beginning, one that came later at the end of this context.
    Ignored signals stay ignored. Outside the main thread nothing is held back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield contextlib.nullcontext
        return
    waiting = inside = terminated = False

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal waiting, terminated
        if not inside:
            waiting = True
        elif number == signal.SIGINT or not terminated:
            terminated = terminated or number == signal.SIGTERM
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def block() -> Iterator[None]:
        nonlocal waiting, inside
        try:
            inside = True
            if waiting:
                waiting = False
                raise KeyboardInterrupt
            yield
        finally:
            inside = False

    ending = [each for each in ENDING if signal.getsignal(each) is not signal.SIG_IGN]
    before = [(each, signal.signal(each, handle)) for each in ending]
    try:
        yield block
    finally:
        for each, handler in reversed(before):  # SIGINT, which may raise from then on, is the last
            signal.signal(each, handler)
    if waiting:
        raise KeyboardInterrupt


def exit_when_terminated() -> None:
    """Raise SystemExit (143) at each SIGTERM from now on, so that ``finally`` blocks run."""
    signal.signal(signal.SIGTERM, _exit)


def _exit(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _interrupt_once(_number: int, _frame: FrameType | None) -> None:
    # A handler is used, not SIG_IGN, which started programs would inherit.
    signal.signal(signal.SIGTERM, _ignore_signal)
    raise KeyboardInterrupt


def _ignore_signal(_number: int, _frame: FrameType | None) -> None:
    """Ignore a further SIGTERM."""
