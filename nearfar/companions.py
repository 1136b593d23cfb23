"""Companion packages: verbs that are installed separately and found by their entry points.

A companion declares its verb in its pyproject.toml:

    [project.entry-points."nearfar.verbs"]
    bench = "nearfar_bench.verb:bench"

A verb of `KNOWN` whose companion is not installed stays in the list of verbs, with the command that
installs it, and ends with exit code 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from nearfar.base.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

VERBS = "nearfar.verbs"
"""Entry-point group of verbs: name of the verb -> function or cyclopts App."""

TOOLS = "nearfar.tools"
"""Entry-point group of programs that read their own command line, such as `measure --like`."""


@dataclass(frozen=True)
class CompanionPackage:
    """A companion package of this repository."""

    extra: str
    """Name of the extra in `pip install 'nearfar[extra]'`."""
    summary: str
    """First line of its verb's help, shown where it is not installed."""


KNOWN = {
    "bench": CompanionPackage(
        "bench", "Run an experiment on memory and on pools of persistent memory: a BenchResult."
    ),
    "counters": CompanionPackage(
        "imports", "Read what other tools counted, for models of whole programs."
    ),
    "device import": CompanionPackage(
        "imports",
        "Make a device from what another tool printed, or from a bandwidth-latency curve in CSV.",
    ),
    "measure --like": CompanionPackage("like", "Measure with the options of MLC, STREAM or LENS."),
    "reproduce": CompanionPackage(
        "studies", "Compare published figures with what nearfar computes for the same."
    ),
}
"""Verbs, parts of verbs (with a space) and options that companions of this repository add."""


@cache
def installed(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; a process looks once, at 5 to 12 ms a look."""
    from importlib.metadata import entry_points  # noqa: PLC0415 (20 ms; most verbs need none)

    return {entry.name: entry for entry in entry_points(group=group)}


def load(group: str, name: str) -> Any:
    """Return what the companion declares as `name`.

    Raises CommandError with exit code 3 if the companion is not installed.
    """
    entry = installed(group).get(name)
    if entry is None:
        raise not_installed(name)
    return entry.load()


def not_installed(name: str) -> CommandError:
    """Return the error that says how to install the companion that adds `name`."""
    return CommandError(
        f"`nearfar {name}` is not installed: install nearfar[{KNOWN[name].extra}] "
        f"(pip install 'nearfar[{KNOWN[name].extra}]')",
        ExitCode.MACHINE_LACKS,
    )
