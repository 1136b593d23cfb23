"""Programs of the row `try_programs`: their list, inputs, and instrumented builds."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path

import msgspec

from benchmarks.real_programs import Source, build_source
from nearfar_studies.population_list import PLACEHOLDER, Recipe, read_list, write_input

LIST = Path(__file__).parent / "try_programs.toml"
FOLDER = Path("build/try").resolve()


class ListedProgram(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program with its command, and how it is built with the pass, if it is."""

    name: str
    language: str
    package: str
    command: list[str]
    stdin: str = ""
    files: list[str] = []
    exits: list[int] = []
    """Exit statuses that are no failure, besides 0."""
    source: str = ""
    steps: list[str] = []
    built: str = ""

    def words(self, scratch: Path) -> list[str]:
        """Return the command with the paths of its inputs, which are written if need be."""
        return [
            PLACEHOLDER.sub(
                lambda match: str(scratch) if match[1] == "scratch" else _placed(match), text
            )
            for text in self.command
        ]

    def lay_files(self, scratch: Path) -> None:
        """Put the files that the program opens by name into its folder."""
        for name in self.files:
            (scratch / name).symlink_to(input_path(name))


class ProgramList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Programs and the inputs that are theirs alone."""

    programs: list[ListedProgram]
    inputs: dict[str, Recipe]


@cache
def programs() -> list[ListedProgram]:
    """Return the list."""
    return _read().programs


def input_path(name: str) -> Path:
    """Return the file of an input."""
    return write_input(name, _inputs()[name], FOLDER / "inputs")


def _placed(match: re.Match[str]) -> str:
    return str(input_path(match[1])) if match[1] in _inputs() else match[0]


@cache
def _read() -> ProgramList:
    return msgspec.toml.decode(LIST.read_bytes(), type=ProgramList)


@cache
def _inputs() -> dict[str, Recipe]:
    return {**read_list().inputs, **_read().inputs}


def build(program: ListedProgram) -> Path:
    """Build a program with the pass, once per build of nearfar.

    Raises RuntimeError if its source cannot be fetched or does not build.
    """
    nearfar = Path(sys.executable).parent / "nearfar"
    return build_source(
        program.name,
        Source(program.source, program.steps, program.built),
        FOLDER / "sources" / program.source,
        {**os.environ, "CC": f"{nearfar}-cc", "CXX": f"{nearfar}-c++"},
        FOLDER / f"{program.name}-build.log",
    )
