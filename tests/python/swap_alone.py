"""Tests that set up swap run one at a time: the kernel spreads pages over all swap of one rank."""

from __future__ import annotations

import contextlib
import fcntl
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def swap_alone() -> Iterator[None]:
    """Wait until no other test of this machine changes its swap."""
    with (Path(tempfile.gettempdir()) / "nearfar-tests-of-swap.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
