"""Temporary folders of one run, in memory if possible, removed at the end of the run.

If a run was killed, the next run removes its folders, since files in /dev/shm occupy memory. The
next run also kills programs that the killed run left: they have the folder's path in their
environment. Each folder has a file that its process keeps locked (flock). The kernel releases the
lock when the process ends, even if it is killed. Unlike process numbers, the lock is valid in all
containers that share the folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

from nearfar.base.files import cannot_write

MEMORY = Path("/dev/shm")
"""A file system in memory, where there is one."""


def memory_folder(least_bytes: int = 0) -> str | None:
    """Return `MEMORY` if it can be used, else None.

    Tables in a folder on a disk would be written back while accesses are counted. `least_bytes`
    must be free: containers give `MEMORY` 64 MiB by default.
    """
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK)):
        return None
    return str(MEMORY) if shutil.disk_usage(MEMORY).free >= least_bytes else None


def cache_folder(name: str) -> Path:
    """Return $XDG_CACHE_HOME/nearfar/`name`, by default in ~/.cache."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "nearfar" / name


OWNER = "owner"


@contextlib.contextmanager
def owned_folder(prefix: str, where: str | None) -> Iterator[Path]:
    """Yield a new folder in `where` (None: the system's temporary folder); remove it at the end.

    Folders of dead runs are removed first, if their names begin with the part of `prefix` before
    its first "-". Raises NearfarError if no folder can be made.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{prefix}", dir=where))
    except OSError as error:
        raise cannot_write(Path(where or tempfile.gettempdir()), error) from error
    try:
        clear_dead(prefix.partition("-")[0], folder.parent)
        with (folder / OWNER).open("wb") as owner:
            # On a file system without locks, no run can lock a file, so none removes this folder.
            with contextlib.suppress(OSError):
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Other runs remove only folders without the leading dot, so rename it when locked.
            folder = folder.rename(folder.with_name(folder.name[1:]))
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def clear_dead(start: str, where: Path) -> None:
    """Remove this user's folders START-* in `where` whose owner ended without removing them."""
    with contextlib.suppress(OSError):
        for folder in where.glob(f"{start}-*"):
            if _is_dead(folder):
                _kill_users(folder)
                shutil.rmtree(folder, ignore_errors=True)


def _kill_users(folder: Path) -> None:
    """Kill this user's processes whose environment has `folder`, except this one and its parent."""
    spared = {os.getpid(), os.getppid()}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(entry.name) in spared or entry.stat().st_uid != os.geteuid():
                continue
            if os.fsencode(folder) in (entry / "environ").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)


def _is_dead(folder: Path) -> bool:
    try:
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            return False
        file = os.open(folder / OWNER, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False  # removed meanwhile, or not a folder of nearfar
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False  # its owner is alive
    finally:
        os.close(file)
    return True
