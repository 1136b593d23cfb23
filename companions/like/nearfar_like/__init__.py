"""Measure with the options of known tools: ``nearfar measure --like TOOL ARGS...``.

Each tool is a folder with `SUMMARY`, `HELP` and ``run(arguments, say)``, which returns its results
for JSON, with `noise.RunNoise.fields` as ``noise``; no other list of tools exists. The modules next
to the folders are shared. A tool takes the options that its users know; the numbers come from
nearfar's kernels.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from nearfar.base.errors import CommandError, ExitCode, nearest

Say = Callable[[str], None]
"""Function that prints one line of the tool's output."""


def tools() -> dict[str, ModuleType]:
    """Return the tools by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)
    return {name: importlib.import_module(f"{__name__}.{name}") for name in names}


def main(arguments: list[str]) -> int:
    """Run ``measure`` with arguments that contain ``--like``; return the exit code."""
    before, tool, after = split(arguments)
    as_json = "--json" in before or "--json" in after
    quiet = any(word in ("--quiet", "-q") for word in before) or "--quiet" in after
    extra = [word for word in before if word not in ("--json", "--quiet", "-q")]
    # A memory may stand before --like as well as after the tool's name.
    memory = [word for word in extra if not word.startswith("-")]
    if len(memory) != len(extra):
        wrong = next(word for word in extra if word.startswith("-"))
        raise CommandError(
            f"{wrong} does not go with --like: choose what to measure by {tool}'s options, after "
            f"--like {tool} (`nearfar measure --like {tool} --help`)"
        )
    module = tools()[tool]
    after = [*memory, *(word for word in after if word not in ("--json", "--quiet"))]
    if any(word in ("--help", "-help", "--h", "-?") for word in after):
        _line(module.HELP.rstrip("\n"))
        return int(ExitCode.DONE)
    say: Say = _silent if as_json or quiet else _line
    result: dict[str, Any] = module.run(after, say)
    # After a blank line: scripts take the lines of a table until there.
    say("")
    say(f"*** {result['noise']['text']}")
    if as_json:
        _line(json.dumps(result, indent=1))
    return int(ExitCode.DONE)


def split(arguments: list[str]) -> tuple[list[str], str, list[str]]:
    """Return the arguments before ``--like TOOL``, the tool, and the tool's arguments."""
    at = next(
        index
        for index, word in enumerate(arguments)
        if word == "--like" or word.startswith("--like=")
    )
    _, equals, name = arguments[at].partition("=")
    rest = arguments[at + 1 :]
    if not equals:
        name, rest = (rest[0], rest[1:]) if rest else ("", [])
    valid = list(tools())
    if name not in valid:
        known = ", ".join(valid)
        raise CommandError(
            f"--like needs a tool's name, one of {known}; not {name!r}{nearest(name, valid)}"
        )
    return arguments[:at], name, rest


def _line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()  # scripts follow long runs line by line


def _silent(_text: str) -> None:
    pass
