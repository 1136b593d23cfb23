"""The files of a fleet: names, folders, and URIs such as s3://bucket/folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyarrow import fs

from nearfar.base.errors import ExitCode, NearfarError


@dataclass(frozen=True)
class FleetProfileSource:
    """One file, with its size and time of change."""

    uri: str
    """A path, or a URI."""
    size_bytes: int
    changed_ns: int


def find_sources(given: Sequence[str]) -> list[FleetProfileSource]:
    """Return all files, also those in folders; raises NearfarError for a missing one."""
    sources: dict[str, FleetProfileSource] = {}
    for text in given:
        for source in _remote(text) if "://" in text else _local(Path(text)):
            sources[source.uri] = source
    if not sources:
        raise NearfarError(
            "the fleet is empty: name profiles of `nearfar profile`, or folders of them"
            + (f"; there are no .json files in {', '.join(given)}" if given else "")
        )
    return list(sources.values())


def _local(path: Path) -> list[FleetProfileSource]:
    if path.is_dir():
        # rglob would make a Path of every file of every kind: slow for 100,000.
        return [_status(file) for file in sorted(_files(path))]
    if not path.exists():
        raise NearfarError(f"there is no file or folder {path}")
    return [_status(str(path))]


def _files(folder: Path) -> list[str]:
    return [
        os.path.join(where, name)  # noqa: PTH118 - 100,000 times
        for where, _, names in os.walk(folder)
        for name in names
        if name.endswith(".json")
    ]


def _status(name: str) -> FleetProfileSource:
    status = os.stat(name)  # noqa: PTH116 - 100,000 times
    return FleetProfileSource(name, status.st_size, status.st_mtime_ns)


def _remote(uri: str) -> list[FleetProfileSource]:

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
    return [
        FleetProfileSource(f"{scheme}://{info.path}", info.size or 0, info.mtime_ns or 0)
        for info in sorted(infos, key=lambda info: info.path)
        if info.type == fs.FileType.File and info.path.endswith(".json")
    ]


def _system(uri: str) -> tuple[fs.FileSystem, str]:

    try:
        system: Any = fs.FileSystem.from_uri(uri)
    except (OSError, ValueError) as error:
        raise NearfarError(f"cannot open {uri}: {error}", ExitCode.MACHINE_LACKS) from error
    return system[0], system[1]


def read_source(uri: str) -> bytes:
    """Return a file's content."""
    if "://" not in uri:
        with open(uri, "rb") as file:  # noqa: PTH123 - 100,000 times
            return file.read()
    system, path = _system(uri)
    with system.open_input_stream(path) as stream:
        return bytes(stream.read())
