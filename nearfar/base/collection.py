"""Python's search for unreachable cycles of objects, paused while many objects are made."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collection_paused() -> Iterator[None]:
    """Search for no cycles until the block, or the function that this decorates, ends.

    Each search visits all objects that live. While a document of many rows is made, searches take
    a tenth of the time and find nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
