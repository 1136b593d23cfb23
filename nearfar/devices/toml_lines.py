"""Line numbers of the keys of a TOML file, which `tomllib` does not report."""

from __future__ import annotations

import re

Path = tuple[str | int, ...]

_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?$")
_ARRAY = re.compile(r"\s*\[\[\s*([^\[\]]+?)\s*\]\]\s*(#.*)?$")
_KEY = re.compile(r"\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\")(?:\s*\.\s*[A-Za-z0-9_-]+)*)\s*=")
_STRING = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'")


class LineMap:
    """Lines (from 1) of the tables and keys of a TOML text, by their path in the data."""

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {(): 1}
        self._read(text)

    def line(self, path: Path) -> int:
        """Return the line of `path`, or of the nearest table around it."""
        while path not in self._lines:
            path = path[:-1]
        return self._lines[path]

    def _read(self, text: str) -> None:
        current: Path = ()
        counts: dict[Path, int] = {}
        depth = 0
        for number, line in enumerate(text.splitlines(), start=1):
            if depth == 0:
                if array := _ARRAY.match(line):
                    path = self._path(array[1], counts)
                    index = counts.get(path, -1) + 1
                    counts[path] = index
                    current = (*path, index)
                    self._lines.setdefault(path, number)
                    self._lines.setdefault(current, number)
                    continue
                if table := _TABLE.match(line):
                    current = self._path(table[1], counts)
                    self._lines.setdefault(current, number)
                    continue
                if key := _KEY.match(line):
                    self._lines.setdefault((*current, *_split(key[1])), number)
            # A value of several lines has no headers or keys.
            bare = _STRING.sub("", line).split("#", 1)[0]
            depth = max(0, depth + bare.count("[") + bare.count("{"))
            depth = max(0, depth - bare.count("]") - bare.count("}"))

    @staticmethod
    def _path(header: str, counts: dict[Path, int]) -> Path:
        """Return the data path of a header, through the last element of each array in it."""
        path: Path = ()
        parts = _split(header)
        for place, part in enumerate(parts):
            path = (*path, part)
            if path in counts and place < len(parts) - 1:
                path = (*path, counts[path])
        return path


def _split(key: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in key.split("."))
