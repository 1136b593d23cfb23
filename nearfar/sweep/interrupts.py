"""Ctrl-C of a terminal goes to a whole group of processes: only the verb itself must react.

So does the SIGTERM of a batch system that ends a job.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def held_back(*, then: bool = True) -> Iterator[None]:
    """Hold both back while this lasts, here and in every process that threads begun here start.

    `then` says whether to raise KeyboardInterrupt at the end, if there was one. Workers begin with
    both blocked, since a thread gives its mask to what it starts, until `dask_setup` below: one
    that is interrupted while it imports would print a traceback.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Only the main thread is interrupted by Ctrl-C.
        return
    # It unblocks SIGINT in the thread that starts it first, so let it be started by now.
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
    """Let a worker outlive both: who started it ends it. Dask calls this where a worker starts.

    By a handler, which programs that it measures do not inherit: to ignore it they would.
    """
    if threading.current_thread() is threading.main_thread():
        for ending in ENDING:
            signal.signal(ending, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
