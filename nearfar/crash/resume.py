"""State of an exploration that the budget ended, saved next to its report to resume it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from nearfar.base.errors import CommandError
from nearfar.base.files import atomic_path
from nearfar.crash.bugs import FoundBug
from nearfar.crash.explore import COUNTS, Progress
from nearfar.crash.record import RecordedRun
from nearfar.crash.scratch import copy_sparse
from nearfar.crash.trace import read_trace, used_bytes
from nearfar.documents.crash_report import CrashBug, CrashExpected, CrashPage

_VERSION = 1


class _SavedBug(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    bug: CrashBug
    done: int
    begun: int
    pages: list[CrashPage]
    in_flight: tuple[int, ...] = ()
    expected: CrashExpected | None = None


class SavedExploration(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """State of the schedule that was being explored; all before it are done."""

    version: int
    asked: list[str]
    """Program, checks and seed, which must be the same when it is resumed."""
    schedule: int
    exit_status: str
    failed: bool
    record_s: float
    progress: dict[str, int | float]
    before: dict[str, int | float]
    """Counts of the schedules that are done."""
    bugs: list[_SavedBug]


def folder_of(output: Path) -> Path:
    """Return the folder of the state of a report."""
    return output.with_name(f"{output.stem}-resume")


def save(
    folder: Path,
    trace: Path,
    recorded: RecordedRun,
    *,
    identity: Sequence[str],
    schedule: int,
    progress: Progress,
    before: Progress,
    bugs: Sequence[FoundBug],
) -> None:
    """Save the trace and the progress of its exploration."""
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / "trace"
    if trace != copy:
        copy_sparse(trace, copy)
        os.truncate(copy, used_bytes(copy))
    saved = SavedExploration(
        version=_VERSION,
        asked=list(identity),
        schedule=schedule,
        exit_status=recorded.exit_status,
        failed=recorded.failed,
        record_s=recorded.seconds,
        progress=_counts(progress),
        before=_counts(before),
        bugs=[_SavedBug(**vars(bug)) for bug in bugs],
    )
    with atomic_path(folder / "state.json") as path:
        path.write_bytes(msgspec.json.encode(saved))


def load(folder: Path, identity: Sequence[str]) -> tuple[SavedExploration, RecordedRun]:
    """Return the saved state, if it is of the same program, checks and seed."""
    path = folder / "state.json"
    try:
        saved = msgspec.json.decode(path.read_bytes(), type=SavedExploration)
    except OSError as error:
        raise CommandError(
            f"there is no exploration to resume ({path}: {error.strerror}): leave out --resume"
        ) from error
    except msgspec.DecodeError as error:
        raise CommandError(f"cannot read {path} ({error}): leave out --resume") from error
    if saved.version != _VERSION or saved.asked != list(identity):
        raise CommandError(
            f"{folder} is of another program, checker, seed or number of workers: leave out "
            "--resume, or repeat the earlier command line"
        )
    trace = read_trace(folder / "trace")
    return saved, RecordedRun(trace, saved.exit_status, saved.failed, saved.record_s)


def progress_of(counts: dict[str, int | float]) -> Progress:
    """Return saved counts as a Progress."""
    return Progress(**counts)  # type: ignore[arg-type]


def bugs_of(saved: SavedExploration) -> list[FoundBug]:
    """Return the saved bugs."""
    return [FoundBug(**msgspec.structs.asdict(bug)) for bug in saved.bugs]


def forget(folder: Path) -> None:
    """Remove the state of an exploration that is complete."""
    shutil.rmtree(folder, ignore_errors=True)


def _counts(progress: Progress) -> dict[str, int | float]:
    return progress.at_chunk or {name: getattr(progress, name) for name in COUNTS}
