"""The files of a fleet: names, folders, and URIs such as s3://bucket/folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyarrow import fs

from nearfar.base.errors import ExitCode, NearfarError


@dataclass(frozen=True)
class FleetSources:
    """The files of a fleet."""

    uris: list[str]
    """Absolute paths, and URIs."""
    states: Mapping[str, str]
    """Size and time of change of each URI, as its object store lists them."""

    def state(self, uri: str) -> str:
        """Return a text that changes when the file does."""
        if "://" in uri:
            return self.states[uri]
        try:
            status = os.stat(uri)  # noqa: PTH116 - a million times
        except OSError as error:
            return str(error)
        # Permissions change no other time than this one.
        return f"{status.st_size} {status.st_ctime_ns}"


def find_sources(given: Sequence[str]) -> FleetSources:
    """Return all files, also those in folders; raises NearfarError for a missing one."""
    uris: list[str] = []
    states: dict[str, str] = {}
    for text in given:
        if "://" in text:
            states |= _remote(text)
        else:
            uris += _local(text)
    # Files that were named twice count once.
    uris = [*(dict.fromkeys(uris) if len(given) > 1 else uris), *states]
    if not uris:
        raise NearfarError(
            "the fleet is empty: name profiles of `nearfar profile`, or folders of them"
            + (f"; there are no .json files in {', '.join(given)}" if given else "")
        )
    return FleetSources(uris, states)


def _local(text: str) -> Iterator[str]:
    path = os.path.abspath(text)  # noqa: PTH100 - also without "..", which Path.absolute keeps
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - as below
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NearfarError(f"there is no file or folder {text}") from error
    except OSError as error:
        raise NearfarError(f"cannot read {text}: {error.strerror}") from error
    return _files(path) if is_folder else iter([path])


def _files(top: str) -> Iterator[str]:
    """Yield all .json files below a folder, and each folder below it that cannot be read."""
    folders = [top]
    while folders:
        folder = folders.pop()
        try:
            # Path.rglob would make a Path of every file: slow for a million.
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.name.endswith(".json") and not _is_linked_folder(entry):
                        yield entry.path
        except OSError:
            yield folder  # Reading it as a file says why it cannot be read.


def _is_linked_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_symlink() and entry.is_dir()
    except OSError:
        return False  # Such as a link to itself: reading it as a file says what is wrong.


def _remote(uri: str) -> dict[str, str]:
    system, path = _system(uri)
    scheme = uri.partition("://")[0]
    try:
        about = system.get_file_info(path)
        if about.type == fs.FileType.File:
            infos = [about]
        else:
            infos = system.get_file_info(fs.FileSelector(path, recursive=True))
    except OSError as error:
        raise NearfarError(f"cannot list {uri}: {error}", ExitCode.MACHINE_LACKS) from error
    return {
        f"{scheme}://{info.path}": f"{info.size} {info.mtime_ns}"
        for info in infos
        if info.type == fs.FileType.File and info.path.endswith(".json")
    }


def _system(uri: str) -> tuple[fs.FileSystem, str]:

    try:
        system: Any = fs.FileSystem.from_uri(uri)
    except (OSError, ValueError) as error:
        raise NearfarError(f"cannot open {uri}: {error}", ExitCode.MACHINE_LACKS) from error
    return system[0], system[1]


PIECE_BYTES = 1 << 16
"""Most bytes of one read: more than most profiles have, and little enough to be allocated fast."""


def read_source(uri: str) -> bytes:
    """Return a file's content."""
    if "://" not in uri:
        file = os.open(uri, os.O_RDONLY | os.O_CLOEXEC)
        try:
            pieces = []
            while piece := os.read(file, PIECE_BYTES):
                pieces.append(piece)
            return b"".join(pieces)
        finally:
            os.close(file)
    system, path = _system(uri)
    with system.open_input_stream(path) as stream:
        return bytes(stream.read())
