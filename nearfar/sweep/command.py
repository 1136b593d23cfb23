"""A program's command with sizes and seed filled in, and digests of the files it names."""

from __future__ import annotations

import hashlib
import shlex
import shutil
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from string import Formatter

from nearfar.base.errors import NearfarError, nearest

HASHED_BYTES = 256 << 20
"""Larger files among arguments, such as databases, go by size and time of change: reading them for
every sweep would take longer than many points."""


def command_of(
    text: str, program: str, size: Mapping[str, float | str], seed: int | None
) -> list[str]:
    """Return the words of the command; raises where a name is missing or not used."""
    names = dict(size) if seed is None else {**size, "seed": seed}
    try:
        asked = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
    except ValueError as error:
        raise NearfarError(
            f"cannot read the command of {program!r}: {error}; write {{{{ for a brace"
        ) from error
    if missing := sorted(asked - set(names)):
        given = f"; {', '.join(sorted(names))} are known" if names else ""
        raise NearfarError(
            f"the command of {program!r} has {{{missing[0]}}}, and no size of that name{given}"
            f"{nearest(missing[0], sorted(names))}: write size = {{ {missing[0]} = ... }}"
        )
    unused = sorted(set(size) - asked)
    if unused:
        raise NearfarError(
            f"size {unused[0]!r} is not in the command of {program!r}: write {{{unused[0]}}} there"
        )
    filled = {name: _text(value) for name, value in names.items()}
    words = [word.format_map(filled) for word in shlex.split(text)]
    if not words:
        raise NearfarError(f"the command of {program!r} is empty")
    return words


def _text(value: float | str) -> str:
    """Return 1e6 as 1000000: programs read counts."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return str(int(value))
    return str(value)


def digests_of(command: list[str], folder: str) -> dict[str, str]:
    """Return a digest of the executable and of every argument that is a file."""
    executable = shutil.which(str(Path(folder) / command[0])) or shutil.which(command[0])
    if executable is None:
        raise NearfarError(f"there is no program {command[0]!r} in {folder}, nor on PATH")
    digests = {command[0]: _digest(executable)}
    for word in command[1:]:
        path = Path(folder) / word
        try:
            if path.is_file():
                digests[word] = _digest(str(path))
        except OSError:  # A word too long to be a file's name.
            continue
    return digests


def _digest(path: str) -> str:
    status = Path(path).stat()
    return _digest_at(path, status.st_size, status.st_mtime_ns)


@lru_cache(4096)
def _digest_at(path: str, size_bytes: int, changed_ns: int) -> str:
    if size_bytes > HASHED_BYTES:
        return f"{size_bytes}@{changed_ns}"
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise NearfarError(f"cannot read {path}: {error.strerror}") from error
