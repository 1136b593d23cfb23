"""Tests that set up swap run one at a time: the kernel spreads pages over all swap of one rank."""

from __future__ import annotations

import contextlib
import fcntl
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearfar.base.errors import NearfarError
from nearfar.memories.paged import set_up
from nearfar.memories.paged.group import find_group_parent
from nearfar.memories.spec import parse_spec


@contextlib.contextmanager
def swap_alone() -> Iterator[None]:
    """Wait until no other test of this machine changes its swap."""
    with (Path(tempfile.gettempdir()) / "nearfar-tests-of-swap.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _why_not() -> str:
    try:
        find_group_parent()
    except NearfarError as error:
        return str(error)
    return set_up.missing(parse_spec("zram", paged=True))


permitted = pytest.mark.skipif(bool(_why_not()), reason=_why_not() or "possible")
