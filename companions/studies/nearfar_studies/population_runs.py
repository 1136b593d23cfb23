"""Unmodified programs of a list, each profiled once; an interrupted run continues."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.journal import Journal
from nearfar.base.terminate import terminated_as_interrupted
from nearfar.documents import WorkloadProfile, load
from nearfar.profile.sources import qemu_user
from nearfar_studies.applications import nearfar
from nearfar_studies.population_list import PopulationList, PopulationProgram, write_input

INSTRUCTIONS = {"short": 1e9, "medium": 3e9, "long": 8e9}
"""Maximum number of observed instructions, by the expected duration."""

PACE = 25e6
"""Instructions per second under QEMU with its plugin, until programs of this run give a better
value."""

SLOWEST_PACE = PACE / 20
"""Instructions per second at which the observed instructions just fit in --sample. A program that
takes five times as long is considered to hang."""

ENVIRONMENT = {"LC_ALL": "C", "OMP_NUM_THREADS": "1"}


class FinishedProgram(msgspec.Struct, frozen=True):
    """A program that was run, as stored in the journal."""

    digest: str
    instructions: float
    """Maximum number of instructions to observe."""
    seconds: float
    failure: str
    """Why it has no profile, or ""."""


def profile_population(
    listed: PopulationList, folder: Path, say: Callable[[str], None]
) -> dict[str, str]:
    """Profile every installed program of the list, in order, into `folder`/NAME.json.

    Profiles of an earlier run are kept; failures are tried again. Returns each program with the
    reason why it has no profile, or "". `say` receives the plan, its duration, and each step.
    Raises NearfarError if nothing can be profiled.
    """
    qemu_user.find()
    present = [each for each in listed.programs if shutil.which(each.command[0])]
    missing = [each for each in listed.programs if each not in present]
    install = f"apt-get install {' '.join(dict.fromkeys(each.package for each in missing))}"
    if not present:
        raise NearfarError(
            f"no program of the list is installed: {install}", ExitCode.MACHINE_LACKS
        )
    if missing:
        say(f"{len(missing)} programs are not installed and left out: {install}")
    folder.mkdir(parents=True, exist_ok=True)
    with (
        terminated_as_interrupted(),
        Journal.open(folder / "population.journal", FinishedProgram) as journal,
    ):
        finished = {each.digest: each for each in journal.records()}
        waiting = [
            each
            for each in present
            if (record := finished.get(listed.digest(each))) is None
            or record.failure
            or not (folder / f"{each.name}.json").is_file()
        ]
        for place, program in enumerate(waiting):
            left = minutes(waiting[place:], finished.values())
            say(f"{place + 1} of {len(waiting)}: {program.name}; at most {left} min left")
            record = _run(program, listed, folder)
            if record.failure:
                say(f"{program.name}: {record.failure}")
            finished[record.digest] = record
            journal.append(record)
    return {each.name: f"not installed: apt-get install {each.package}" for each in missing} | {
        each.name: finished[listed.digest(each)].failure for each in present
    }


def minutes(waiting: Sequence[PopulationProgram], finished: Iterable[FinishedProgram]) -> int:
    """Return the maximum time of programs in minutes, at the pace of the finished ones."""
    done = [each for each in finished if not each.failure]
    seconds = sum(each.seconds for each in done)
    pace = sum(each.instructions for each in done) / seconds if seconds else PACE
    return math.ceil(sum(INSTRUCTIONS[each.duration] for each in waiting) / pace / 60)


def _run(program: PopulationProgram, listed: PopulationList, folder: Path) -> FinishedProgram:
    """Profile a program; a failure is part of the result."""
    begun, failure, max_instructions = time.monotonic(), "", INSTRUCTIONS[program.duration]
    path = folder / f"{program.name}.json"
    path.unlink(missing_ok=True)
    paths = {
        name: write_input(name, recipe, folder / "inputs")
        for name, recipe in listed.inputs_of(program).items()
    }
    options = ["--source", "qemu", "--llc", f"{listed.llc_bytes}B", "--ways", "16", "--quiet"]
    options += [
        "--sample-instructions",
        f"{max_instructions:.0f}",
        "--sample",
        f"{max_instructions / SLOWEST_PACE}s",
    ]
    with tempfile.TemporaryDirectory(prefix="nearfar-population-") as scratch:
        command, driver = program.words({**paths, "scratch": Path(scratch)})
        options += ["--driver", driver] if driver else []
        environment = {**os.environ, **ENVIRONMENT, "HOME": scratch}
        try:
            nearfar("profile", *options, "-o", str(path), "--", *command, environment=environment)
        except NearfarError as error:
            failure = str(error)
    if path.is_file():
        status = load(path, WorkloadProfile).program.exit_status
        if status in [f"exited {code}" for code in program.exits]:
            failure = ""
        elif failure or "see --sample" in status:
            failure = f"the program {status}"
            path.unlink()
    return FinishedProgram(
        listed.digest(program), max_instructions, time.monotonic() - begun, failure
    )
