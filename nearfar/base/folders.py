"""Folders of one run: in memory where possible, gone when it is over."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from nearfar.base.files import cannot_write


def memory_folder() -> str | None:
    """Return /dev/shm if it can be used: tables on a disk would be written back while counting."""
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() and os.access(shared, os.W_OK) else None


@contextlib.contextmanager
def temporary_folder(prefix: str, where: str | None) -> Iterator[Path]:
    """Yield a new folder in `where` (None: the system's own place); remove it and all in it.

    Raises NearfarError where none can be made.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=where))
    except OSError as error:
        raise cannot_write(Path(where or tempfile.gettempdir()), error) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
