"""Lock this machine for any number of computed points, or for one that measures.

There are two locked files. A measurement holds both; a computation shares the second, and passes
the first, the gate, on the way. So a measurement waits for running points, and no new one starts
meanwhile. The kernel frees the locks of a process that is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError

FOLDERS = (Path("/run/lock"), Path("/tmp"))
"""The same for all users of a machine; /run/lock of the file system hierarchy is not everywhere."""

GATE, USE = "nearfar-machine-gate", "nearfar-machine-use"


@contextlib.contextmanager
def sharing_machine() -> Iterator[None]:
    """Share the machine with other computed points."""
    with _open(GATE) as gate, _open(USE) as use:
        fcntl.flock(gate, fcntl.LOCK_SH)
        fcntl.flock(use, fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield


@contextlib.contextmanager
def machine_alone() -> Iterator[None]:
    """Reserve the machine: no other point of any sweep runs on it meanwhile."""
    with _open(GATE) as gate, _open(USE) as use:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(use, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _open(name: str) -> Iterator[int]:
    error: OSError | None = None
    for folder in FOLDERS:
        path = folder / name
        for flags in (os.O_RDONLY, os.O_RDONLY | os.O_CREAT):
            # In a sticky folder the kernel refuses O_CREAT on another user's file.
            try:
                file = os.open(path, flags | os.O_CLOEXEC, 0o644)
            except OSError as refused:
                error = refused
                continue
            try:
                yield file
            finally:
                os.close(file)
            return
    raise NearfarError(
        f"cannot lock the machine for measuring: {error}; make {FOLDERS[-1]} writable",
        ExitCode.MACHINE_LACKS,
    )
