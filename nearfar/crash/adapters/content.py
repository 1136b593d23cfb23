"""What a dump prints of a map or a set."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Content:
    """The keys of an image."""

    values: dict[str, str | None]
    """None: the dump prints no value, as of a set."""
    twice: str | None
    """A key that is there twice."""
    complaint: str
    """What the dump says is wrong, behind a ``!``."""


def parse(text: str) -> Content:
    """Read a line for each key: ``key value``, ``key``, or split by a tab if there is one."""
    values: dict[str, str | None] = {}
    twice = None
    complaint = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("!"):
            complaint = line[1:].strip()
        elif line:
            key, _, value = line.partition("\t" if "\t" in line else " ")
            if key in values:
                twice = key
            values[key] = value.strip() or None
    return Content(values, twice, complaint)
