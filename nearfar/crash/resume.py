"""What an exploration that did not end leaves beside its report, for another to go on with."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from nearfar.base.errors import CommandError
from nearfar.base.files import atomic_path
from nearfar.crash.bugs import Found
from nearfar.crash.explore import COUNTS, Progress
from nearfar.crash.record import Recorded
from nearfar.crash.room import copy_sparse
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


class Saved(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Of the schedule that was being explored; those before it are done."""

    version: int
    asked: list[str]
    """What must be the same when it goes on: the program, the checks, the seed."""
    schedule: int
    exit_status: str
    failed: bool
    record_s: float
    progress: dict[str, int | float]
    before: dict[str, int | float]
    """Of the schedules that are done."""
    bugs: list[_SavedBug]


def folder_of(output: Path) -> Path:
    """Return where it is kept."""
    return output.with_name(f"{output.stem}-resume")


def save(
    folder: Path,
    trace: Path,
    recorded: Recorded,
    *,
    asked: Sequence[str],
    schedule: int,
    progress: Progress,
    before: Progress,
    bugs: Sequence[Found],
) -> None:
    """Keep the trace and how far it is explored."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "trace"
    if trace != kept:
        copy_sparse(trace, kept)
        os.truncate(kept, used_bytes(kept))
    saved = Saved(
        version=_VERSION,
        asked=list(asked),
        schedule=schedule,
        exit_status=recorded.exit_status,
        failed=recorded.failed,
        record_s=recorded.seconds,
        progress=_counts(progress),
        before=_counts(before),
        bugs=[_SavedBug(**vars(found)) for found in bugs],
    )
    with atomic_path(folder / "state.json") as path:
        path.write_bytes(msgspec.json.encode(saved))


def load(folder: Path, asked: Sequence[str]) -> tuple[Saved, Recorded]:
    """Return what was kept, if it is of the same question."""
    path = folder / "state.json"
    try:
        saved = msgspec.json.decode(path.read_bytes(), type=Saved)
    except OSError as error:
        raise CommandError(
            f"there is nothing to go on with ({path}: {error.strerror}): leave out --resume"
        ) from error
    except msgspec.DecodeError as error:
        raise CommandError(f"{path} cannot be read ({error}): leave out --resume") from error
    if saved.version != _VERSION or saved.asked != list(asked):
        raise CommandError(
            f"{folder} is of another program, checker, seed or number of workers: leave out "
            "--resume, or give what was given then"
        )
    trace = read_trace(folder / "trace")
    return saved, Recorded(trace, saved.exit_status, saved.failed, saved.record_s)


def progress_of(counts: dict[str, int | float]) -> Progress:
    """Return what was kept of one."""
    return Progress(**counts)  # type: ignore[arg-type]


def found_of(saved: Saved) -> list[Found]:
    """Return the bugs."""
    return [
        Found(one.bug, one.done, one.begun, one.pages, one.expected, one.in_flight)
        for one in saved.bugs
    ]


def forget(folder: Path) -> None:
    """Remove it: everything is explored."""
    shutil.rmtree(folder, ignore_errors=True)


def _counts(progress: Progress) -> dict[str, int | float]:
    return progress.at_chunk or {name: getattr(progress, name) for name in COUNTS}
