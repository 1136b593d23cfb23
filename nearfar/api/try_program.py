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

ANSWER_S = 8.0
"""Time to predict, place and draw the page, s."""
PLAIN_SHARE = 0.2
"""Share of the time that the program may take without an observer."""
SAMPLE_SHARE = 0.5
"""Share of the time in which accesses are sampled under QEMU. The remainder is for finding out
which share of the work that was."""


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
    """Measure near memory, profile the program, report; write all three to `folder`."""
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
    if given is not None:
        near = given
    else:
        near, drift = near_memory(say, progress)
        if drift is not None:
            say(f"near memory: as measured before in this boot, latency now {drift:.2f} times that")
    save(near, near_path)
    # Near memory may have taken longer to measure than planned.
    least_s = MIN_TIME_S - QUICK_S - ANSWER_S
    left_s = max(options.seconds() - (time.monotonic() - begun) - ANSWER_S, least_s)
    workload, failure = _profile(
        options, near_path, run_path, left_s, say, stdout_to_stderr=stdout_to_stderr
    )
    data = report(ReportOptions(profile=workload, near=near, far=fars))
    write_atomically(page_path, render(data))
    return FirstAnswer(near, workload, data, failure)


def _check(options: TryOptions, executable: Path) -> None:
    """Refuse at once what cannot be answered."""
    from nearfar.base.units import parse_positive_seconds, parse_seconds
    from nearfar.profile.compiler import twin
    from nearfar.profile.sources.qemu_user import program_file
    from nearfar.program.executable import check_program

    check_program(executable)
    if not twin.is_instrumented(executable):
        program_file(executable)
    run_s = parse_seconds(options.after, "--after")
    if options.duration is not None:
        run_s += parse_positive_seconds(options.duration, "--duration")
        if options.driver is not None:
            raise CommandError(
                "give --driver or --duration, not both: a driver ends the run itself"
            )
    if 2 * run_s > options.seconds() - MIN_TIME_S:
        raise CommandError(
            f"the program runs twice for {run_s:g} s (--after and --duration), which leaves too "
            f"little of --time {options.time}: give --time {2 * run_s + MIN_TIME_S:.0f}s or more"
        )


def _profile(
    options: TryOptions,
    near: Path,
    output: Path,
    left_s: float,
    say: Callable[[str], None],
    *,
    stdout_to_stderr: bool,
) -> tuple[WorkloadProfile, str]:
    """Return the profile of a program that ends within its share of `left_s`."""
    from nearfar.profile.api import profile
    from nearfar.profile.compiler import twin
    from nearfar.profile.sources.source import UnobservedError
    from nearfar.profile.unobserved import profile_unobserved
    from nearfar.program.executable import find_executable

    instrumented = twin.is_instrumented(find_executable(options.command[0]))
    profiling = ProfileOptions(
        command=options.command,
        output=output,
        near=near,
        repetitions=1,
        driver=options.driver,
        duration=options.duration,
        after=options.after,
        sample=None if instrumented else f"{SAMPLE_SHARE * left_s:.1f}s",
        longest_s=None if options.duration is not None else PLAIN_SHARE * left_s,
    )
    try:
        workload, failure = profile(profiling, say, stdout_to_stderr=stdout_to_stderr)
        reason = _why_unknown(options, workload)
    except UnobservedError as error:
        reason = str(error)
    if reason:
        return profile_unobserved(profiling, reason, say, stdout_to_stderr=stdout_to_stderr)
    _refuse_unseen(options, workload)
    return workload, failure


def _why_unknown(options: TryOptions, workload: WorkloadProfile) -> str:
    """Return why nobody knows which share of the program's work was observed, or nothing."""
    from nearfar.profile.sources.qemu import SHARE_UNKNOWN

    if not any(SHARE_UNKNOWN in warning for warning in workload.warnings):
        return ""
    return (
        f"{options.command[0]} did not end under QEMU in its part of --time {options.time}, and "
        "came to no place by which to tell how much of its work was seen"
    )


def _refuse_unseen(options: TryOptions, workload: WorkloadProfile) -> None:
    """Refuse a program of whose work an unknown part was observed, or little."""
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
