"""Atomic writes: files are written under a temporary name in the same folder, then renamed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError

FULL_DEVICE = os.makedev(1, 7)
"""/dev/full: the kernel's disk that is always full (Linux, Documentation/admin-guide/devices)."""


STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path in `path`'s folder; rename it to `path` if the block succeeds.

    On any exception, Ctrl-C included, the temporary file is removed and `path` is untouched.
    A device or pipe, such as ``/dev/stdout``, is yielded itself, since it cannot be renamed.
    """
    path = Path(path)
    if _is_special(path):
        try:
            yield path
        except OSError as error:
            raise cannot_write(path, error) from error
        return
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write all of `content` to `path`, or leave `path` unchanged."""
    data = content.encode() if isinstance(content, str) else content
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def check_writable(path: Path) -> None:
    """Raise an error before long work if its result could not be written to `path`."""
    try:
        if path.is_dir():
            raise NearfarError(f"cannot write {path}: it is a folder; name a file in it")
        if _is_special(path):
            if path.stat().st_rdev == FULL_DEVICE:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            # Empty files can be created even on a full disk, so some bytes are written.
            os.write(handle, bytes(4096))
        finally:
            os.close(handle)
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> NearfarError:
    """Return the error for a file that cannot be written."""
    if isinstance(error, FileNotFoundError):
        hint = f"make the folder first: mkdir -p {path.parent}"
        if path.parent.is_dir():  # such as /proc, where files cannot be created
            hint = "choose another folder with -o"
    elif isinstance(error, FileExistsError | NotADirectoryError):
        hint = "a file is where a folder is needed: choose another one with -o"
        return NearfarError(f"cannot write {path}: {hint}")
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "free some space or choose another disk with -o"
    else:
        hint = "choose another folder with -o"
    return NearfarError(f"cannot write {path}: {error.strerror}; {hint}", ExitCode.MACHINE_LACKS)


def read_bytes(path: Path, what: str) -> bytes:
    """Return the content of `path`; `what` names the file in errors."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise NearfarError(f"cannot read {what} {path}: {error.strerror}") from error


def _is_special(path: Path) -> bool:
    # A standard stream may be a file, and a rename would replace the stream's own link.
    if str(path).startswith(STREAMS):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's contents, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
