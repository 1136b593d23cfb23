"""The API function `try_program`: the verb `try`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.base.errors import CommandError, ExitCode
from nearfar.options.profile import ProfileOptions
from nearfar.options.report import ReportOptions
from nearfar.options.try_program import MIN_TIME_S, FirstFiles, TryOptions

if TYPE_CHECKING:
    from nearfar.documents import DeviceProfile, WorkloadProfile
    from nearfar.measure.settings import Progress
    from nearfar.report.data import ReportData

ANSWER_S = 6.0
"""Time to predict, place and draw the page, s."""


@dataclass(frozen=True)
class FirstAnswer:
    """Result of `try`."""

    near: DeviceProfile
    """Near memory of this machine."""
    workload: WorkloadProfile
    report: ReportData
    """Slowdowns, objects that must stay near, and what that saves."""
    failure: str
    """How the program failed, or nothing."""


@api_function(TryOptions)
def try_program(options: TryOptions) -> FirstAnswer:
    """Answer within `time` how slow a program is in far memory, and what must stay near.

    Write near.json, run.json and report.html to the folder nearfar-try. Raise NearfarError where
    the program takes too long to be observed in that time.
    """
    return first_answer(options, FirstFiles().output)


def first_answer(
    options: TryOptions,
    folder: Path,
    say: Callable[[str], None] = lambda _: None,
    progress: Progress = lambda _what, _share: None,
    *,
    stdout_to_stderr: bool = False,
) -> FirstAnswer:
    """Measure near memory, profile the program and report; write the three files to `folder`."""
    from nearfar.base.files import cannot_write, check_writable, write_atomically
    from nearfar.devices.library import load_devices
    from nearfar.documents import save
    from nearfar.measure.kept import near_memory
    from nearfar.measure.parts import QUICK_S
    from nearfar.program.executable import find_executable
    from nearfar.report.api import report
    from nearfar.report.render import render

    begun = time.monotonic()
    _check(options, find_executable(options.command[0]))
    fars = load_devices(options.far)
    given = load_devices([options.near])[0] if options.near else None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    near_path, run_path, page_path = (
        folder / name for name in ("near.json", "run.json", "report.html")
    )
    for path in (near_path, run_path, page_path):
        check_writable(path)
    measuring = f", and about {QUICK_S:.0f} s more if near memory must be measured"
    more = measuring if given is None else ""
    say(f"takes about {options.seconds():.0f} s at most{more}")
    if given is not None:
        near = given
    else:
        near, drift = near_memory(say, progress)
        if drift is not None:
            say(f"near memory: as measured before in this boot, latency now {drift:.2f} times that")
        else:
            begun = time.monotonic()
    save(near, near_path)
    ends_s = begun + options.seconds() - ANSWER_S
    workload, failure = _profile(
        options, near_path, run_path, ends_s, say, stdout_to_stderr=stdout_to_stderr
    )
    data = report(ReportOptions(profile=workload, near=near, far=fars))
    write_atomically(page_path, render(data))
    return FirstAnswer(near, workload, data, failure)


def _check(options: TryOptions, executable: Path) -> None:
    """Raise an error before any run if options are invalid or the program cannot be observed."""
    from nearfar.profile.compiler import twin
    from nearfar.profile.sources.qemu_user import program_file
    from nearfar.program.executable import check_program

    check_program(executable)
    if not twin.is_instrumented(executable):
        program_file(executable)
    if options.duration is not None and options.driver is not None:
        raise CommandError("give --driver or --duration, not both: a driver ends the run itself")
    given_s = options.given_s()
    if given_s > options.seconds() - MIN_TIME_S:
        raise CommandError(
            f"the program runs up to three times, which takes {given_s:g} s for --after and "
            f"--duration and leaves too little of --time {options.time}: give --time "
            f"{given_s + MIN_TIME_S:.0f}s or more"
        )


def _profile(
    options: TryOptions,
    near: Path,
    output: Path,
    ends_s: float,
    say: Callable[[str], None],
    *,
    stdout_to_stderr: bool,
) -> tuple[WorkloadProfile, str]:
    """Return (profile, how the program failed or ""); all runs end by `ends_s` (monotonic)."""
    from nearfar.profile.api import profile
    from nearfar.profile.sources.source import UnobservedError
    from nearfar.profile.unobserved import profile_unobserved

    profiling = ProfileOptions(
        command=options.command,
        output=output,
        near=near,
        repetitions=1,
        driver=options.driver,
        duration=options.duration,
        after=options.after,
        ends_s=ends_s,
    )
    try:
        workload, failure = profile(profiling, say, stdout_to_stderr=stdout_to_stderr)
    except UnobservedError as error:
        return profile_unobserved(
            profiling, str(error), say, error.plain_run, stdout_to_stderr=stdout_to_stderr
        )
    if not workload.phases:
        raise CommandError(
            f"{options.command[0]} ended before --after {options.after}, so nothing was counted: "
            "give a shorter one"
        )
    _refuse_unseen(options, workload)
    return workload, failure


def _refuse_unseen(options: TryOptions, workload: WorkloadProfile) -> None:
    """Raise CommandError if too much of the program's work was not observed."""
    from nearfar.profile.sources.qemu import BACKGROUND
    from nearfar.profile.warnings import MAX_UNCOUNTED_SHARE, MIN_RUN_NS
    from nearfar.program.children import is_own_child
    from nearfar.program.executable import find_executable
    from nearfar.program.language_runtimes import runs_other_code

    name, build = options.command[0], ', or build it with CC="nearfar cc" and CXX="nearfar c++"'
    if runs_other_code(find_executable(name)):
        build = ""
    share = workload.uncounted_share
    unseen = share > MAX_UNCOUNTED_SHARE
    short = sum(phase.near_cpu_time_ns.value for phase in workload.phases) < MIN_RUN_NS
    for warning in workload.warnings:
        if (short or unseen) and warning.startswith(BACKGROUND):
            raise CommandError(
                f"{name}: {warning}: give its option to stay in the foreground{build}",
                ExitCode.MACHINE_LACKS,
            )
    if unseen:
        busiest = workload.uncounted_command
        work = "name the program that does the work" + (f" `{busiest}`" if busiest else "")
        if is_own_child(busiest, options.command):
            work = "its own children do the work: give its option for a single process if it has "
            work += "one"
        raise CommandError(
            f"{name} started processes that took {share:.0%} of the CPU time, and their accesses "
            f"are not counted: {work}{build}",
            ExitCode.MACHINE_LACKS,
        )
