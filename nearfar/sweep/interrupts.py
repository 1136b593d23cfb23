"""Signals to a sweep: only the verb's own process may react, not its workers.

Ctrl-C in a terminal and the SIGTERM of a batch system go to the whole process group.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker
from typing import Any

from nearfar.base.terminate import ENDING


@contextlib.contextmanager
def signals_held_back(*, then: bool = True) -> Iterator[None]:
    """Hold back both signals in the block, also in processes started by threads started in it.

    `then` says whether to raise KeyboardInterrupt at the end if a signal came. Workers start with
    both signals blocked, since processes inherit the signal mask of the thread that starts them,
    and unblock them in `dask_setup`: a worker that is interrupted during its imports would print a
    traceback.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Only the main thread is interrupted by Ctrl-C.
        return
    # The first start of the resource tracker unblocks SIGINT in this thread: start it before.
    resource_tracker.ensure_running()
    seen: list[int] = []
    before = [signal.signal(ending, lambda number, _: seen.append(number)) for ending in ENDING]
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for ending, handler in zip(ENDING, before, strict=True):
            signal.signal(ending, handler)
    if seen and then:
        raise KeyboardInterrupt


def dask_setup(_: Any) -> None:
    """Let a worker survive both signals: its starter ends it. Dask calls this in new workers.

    A handler is used because the measured programs would inherit an ignored signal, but not a
    handler.
    """
    if threading.current_thread() is threading.main_thread():
        for ending in ENDING:
            signal.signal(ending, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
