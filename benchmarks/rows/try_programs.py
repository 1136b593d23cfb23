"""`nearfar try` on Debian programs as they are: answers, tracebacks, time.

The programs are those of the study `population` that run alone and end within a fifth of 90 s, each
with inputs of a quarter of the lines, in the order of its list. PROGRAMS=name,name tries some only.
A run with a limit tries as many as fit; the next one of the same commit goes on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks import Row, in_time, make_row
from benchmarks.kept import Kept
from benchmarks.results import commit_of
from nearfar_studies.population_list import (
    PopulationProgram,
    Recipe,
    read_list,
    write_input,
)

SECONDS = 60

COUNT = 30
"""Number of programs that are tried."""
FEWER = 4
"""Divisor of an input's lines: under QEMU, 12 s of a program are all that fits in 90 s."""
MIN_LINES = 1000
"""Lines below which an input keeps its length: it is a script, or a text with a head."""
NOT_TRIED = {
    "gp": "dies under QEMU without nearfar too",
    "minisat": "its input states its number of lines",
    "cadical": "its input states its number of lines",
    "qdelaunay": "its input states its number of lines",
    "mpmetis": "its input states its number of lines",
    "nasm": "its input jumps to lines that would be left out",
}
COMMAND = "ONLY=try_programs python -m benchmarks"


class TriedProgram(msgspec.Struct, frozen=True):
    """Result of `try` on one program."""

    name: str
    code: int
    seconds: float
    error: str


def rows() -> Iterator[Row]:
    """Try the programs one after the other."""
    tried = list(try_programs(os.environ.get("PROGRAMS", "")))
    if not tried:
        print("try_programs: no row, since none of the programs is installed")
        return
    for program in tried:
        if program.code:
            print(f"{program.name}: exit code {program.code}: {program.error.splitlines()[-1:]}")
    answers = sum(program.code == 0 for program in tried)
    tracebacks = sum("Traceback" in program.error for program in tried)
    longest_s = max(program.seconds for program in tried)
    for name, value, unit, bar, at_most in (
        (f"answers of try on {len(tried)} Debian programs", answers, "answers", len(tried), False),
        ("tracebacks", tracebacks, "tracebacks", 0, True),
        ("longest try", longest_s, "s", 90, True),
    ):
        yield make_row(name, value, unit, bar=bar, at_most=at_most, peer="", command=COMMAND)


def try_programs(only: str) -> Iterator[TriedProgram]:
    """Yield what became of each program that is installed."""
    listed = read_list()
    named = [name for name in only.split(",") if name]
    chosen = [
        program
        for program in listed.programs
        if not program.driver and program.name not in NOT_TRIED
    ]
    chosen = [program for program in chosen if program.name in named] if named else chosen[:COUNT]
    commit = commit_of(None)
    kept = Kept("try_programs", [], commit, again=bool(named) or commit.endswith("+"))
    with tempfile.TemporaryDirectory(prefix="nearfar-try-") as folder:
        for program in chosen:
            if not in_time() and not kept.has(program.name):
                continue
            recipes = listed.inputs_of(program)
            paths = {
                name: write_input(name, _shortened(recipe), Path(folder, "inputs"))
                for name, recipe in recipes.items()
            }
            yield kept.get(
                program.name,
                TriedProgram,
                lambda program=program, paths=paths: _tried(program, paths),
            )


def _shortened(recipe: Recipe) -> Recipe:
    if not isinstance(recipe, list):
        return recipe
    return [(n // FEWER if n >= MIN_LINES else n, template) for n, template in recipe]


def _tried(program: PopulationProgram, paths: dict[str, Path]) -> TriedProgram:
    with tempfile.TemporaryDirectory(prefix="nearfar-try-") as scratch:
        command, _ = program.words({**paths, "scratch": Path(scratch)})
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "nearfar", "try", "-o", f"{scratch}/try", "--", *command],
            env={**os.environ, "LC_ALL": "C", "OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        seconds = time.monotonic() - started
        error = done.stderr.decode(errors="replace")
        return TriedProgram(program.name, done.returncode, seconds, error)
