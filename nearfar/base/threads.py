"""Threads that work while a block runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def working_beside(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run `work` in a thread during the block; `work` must return soon after its event is set."""
    ended = threading.Event()
    thread = threading.Thread(target=work, args=(ended,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
