"""Reads the members of `ar` archives, thin ones too."""

from __future__ import annotations

import os
from collections.abc import Iterator

_MAGIC = b"!<arch>\n"
_THIN = b"!<thin>\n"


class Member:
    """An archive's member: a stretch of `path`."""

    __slots__ = ("name", "path", "size", "start")

    def __init__(self, name: str, path: str, start: int, size: int) -> None:
        self.name = name
        self.path = path
        self.start = start
        self.size = size

    def read(self) -> bytes:
        """Return its content."""
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return file.read(self.size)


def is_archive(path: str) -> bool:
    """Tell whether `path` is an archive."""
    with open(path, "rb") as file:
        return file.read(8) in (_MAGIC, _THIN)


def symbols(path: str) -> set[str]:
    """Return the symbols in the index of the archive `path`: what its members define."""
    with open(path, "rb") as file:
        head = file.read(68)
        if head[:8] not in (_MAGIC, _THIN) or head[8:24].rstrip() not in (b"/", b"/SYM64/"):
            return set()
        width = 4 if head[8:24].rstrip() == b"/" else 8
        index = file.read(int(head[56:66]))
    count = int.from_bytes(index[:width], "big")
    names = index[width * (count + 1) :].split(b"\0")
    return {name.decode("utf-8", "replace") for name in names if name}


def members(path: str) -> Iterator[Member]:
    """Yield the object members of the archive `path`; its indices are left out."""
    size = os.path.getsize(path)
    long_names = b""
    with open(path, "rb") as file:
        thin = file.read(8) == _THIN
        at = 8
        while at + 60 <= size:
            file.seek(at)
            header = file.read(60)
            raw = header[:16].rstrip()
            length = int(header[48:58])
            start = at + 60
            is_index = raw in (b"/", b"/SYM64/", b"//") or raw.startswith(b"__.SYMDEF")
            if raw == b"//":
                long_names = file.read(length)
            inside = is_index or not thin
            at = start + (length + length % 2 if inside else 0)
            if is_index:
                continue
            if raw.startswith(b"/"):
                place = int(raw[1:])
                name = long_names[place : long_names.find(b"\n", place)].rstrip(b"/").decode()
            elif raw.startswith(b"#1/"):  # BSD: the name is before the content
                name_length = int(raw[3:])
                name = file.read(name_length).rstrip(b"\0").decode()
                start, length = start + name_length, length - name_length
            else:
                name = raw.rstrip(b"/").decode()
            if thin:
                yield Member(name, os.path.join(os.path.dirname(path), name), 0, length)
            else:
                yield Member(name, path, start, length)
