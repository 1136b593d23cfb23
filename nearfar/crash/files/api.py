"""`files_test`: records a program's file calls and explores what a power cut could leave."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.crash.api import CrashOutcome
from nearfar.crash.baseline import KnownBugs
from nearfar.crash.bugs import FoundBug
from nearfar.crash.checker import Check, parse
from nearfar.crash.files.checker import FileChecker
from nearfar.crash.files.contents import Contents
from nearfar.crash.files.explore import FileExploration
from nearfar.crash.files.images import MAX_DATA_BYTES, same_as
from nearfar.crash.files.log import FileLog
from nearfar.crash.files.models._registry import FileSystem
from nearfar.crash.files.operations import FileRun, Output, RunReader
from nearfar.crash.files.record import RecordedFiles, record_files
from nearfar.crash.judge import ExplorationBudget
from nearfar.crash.scratch import scratch
from nearfar.crash.symbols import TraceSymbols
from nearfar.documents.crash_report import CrashFileRun, CrashReport
from nearfar.documents.header import producer

Say = Callable[[str], None]


@dataclass(frozen=True)
class FilesRequest:
    """Program, check and limits of an exploration of files."""

    command: Sequence[str]
    """Program and arguments; ``{files}`` stands for the folder's path."""
    check: str
    folder: Path
    """The data before the run, which is copied; it may be absent."""
    models: Sequence[FileSystem]
    budget: ExplorationBudget
    timeout_s: float
    seed: int
    json: bool
    first: bool = False
    """Stop at the first bug that the baseline does not name."""
    baseline: CrashReport | None = None


def files_test(request: FilesRequest, say: Say) -> CrashOutcome:
    """Record and explore; Ctrl-C ends the exploration with the bugs found so far."""
    if not any("{files}" in word for word in request.command):
        raise CommandError(
            "the program does not get the folder's path: put {files} among its arguments"
        )
    if "{files}" not in request.check:
        raise CommandError(
            "the checker does not say where the folder's path goes: --check 'CHECK {files}'"
        )
    parse(request.check.replace("{files}", "{pool}"))  # refuses a bad check before the program runs
    begun_s = time.monotonic()
    with scratch() as folder:
        data = folder / "files"
        _copy(request.folder, data)
        reader = RunReader(data)
        command = [word.replace("{files}", str(data)) for word in request.command]
        recorded = record_files(command, data, folder / "log", json=request.json)
        run = reader.read(recorded.log)
        say(f"recorded {len(run.operations)} operations on files in {recorded.seconds:.1f} s")
        _check_seen(run, recorded, data, request.command[0])
        symbols = TraceSymbols(recorded.log)
        is_new = KnownBugs(request.baseline).is_new
        with contextlib.closing(FileChecker(request.check, folder, request.timeout_s)) as checker:
            exploration = FileExploration(run, request.models, checker, symbols, request.seed)
            _check_accepts(run, recorded, checker)
            exploration.run(request.budget, lambda bug: request.first and is_new(bug), begun_s)
    bugs = [found_bug for found_bug in exploration.bugs.all() if is_new(found_bug.bug)]
    for number, found_bug in enumerate(bugs, 1):
        found_bug.bug.id = number
    report = _report(request, run, recorded, exploration, bugs)
    interrupted = exploration.progress.ended == "interrupted"
    return CrashOutcome(report, bugs, interrupted, [Check(request.check)])


def _copy(source: Path, target: Path) -> None:
    if not source.exists():
        target.mkdir()
        return
    if not source.is_dir():
        raise CommandError(f"--files {source} is no folder: name the folder that holds the data")
    size = sum(path.lstat().st_size for path in source.rglob("*") if path.is_file())
    if size > MAX_DATA_BYTES:
        raise CommandError(
            f"{source} has {size >> 20} MiB, more than the limit of {MAX_DATA_BYTES >> 20} MiB: "
            "explore the program on less data"
        )
    try:
        shutil.copytree(source, target, symlinks=True)
    except (OSError, shutil.Error) as error:
        raise CommandError(f"cannot copy {source}: {error}") from error


def _check_seen(run: FileRun, recorded: RecordedFiles, data: Path, program: str) -> None:
    """Refuse a run whose log does not explain its final files."""
    missing = ", ".join(sorted(recorded.log.unrecorded))
    if missing:
        raise NearfarError(
            f"cannot judge {program}: the log misses {missing}", ExitCode.PROGRAM_FAILED
        )
    if recorded.full:
        raise NearfarError(
            f"cannot judge {program}: it wrote more than the log holds, or than {data.parent} has "
            "room for; let it do less, or free some space there",
            ExitCode.PROGRAM_FAILED,
        )
    if not run.operations:
        ended = f"; it {recorded.exit_status}" if recorded.failed else ""
        raise NearfarError(
            f"{program} changed nothing in the folder given as {{files}}{ended}: give it that path",
            ExitCode.PROGRAM_FAILED,
        )
    path = same_as(Contents(run).image(len(run.operations), {}), data)
    if path:
        raise NearfarError(
            f"cannot judge {program}: {path} is not what its recorded calls made; a process that "
            "was left behind, or a mapping that became writable later, may have changed it",
            ExitCode.PROGRAM_FAILED,
        )


def _check_accepts(run: FileRun, recorded: RecordedFiles, checker: FileChecker) -> None:
    printed = b"".join(event.data for event in run.events if isinstance(event, Output))
    verdict = checker.judge(Contents(run).image(len(run.operations), {}), printed)
    if not verdict.symptom:
        return
    lines = verdict.output.strip().splitlines()
    output = f": {lines[-1]}" if lines else ""
    ended = f"; the program itself {recorded.exit_status}" if recorded.failed else ""
    raise NearfarError(
        f"the checker refuses the files as the program left them, without any crash "
        f"({verdict.symptom}{output}{ended}); fix the checker or the program first",
        ExitCode.PROGRAM_FAILED if recorded.failed else ExitCode.WRONG_USE,
    )


def _warnings(run: FileRun, log: FileLog) -> list[str]:
    warnings = []
    if not run.syncs:
        warnings.append("the program never made anything durable: no fsync, msync or O_SYNC")
    if log.refused:
        warnings.append(
            f"{', '.join(sorted(log.refused))} cannot be recorded and was refused (ENOSYS), so "
            "that the program uses ordinary calls"
        )
    if log.outside:
        more = f" and {len(log.outside) - 3} more" if len(log.outside) > 3 else ""
        warnings.append(
            f"it also wrote {', '.join(log.outside[:3])}{more}, outside --files: those files were "
            "not explored"
        )
    return warnings


def _report(
    request: FilesRequest,
    run: FileRun,
    recorded: RecordedFiles,
    exploration: FileExploration,
    bugs: Sequence[FoundBug],
) -> CrashReport:
    progress = exploration.progress
    warnings = _warnings(run, recorded.log)
    if progress.ended == "interrupted":
        warnings.append("interrupted: the report has the bugs found so far")
    return CrashReport(
        producer=producer(),
        program=list(request.command),
        check=request.check,
        exit_status=recorded.exit_status,
        pool_bytes=sum(
            len(file.content or b"") for file in Contents(run).image(len(run.operations), {})
        ),
        eadr=False,
        seed=request.seed,
        operations=0,
        stores=0,
        flushes=0,
        fences=0,
        points=progress.points,
        points_explored=progress.points_explored,
        store_sites=0,
        fence_sites=0,
        states=progress.states,
        duplicates=progress.duplicates,
        complete=not progress.ended,
        ended=progress.ended,
        known=len(exploration.bugs.all()) - len(bugs),
        record_s=recorded.seconds,
        judge_s=progress.judge_s,
        states_per_s=progress.states / progress.wall_s if progress.wall_s else 0.0,
        bugs=[found_bug.bug for found_bug in bugs],
        lints=[],
        warnings=warnings,
        files=CrashFileRun(
            models=[model.name for model in request.models],
            operations=len(run.operations),
            syncs=run.syncs,
            outputs=run.outputs,
        ),
    )
