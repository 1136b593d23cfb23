"""State of an exploration that the budget ended, saved next to its report to resume it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from nearfar.base.errors import CommandError, NearfarError
from nearfar.base.journal import Journal
from nearfar.crash.bugs import FoundBug
from nearfar.crash.explore import COUNTS, Progress
from nearfar.crash.record import RecordedRun
from nearfar.crash.scratch import copy_sparse
from nearfar.crash.trace import read_trace, used_bytes


class SavedExploration(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """State of the schedule that was being explored; all earlier schedules are complete."""

    schedule: int
    exit_status: str
    failed: bool
    record_s: float
    progress: dict[str, int | float]
    before: dict[str, int | float]
    """Counts of the complete schedules."""
    bugs: list[FoundBug]


def folder_of(output: Path) -> Path:
    """Return the folder of the state of a report."""
    return output.with_name(f"{output.stem}-resume")


def save(
    folder: Path,
    trace: Path,
    recorded: RecordedRun,
    *,
    request: Mapping[str, str],
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
        schedule=schedule,
        exit_status=recorded.exit_status,
        failed=recorded.failed,
        record_s=recorded.seconds,
        progress=_counts(progress),
        before=_counts(before),
        bugs=list(bugs),
    )
    path = _journal_path(folder)
    try:
        journal = Journal.resume(path, SavedExploration, request)
    except NearfarError:
        journal = Journal.begin(path, SavedExploration, request)
    with journal:
        journal.append(saved)


def load(folder: Path, request: Mapping[str, str]) -> tuple[SavedExploration, RecordedRun]:
    """Return the last saved state, if it is of the same program, checks and seed."""
    with Journal.resume(_journal_path(folder), SavedExploration, request) as journal:
        states = list(journal.records())
    if not states:
        raise CommandError(f"{folder} holds no state of an exploration: leave out --resume")
    saved = states[-1]
    trace = read_trace(folder / "trace")
    return saved, RecordedRun(trace, saved.exit_status, saved.failed, saved.record_s)


def progress_of(counts: dict[str, int | float]) -> Progress:
    """Return saved counts as a Progress."""
    return Progress(**counts)  # type: ignore[arg-type]


def forget(folder: Path) -> None:
    """Remove the state of an exploration that is complete."""
    shutil.rmtree(folder, ignore_errors=True)


def _journal_path(folder: Path) -> Path:
    return folder / "state.jsonl"


def _counts(progress: Progress) -> dict[str, int | float]:
    return progress.at_chunk or {name: getattr(progress, name) for name in COUNTS}
