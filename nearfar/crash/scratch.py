"""A folder in memory for pool, trace and images."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.base.folders import owned_folder
from nearfar.base.terminate import terminated_as_interrupted
from nearfar.crash.record import MAX_POOL_BYTES

_MIN_FREE_BYTES = 256 << 20
"""Free space in /dev/shm below which another folder is used: containers often have 64 MiB."""


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Make a folder in memory for pool and images, and remove it at the end and on SIGTERM."""
    memory = Path("/dev/shm")
    fits = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= _MIN_FREE_BYTES
    parent = str(memory) if fits else None
    with terminated_as_interrupted(), owned_folder("nearfar-crash-", parent) as folder:
        yield folder


def check_free_space(folder: Path, required_bytes: int) -> None:
    """Refuse an image that does not fit: a store to a full file in memory ends the process."""
    free = shutil.disk_usage(folder).free
    if free < required_bytes:
        raise NearfarError(
            f"an image of the pool needs {required_bytes >> 20} MiB, and {folder.parent} has "
            f"{free >> 20} MiB free: free some, or explore a smaller pool",
            ExitCode.MACHINE_LACKS,
        )


def copy_sparse(source: Path, target: Path) -> None:
    """Copy a file and its holes."""
    with source.open("rb") as old, target.open("wb") as new:
        size = os.fstat(old.fileno()).st_size
        at = 0
        while at < size:
            try:
                begin = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError:  # only a hole up to the end
                break
            at = os.lseek(old.fileno(), begin, os.SEEK_HOLE)
            new.seek(begin)
            while begin < at:
                begin += os.sendfile(new.fileno(), old.fileno(), begin, at - begin)
        new.truncate(size)


def copy_pool(source: Path, pool: Path) -> None:
    """Copy a pool of the user, or say why it cannot be explored."""
    try:
        if source.stat().st_size > MAX_POOL_BYTES:
            raise CommandError(
                f"{source} is larger than the limit of {MAX_POOL_BYTES >> 20} MiB: give the "
                "program a smaller pool"
            )
        copy_sparse(source, pool)
    except OSError as error:
        raise CommandError(f"cannot read the pool {source}: {error.strerror}") from error
