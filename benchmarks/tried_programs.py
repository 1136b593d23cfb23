"""Programs of the row `try_programs`: their list, inputs, and instrumented builds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import msgspec

from benchmarks.real_programs import CLEAN
from nearfar.native_files import native_folder
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
    """Build a program with the pass, once per build of nearfar; raise RuntimeError if it fails."""
    sys.path.insert(0, "examples/demo")
    from source import fetch_source  # type: ignore[import-not-found]

    tree = Path(fetch_source(program.source, FOLDER / "sources" / program.source))
    built = tree / program.built
    newest = max(
        path.stat().st_mtime
        for pattern in ("libnearfar_profile.*", "nearfar_pass-*")
        for path in native_folder().glob(pattern)
    )
    if built.is_file() and built.stat().st_mtime > newest:
        return built
    nearfar = Path(sys.executable).parent / "nearfar"
    environment = {**os.environ, "CC": f"{nearfar}-cc", "CXX": f"{nearfar}-c++"}
    log = FOLDER / f"{program.name}-build.log"
    for step in (CLEAN, *program.steps):
        with log.open("ab") as file:
            done = subprocess.run(
                step, shell=True, cwd=tree, env=environment, stdout=file, stderr=file, check=False
            )
        if done.returncode != 0:
            raise RuntimeError(f"{program.name} could not be built: see {log}")
    return built
