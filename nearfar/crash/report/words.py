"""Sentences for bugs and lints, the same in every form of the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import ExitCode
from nearfar.base.units import format_count
from nearfar.crash.lints._registry import LINTS
from nearfar.crash.symbols import name_of, user_frame
from nearfar.documents.crash_report import (
    CrashBug,
    CrashCode,
    CrashLine,
    CrashLint,
    CrashObject,
    CrashReport,
)
from nearfar.documents.workload import Frame

_MAX_DRAWN_STORES = 64
_SOURCE_AROUND = 2
"""Lines of source before and after the one that stored."""
_MAX_MISSED_LINES = 5
"""Lines named in a terminal; the report has more."""


def bug_text(bug: CrashBug) -> str:
    """Return a bug in one sentence."""
    output = f": {bug.said.splitlines()[-1]}" if bug.said else ""
    cause = f" ({bug.cause})" if bug.cause else ""
    return f"after a power cut the checker ends with {bug.symptom}{output}{cause}"


def is_slow(lint: CrashLint) -> bool:
    """Return whether a lint concerns only lost time."""
    return LINTS.get(lint.kind).severity == "note"


def lint_text(lint: CrashLint) -> str:
    """Return a lint in one sentence."""
    parts = [f"{lint.kind}: {name_of(lint.frames)}"]
    parts += [object_text(lint.object)] if lint.object is not None else []
    parts += [lint.note] if lint.note else []
    parts += ["once" if lint.times == 1 else f"{lint.times} times"]
    return ", ".join(parts)


def code_text(code: CrashCode) -> str:
    """Describe how many of the program's lines the run reached, and the first that it missed."""
    reached = f"{code.reached} of {code.lines} lines that may store to the pool or persist it did"
    missed = [f"{m.function} {m.file.rsplit('/', 1)[-1]}:{m.line}" for m in code.missed]
    more = len(missed) - _MAX_MISSED_LINES
    others = f" and {more} more" if more > 0 else ""
    return f"{reached}; not {', '.join(missed[:_MAX_MISSED_LINES])}{others}" if missed else reached


def object_text(described: CrashObject) -> str:
    """Return a byte of an object in words."""
    if described.what in ("log", "heap"):
        return f"libpmemobj's own {described.what}"
    is_root = described.what == "root"
    name = "the root" if is_root else f"an object of type {described.type_number}"
    return f"byte {described.byte} of {name} ({described.size} bytes at {described.offset:#x})"


def verdict_text(report: CrashReport) -> str:
    """Return the verdict in a few words."""
    if report.bugs:
        return format_count(len(report.bugs), "bug")
    if report.undecided:
        return f"cannot judge {format_count(len(report.undecided), 'failure')}"
    return "no bugs" if report.complete else "nothing found, not finished"


def exit_code(report: CrashReport) -> ExitCode:
    """Return the verb's exit code for a report."""
    if report.bugs:
        return ExitCode.FOUND
    return ExitCode.DONE if report.complete and not report.undecided else ExitCode.UNFINISHED


def unfinished_text(report: CrashReport) -> str:
    """Return why the verdict does not cover everything, with advice, or ""."""
    sentences = []
    if report.unseen and report.undecided:
        sentences.append(
            f"cannot judge: {report.unseen}; undecided failures are bugs only if no flush or "
            "fence was missed"
        )
    left = report.points - report.points_explored
    if report.ended in ("states", "seconds"):
        resumes = ", or --resume" if report.resumable and not report.files else ""
        sentences.append(
            f"not finished: the limit of {report.ended} ended it with {left} failure points "
            f"untouched; give more --{report.ended}{resumes}"
        )
    elif report.ended == "first bug":
        sentences.append("stopped at the first bug, as --first asks")
    return "; ".join(sentences)


def fingerprint(name: str, frame: Frame | None) -> str:
    """Return a name without line numbers, which change when code above is edited."""
    if frame is None:
        return name
    return f"{name} in {frame.function} of {frame.file.rsplit('/', 1)[-1]}"


def lines_of(bug: CrashBug) -> list[CrashLine]:
    """Return the lines of a bug, each once, even one that is partly in memory."""
    return [*bug.survived, *(line for line in bug.lost if line not in bug.survived)]


def timeline(line: CrashLine) -> str:
    """Return a line's stores in program order, those that had reached memory filled."""
    shown = min(line.stores, _MAX_DRAWN_STORES)
    drawn = "".join("\u25a0" if store < line.survived else "\u25a1" for store in range(shown))
    more = f" and {line.stores - shown} more" if line.stores > shown else ""
    flushed = f", flushed up to store {line.flushed}" if line.flushed else ", never flushed"
    return f"{line.offset:#8x} {drawn}{more}  {name_of(line.frames)}{flushed}"


def source_of(frames: Sequence[Frame]) -> list[str]:
    """Return the source around the program's line of a stack, with that line marked, or ""."""
    frame = user_frame(frames)
    if frame is None or not frame.line:
        return []
    try:
        lines = Path(frame.file).read_text(errors="replace").splitlines()
    except OSError:
        return []
    first = max(frame.line - _SOURCE_AROUND, 1)
    numbered = enumerate(lines[first - 1 : frame.line + _SOURCE_AROUND], first)
    return [f"{'>' if n == frame.line else ' '} {n:5} {text}" for n, text in numbered]


def place_of(bug: CrashBug) -> Frame | None:
    """Return the line to read first: of a lost store, a surviving one or the fence."""
    for line in [*bug.lost, *bug.survived]:
        frame = user_frame(line.frames)
        if frame is not None and frame.line:
            return frame
    return user_frame(bug.frames)
