"""A machine's sysfs and procfs as one text file, and that file as folders again.

    # comment
    sys/devices/system/node/online = 0-1
    proc/meminfo:
        MemTotal: 1024 kB
    sys/bus/dax/devices/dax0.0/driver -> ../../drivers/kmem
    sys/kernel/mm/damon/

A line is a file with one line of content (`=`), with several, indented (`:`), a symbolic link
(`->`) or an empty folder (`/`). In a path ``{0-3,8}`` stands for each of those numbers, and
``{}`` in the content for the same number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_RANGE = re.compile(r"\{([0-9,-]+)\}")


def expand(manifest: str, root: Path) -> None:
    """Write the files that `manifest` names below `root`."""
    for number, path, kind, content in _entries(manifest):
        place = root / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if kind == "/":
                place.mkdir(parents=True, exist_ok=True)
            elif kind == "->":
                place.symlink_to(content)
            else:
                with place.open("x") as file:
                    file.write(content + "\n")
        except OSError as error:
            raise ValueError(f"line {number} of the manifest: {path}: {error}") from error


def _entries(manifest: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield (line, path, kind, content) with ranges expanded."""
    lines = manifest.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if not line.strip() or line.startswith("#"):
            continue
        head = number
        if line.endswith("/") and " " not in line:
            path, kind, content = line.rstrip("/"), "/", ""
        elif " -> " in line:
            (path, content), kind = line.split(" -> ", 1), "->"
        elif line.endswith(":") and " " not in line:
            path, kind = line.removesuffix(":"), "="
            block: list[str] = []
            while number < len(lines) and lines[number].startswith("    "):
                block.append(lines[number][4:])
                number += 1
            content = "\n".join(block)
        elif " =" in line:
            path, _, content = line.partition(" =")
            kind, content = "=", content.removeprefix(" ")
        else:
            raise ValueError(f"line {head} of the manifest is not an entry: {line!r}")
        for each, value in _ranges(path):
            yield head, each, kind, content.replace("{}", value)


def _ranges(path: str) -> Iterator[tuple[str, str]]:
    match = _RANGE.search(path)
    if match is None:
        yield path, "{}"
        return
    for part in match[1].split(","):
        first, _, last = part.partition("-")
        for value in range(int(first), int(last or first) + 1):
            yield path[: match.start()] + str(value) + path[match.end() :], str(value)
