"""`nearfar try` on 30 Debian programs as they are: answers, tracebacks, time, and how right.

The list is benchmarks/try_programs.toml. Programs that are built by `nearfar cc` too are tried in
that form as well: the slowdown of each memory should lie within the interval that was stated for
the program as it is. PROGRAMS=name,name tries some only;
NEAR=FILE takes a measured near memory. A run with a limit tries as many as fit, and the next one of
the same commit goes on.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
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
from benchmarks.tried_programs import LIST, ListedProgram, build, input_path, programs
from nearfar.base.errors import ExitCode
from nearfar.options.try_program import SIX_MEMORIES

SECONDS = 80

COMMAND = "ONLY=try_programs python -m benchmarks"
MIN_INSIDE = 90.0
"""Share of slowdowns that lie within the stated interval, as its coverage is, %."""


class TriedProgram(msgspec.Struct, frozen=True):
    """Result of `try` on one program."""

    name: str
    language: str
    code: int
    seconds: float
    error: str
    slowdowns: dict[str, tuple[float, float, float]]
    """Low end, value and high end of the slowdown on each memory."""

    @property
    def answered(self) -> bool:
        """Return whether there is an answer for each memory."""
        return self.code == 0 and len(self.slowdowns) == len(SIX_MEMORIES)

    @property
    def knew_near(self) -> bool:
        """Return whether near memory did not have to be measured."""
        said = " ".join(self.error.split())
        known = ("as measured before in this boot", "the kept one is used")
        return bool(os.environ.get("NEAR")) or any(words in said for words in known)


def rows() -> Iterator[Row]:
    """Try the programs one after the other, then those built by `nearfar cc`."""
    named = [name for name in os.environ.get("PROGRAMS", "").split(",") if name]
    chosen = [
        program
        for program in programs()
        if (not named or program.name in named)
        and shutil.which(program.command[0], path=f"{os.environ['PATH']}:/usr/bin")
    ]
    commit, near = commit_of(None), os.environ.get("NEAR", "")
    again = bool(named) or commit.endswith("+")
    measured = [LIST, Path(near)] if Path(near).is_file() else [LIST]
    kept = Kept("try_programs", measured, commit + near, again=again)
    plain = list(_tried(chosen, kept, ""))
    traced = list(_tried([program for program in chosen if program.source], kept, "traced "))
    if not plain:
        print("try_programs: no row, since none of the programs is installed")
        return
    yield from _rows_of_answers(plain)
    yield from _rows_of_intervals(plain, traced)


def _rows_of_answers(tried: list[TriedProgram]) -> Iterator[Row]:
    _print_unanswered(tried, "")
    languages = len({program.language for program in tried})
    answers = sum(program.answered for program in tried)
    tracebacks = sum("Traceback" in program.error for program in tried)
    longest_s = max(program.seconds for program in tried)
    again_s = max((program.seconds for program in tried if program.knew_near), default=0.0)
    counted = f"answers of try on {len(tried)} Debian programs of {languages} languages"
    for name, value, unit, bar, at_most in (
        (counted, answers, "answers", len(tried), False),
        ("tracebacks", tracebacks, "tracebacks", 0, True),
        ("longest try", longest_s, "s", 90, True),
        ("longest try where near memory was known", again_s, "s", 45, True),
    ):
        yield make_row(name, value, unit, bar=bar, at_most=at_most, peer="", command=COMMAND)


def _print_unanswered(tried: list[TriedProgram], form: str) -> None:
    for program in tried:
        if not program.answered:
            last = program.error.splitlines()[-1:]
            print(f"{form}{program.name}: exit code {program.code}: {last}")


def _rows_of_intervals(plain: list[TriedProgram], traced: list[TriedProgram]) -> Iterator[Row]:
    """Compare with the answers of the instrumented builds, where both exist."""
    _print_unanswered(traced, "instrumented build of ")
    if traced:
        yield make_row(
            f"answers of try on the instrumented builds of {len(traced)} of them",
            sum(program.answered for program in traced),
            "answers",
            bar=len(traced),
            at_most=False,
            peer="",
            command=COMMAND,
        )
    theirs = {program.name: program.slowdowns for program in traced if program.answered}
    inside, errors = [], []
    both = [program for program in plain if program.answered and program.name in theirs]
    for program in both:
        for memory, (low, value, high) in program.slowdowns.items():
            _, truth, _ = theirs[program.name][memory]
            inside.append(low <= truth <= high)
            errors.append(abs(value / truth - 1))
            print(f"{program.name} {memory}: {value:.2f} ({low:.2f}-{high:.2f}), {truth:.2f}")
    if both:
        yield make_row(
            f"slowdowns of the instrumented builds within the stated interval, {len(both)} "
            f"programs on {len(SIX_MEMORIES)} memories",
            100 * sum(inside) / len(inside),
            "%",
            bar=MIN_INSIDE,
            at_most=False,
            peer="median difference, %",
            peer_value=100 * statistics.median(errors),
            command=COMMAND,
        )


def _tried(chosen: list[ListedProgram], kept: Kept, form: str) -> Iterator[TriedProgram]:
    for program in chosen:
        name = form + program.name
        if not kept.has(name) and in_time():
            try:
                command = [str(build(program))] if form else program.command[:1]
            except RuntimeError as error:
                print(f"try_programs: without the instrumented {program.name}: {error}", flush=True)
                continue
            kept.get(name, TriedProgram, lambda c=command, p=program: _try_program(c, p))
        if kept.has(name):
            yield kept.get(name, TriedProgram, lambda p=program: _try_program([], p))


def _try_program(command: list[str], program: ListedProgram) -> TriedProgram:
    with tempfile.TemporaryDirectory(prefix="nearfar-try-") as name:
        folder = Path(name)
        scratch = folder / "scratch"
        scratch.mkdir()
        program.lay_files(scratch)
        words = [*command, *program.words(scratch)[1:]]
        stdin = input_path(program.stdin) if program.stdin else Path(os.devnull)
        near = os.environ.get("NEAR", "")
        options = ["--near", near] if near else []
        started = time.monotonic()
        with stdin.open("rb") as file:
            done = subprocess.run(
                [
                    *(sys.executable, "-m", "nearfar", "try", "-o", f"{folder}/try"),
                    *(*options, "--", *words),
                ],
                cwd=scratch,
                env={**os.environ, "LC_ALL": "C", "OMP_NUM_THREADS": "1"},
                stdin=file,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                check=False,
            )
        seconds = time.monotonic() - started
        error = done.stderr.decode(errors="replace")
        code = done.returncode
        expected = any(
            re.search(rf"the program exited {status}\b", error) for status in program.exits
        )
        if code == ExitCode.PROGRAM_FAILED and expected:
            code = ExitCode.DONE
        slowdowns = _slowdowns(folder / "try") if code == ExitCode.DONE else {}
        return TriedProgram(program.name, program.language, code, seconds, error, slowdowns)


def _slowdowns(folder: Path) -> dict[str, tuple[float, float, float]]:
    """Return the slowdowns behind the page in `folder`, which `try` prints rounded."""
    command = [sys.executable, "-m", "nearfar", "predict", f"{folder}/run.json", "--json"]
    command += ["--near", f"{folder}/near.json"]
    command += [word for memory in SIX_MEMORIES for word in ("--far", memory)]
    done = subprocess.run(command, check=True, capture_output=True)
    return {
        device["far"]: tuple(device["total"]["slowdown"][end] for end in ("low", "value", "high"))
        for device in json.loads(done.stdout)["devices"]
    }
