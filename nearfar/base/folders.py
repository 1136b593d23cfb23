"""Folders of one run: in memory where possible, gone when it is over.

Owned folders are cleared by the next run if their own was killed: pools in memory are memory. Each
holds a file that its process has locked (flock). The kernel takes the lock from the dead, also
from those killed, and knows it in all containers that share the folder, as process numbers are not.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from nearfar.base.files import cannot_write


def memory_folder() -> str | None:
    """Return /dev/shm if it can be used: tables on a disk would be written back while counting."""
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() and os.access(shared, os.W_OK) else None


def cache_folder(name: str) -> Path:
    """Return $XDG_CACHE_HOME/nearfar/`name`, by default in ~/.cache."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "nearfar" / name


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


OWNER = "owner"
_YOUNG_S = 60.0
"""Younger ones may have been made and not yet locked: that takes microseconds."""


@contextlib.contextmanager
def owned_folder(prefix: str, where: str | None) -> Iterator[Path]:
    """Yield a new folder as `temporary_folder` does; those of its name whose runs died go first."""
    with temporary_folder(prefix, where) as folder:
        clear_dead(prefix, folder.parent)
        with (folder / OWNER).open("wb") as owner:
            # Where a file system has no locks, nobody can take one either: nothing is cleared.
            with contextlib.suppress(OSError):
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield folder


def clear_dead(prefix: str, where: Path, *, now_s: float | None = None) -> None:
    """Remove this user's folders PREFIX* in `where` whose owner ended without removing them."""
    now_s = time.time() if now_s is None else now_s
    with contextlib.suppress(OSError):
        for folder in where.glob(f"{prefix}*"):
            if _is_dead(folder, now_s):
                shutil.rmtree(folder, ignore_errors=True)


def _is_dead(folder: Path, now_s: float) -> bool:
    try:
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            return False
        file = os.open(folder / OWNER, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False  # gone meanwhile, or nothing of ours
    try:
        if now_s - os.fstat(file).st_mtime < _YOUNG_S:
            return False
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False  # its owner lives
    finally:
        os.close(file)
    return True
