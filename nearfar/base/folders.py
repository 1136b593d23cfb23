"""Folders of one run: in memory where possible, gone when it is over.

They are cleared by the next run if their own was killed, because tables and pools in memory are
memory; programs that the killed run left, which have the folder's path in their environment, are
killed too. Each folder holds a file that its process has locked (flock). The kernel takes the lock
from the dead, also from those killed, and knows it in all containers that share the folder, as
process numbers are not.
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
    """Return `MEMORY` if it can be used: tables on a disk would be written back while counting.

    `least_bytes`: what must be free there; containers give it 64 MiB by default.
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
    """Yield a new folder in `where` (None: the system's own place); remove it and all in it.

    Folders whose runs died go first: those whose names begin as `prefix` does up to its first "-".
    Raise NearfarError where no folder can be made.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{prefix}", dir=where))
    except OSError as error:
        raise cannot_write(Path(where or tempfile.gettempdir()), error) from error
    try:
        clear_dead(prefix.partition("-")[0], folder.parent)
        with (folder / OWNER).open("wb") as owner:
            # Where a file system has no locks, nobody can take one either: nothing is cleared.
            with contextlib.suppress(OSError):
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Only now does it have a name that others clear.
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
    """Kill this user's processes with `folder` in their environment, except this and its parent."""
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
        return False  # gone meanwhile, or nothing of ours
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False  # its owner lives
    finally:
        os.close(file)
    return True
