"""The runs behind a profile: plain, instrumented, and plain again, each in a temporary folder."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode
from nearfar.base.files import file_digest
from nearfar.base.folders import memory_folder, owned_folder
from nearfar.base.terminate import exit_when_terminated
from nearfar.base.units import format_ns
from nearfar.profile.deadline import RunDeadline
from nearfar.profile.modules import instrumented_libraries
from nearfar.profile.run_file import ProcessFile, read_run
from nearfar.profile.slices import slicing
from nearfar.profile.sources.compiled import CompiledSource
from nearfar.profile.sources.source import AccessSource, SourceReport, UnobservedError
from nearfar.program.control import Control
from nearfar.program.executable import Build, find_executable
from nearfar.program.launch import Job, RunOutcome, run_job, too_long
from nearfar.program.phases import ProfiledRun, phase_times

LIVE_INTERVAL_US = 10_000
"""First interval between samples of live bytes, us; it doubles when the table is full."""

MIN_BUSY_SHARE = 0.05
"""Least ratio of CPU time to wall time of a program that computes, even beside many others. Below
it, the program waits as a server does."""

FULL_PROCESSES = 4
"""Number of processes whose full tables must fit in memory if the run's folder is there. Each
process has a file, most of which stays untouched."""
OTHER_FILES_BYTES = 16 << 20
"""Space in the run's folder for files other than tables; QEMU's ring of events needs most of it."""


@dataclass(frozen=True)
class ProfileRequest:
    """The program to profile, and the settings of its runs."""

    job: Job
    repetitions: int
    cache_bytes: int
    cache_ways: int
    cache_origin: str
    memory_bytes: int
    plain: Path | None = None
    size: dict[str, float] = field(default_factory=dict)
    slices: bool = False
    """Whether to cut the traced run into slices, from which phases are detected."""
    split_sizes: bool = False
    """Whether to split sites by the sizes of their blocks."""
    source: AccessSource = field(default_factory=CompiledSource)
    deadline: RunDeadline | None = None
    """The end of all runs: longer runs are refused, or sampled in part. None: no limit."""

    def folder(self) -> str | None:
        """Return where the run's folder is: in memory if its processes' files fit there."""
        return memory_folder(FULL_PROCESSES * self.memory_bytes + OTHER_FILES_BYTES)


@dataclass(frozen=True)
class GatheredRuns:
    """Results of all runs of one request."""

    executable: Path
    plain: Path
    plain_digest: str
    plain_runs: list[ProfiledRun]
    instrumented: ProfiledRun
    files: list[ProcessFile]
    phase_numbers: dict[int, str]
    lost_marks: int
    lost_processes: int
    message: str
    instrumented_in_plain: list[str]
    """Libraries that were instrumented in the plain runs too."""
    seen: SourceReport = field(default_factory=SourceReport)
    """Shares, counts and caveats from the source of accesses."""


def gather_runs(request: ProfileRequest, say: Callable[[str], None]) -> GatheredRuns:
    """Run plain, instrumented, plain, plain ...: drift of the machine affects both."""
    # SIGTERM ends the program and removes the folders, as Ctrl-C does.
    exit_when_terminated()
    name = request.job.command[0]
    executable = find_executable(name)
    with owned_folder("nearfar-plain-", None) as twin_folder:
        plain = request.source.plain(executable, request.plain, twin_folder)
        say(f"run 1 of {request.repetitions + 1}: plain")
        runs = [run_plain(request, plain)]
        twins = {path.name for path in twin_folder.iterdir()}
        source, counted = _within_deadline(request, runs[0].outcome)
        say(f"run 2 of {request.repetitions + 1}: {source.run_as}{source.how_long}")
        with owned_folder("nearfar-run-", request.folder()) as folder:
            control = _control(request, folder)
            with slicing(control, runs[0].outcome.wall_ns, wanted=request.slices):
                outcome, seen = _observed(
                    source, counted, executable, plain, folder, by_itself=runs[0]
                )
            instrumented = ProfiledRun(outcome, phase_times(control, outcome))
            page = control.page
            files = read_run(folder)
            gathered = GatheredRuns(
                executable=executable,
                plain=plain.executable if request.plain else executable,
                plain_digest=file_digest(plain.executable),
                plain_runs=runs,
                instrumented=instrumented,
                files=files,
                phase_numbers=_phase_numbers(control),
                lost_marks=int(page.lost_marks),
                lost_processes=int(page.lost_processes),
                message=page.message.decode(errors="replace"),
                instrumented_in_plain=_without_twin(request, executable, files, twins)
                if request.source.is_built_in
                else [],
                seen=seen,
            )
            control.close()
        _check_gathered(gathered, name)
        _check_same_end(runs[0].outcome, outcome, name)
        _check_seen(request, seen, runs[0], outcome)
        once = outcome.failed or runs[0].outcome.failed or seen.timed is not None
        for repetition in range(2, 1 if once else request.repetitions + 1):
            say(f"run {repetition + 1} of {request.repetitions + 1}: plain")
            runs.append(run_plain(request, plain))
            _check_same_end(runs[-1].outcome, outcome, name)
    return gathered


def _within_deadline(request: ProfileRequest, by_itself: RunOutcome) -> tuple[AccessSource, Job]:
    """Return source and job of the observed run, limited to the time that the plain run left."""
    if request.deadline is None:
        return request.source, request.job
    job = replace(request.job, longest_s=request.deadline.counted_s())
    return request.source.within(request.deadline, job, by_itself), job


def _observed(
    source: AccessSource,
    job: Job,
    executable: Path,
    plain: Build,
    folder: Path,
    *,
    by_itself: ProfiledRun,
) -> tuple[RunOutcome, SourceReport]:
    """Run the program under the source of accesses.

    Raises UnobservedError if the program fails in a way in which its plain run `by_itself` did not:
    near time would then include work that was not observed.
    """
    native = by_itself.outcome
    try:
        outcome, seen = source.run(job, executable, plain, folder)
    except UnobservedError as error:
        if native.failed:
            raise CommandError(str(error), error.exit_code) from error
        error.plain_run = by_itself
        raise
    differs = outcome.failed and outcome.finished and outcome.status != native.status
    if source.times_parts and differs:
        raise UnobservedError(
            f"{job.command[0]} {outcome.status} {source.run_as} after "
            f"{format_ns(outcome.wall_ns)}, and {native.status} by itself",
            ExitCode.MACHINE_LACKS,
            by_itself,
        )
    return outcome, seen


def _check_seen(
    request: ProfileRequest, seen: SourceReport, by_itself: ProfiledRun, observed: RunOutcome
) -> None:
    """Refuse an observed run that ended too early to know its share of the program's work."""
    name, ends_itself = request.job.command[0], request.job.ends_itself
    if request.deadline is None or not ends_itself or seen.timed is not None:
        return
    native = by_itself.outcome
    check_busy(name, native)
    if not native.finished:
        raise UnobservedError(
            f"{name} had not ended after {format_ns(native.wall_ns)}, nor came to any place by "
            "which to tell how much of its work was seen (a longer --time may help)",
            ExitCode.MACHINE_LACKS,
            by_itself,
        )
    if not seen.share_known:
        raise UnobservedError(
            f"{name} did not end under QEMU within {format_ns(observed.wall_ns)}, and reached no "
            "place in the code that shows how much of its work was observed",
            ExitCode.MACHINE_LACKS,
            by_itself,
        )


def check_busy(name: str, by_itself: RunOutcome) -> None:
    """Refuse a program that neither ended in its share of the time nor computed."""
    if not by_itself.finished and by_itself.cpu_ns < MIN_BUSY_SHARE * by_itself.wall_ns:
        raise too_long(name, by_itself.wall_ns / 1e9)


def run_plain(
    request: ProfileRequest, build: Build, *, may_be_stopped: bool = False
) -> ProfiledRun:
    """Run the plain build within the request's deadline.

    A program that runs longer than its share of the time is stopped if the source observes parts of
    runs, or with `may_be_stopped`. Otherwise it is refused.
    """
    with run_folder(request) as (folder, control):
        job = request.job
        if request.deadline is not None:
            in_part = (request.source.times_parts or may_be_stopped) and job.ends_itself
            longest_s = request.deadline.plain_s(in_part=in_part)
            job = replace(job, longest_s=longest_s)
            if in_part:  # later parts of the program are not sampled
                job = job.ending_after(longest_s, f"{longest_s:.1f} s")
        outcome = run_job(job, build.executable, build.environment, folder)
        cut_off = request.job.duration_s is None and job.duration_s is not None
        if cut_off and not outcome.finished:  # it may ignore SIGTERM, or exit 1 after it
            outcome = replace(outcome, failed=False)
        return ProfiledRun(outcome, phase_times(control, outcome))


@contextlib.contextmanager
def run_folder(request: ProfileRequest) -> Iterator[tuple[Path, Control]]:
    """Yield the temporary folder of one run, and its control."""
    with owned_folder("nearfar-run-", request.folder()) as folder:
        control = _control(request, folder)
        try:
            yield folder, control
        finally:
            control.close()


def prepare_folder(
    folder: Path, cache_bytes: int, cache_ways: int, memory_bytes: int, counting: bool = True
) -> Control:
    """Prepare `folder` for an instrumented program that is started with NEARFAR_RUN_DIR."""
    control = Control.create(folder)
    page = control.page
    page.memory_bytes = memory_bytes
    page.cache_bytes = cache_bytes
    page.cache_ways = cache_ways
    page.live_interval_us = LIVE_INTERVAL_US
    page.counting = int(counting)
    return control


def _control(request: ProfileRequest, folder: Path) -> Control:
    size = (request.cache_bytes, request.cache_ways, request.memory_bytes)
    control = prepare_folder(folder, *size, counting=request.job.after_s == 0)
    control.page.split_sizes = int(request.split_sizes)
    return control


def _phase_numbers(control: Control) -> dict[int, str]:
    names = {
        number: row.name.decode(errors="replace") for number, row in enumerate(control.phases())
    }
    return {**names, 255: "other phases"} if len(names) > 250 else names


def _check_gathered(gathered: GatheredRuns, name: str) -> None:
    """Refuse a run that counted nothing."""
    counted = any(len(file.counters) for file in gathered.files)
    if counted:
        return
    outcome = gathered.instrumented.outcome
    if gathered.message:
        raise CommandError(
            f"the tables of {name} could not be made: {gathered.message}", ExitCode.MACHINE_LACKS
        )
    if outcome.failed:
        raise CommandError(
            f"{name} {outcome.status} after {format_ns(outcome.wall_ns)}, before any access was "
            "counted; nothing was saved",
            ExitCode.PROGRAM_FAILED,
        )
    if any(file.header["wrong_modules"] for file in gathered.files):
        raise CommandError(f"{name} was built by another version of nearfar: build it again")
    if not gathered.files:
        raise CommandError(
            f"{name} ran, but no instrumented code in it: build it with "
            'CC="nearfar cc" and CXX="nearfar c++"'
        )


def _without_twin(
    request: ProfileRequest, executable: Path, files: list[ProcessFile], twins: set[str]
) -> list[str]:
    """Return the instrumented libraries that had no plain twin in the plain runs."""
    if request.plain is not None and request.plain.resolve() != executable:
        return []
    libraries = instrumented_libraries(files, executable)
    return [path.name for path in libraries if path.name not in twins]


def _check_same_end(plain: RunOutcome, instrumented: RunOutcome, name: str) -> None:
    """Refuse a plain run that failed in another way than the instrumented run."""
    if plain.failed and plain.status != instrumented.status:
        raise CommandError(
            f"the plain build of {name} {plain.status} after {format_ns(plain.wall_ns)}, but the "
            f"instrumented one {instrumented.status}: there is no near time for the counted run, "
            "and nothing was saved",
            ExitCode.PROGRAM_FAILED,
        )
