"""What bugs and lints are called."""

from __future__ import annotations

from nearfar.crash.sites import name_of, users
from nearfar.documents.crash_report import CrashBug, CrashCode, CrashLint, CrashObject, LintKind
from nearfar.documents.workload import Frame

MEANINGS: dict[LintKind, str] = {
    "never flushed": "A store that nothing wrote back before the program ended.",
    "never fenced": "A store that was flushed, and no fence waited for it.",
    "flushed twice": "A flush of bytes that had been flushed and not stored to since.",
    "flushed unmodified": "A flush of bytes that the program had not stored to.",
    "store without snapshot": "A store in a transaction that does not undo it: TX_ADD is missing.",
    "snapshot too short": "A snapshot that ends before the store does.",
    "snapshot never used": "A snapshot of what no transaction changed.",
    "snapshot of volatile data": "A snapshot of memory that is not in the pool.",
    "moved without both snapshots": "A value goes from one object to another, and one of both is "
    "not in the transaction's log.",
    "volatile pointer": "An address of the heap, a stack or a library, stored in the pool.",
    "layout changed": "The pool was made for another layout: name, root or size of a type.",
    "root overwritten": "Nothing leads from the root to what was stored.",
    "freed handle kept": "A transaction stores the handle of an object that it frees.",
    "leaked": "An allocation that nothing leads to any more, without any crash.",
    "leaked by a crash": "An allocation that nothing leads to after recovery.",
    "read but never persisted": "Recovery reads a store that nothing made durable.",
}
SLOW: frozenset[LintKind] = frozenset(
    {"flushed twice", "flushed unmodified", "snapshot never used"}
)
"""What costs time and no data."""
_MOST_MISSED = 5
"""Lines named in a terminal; the report has more."""


def bug_text(bug: CrashBug) -> str:
    """Return a bug in one sentence."""
    said = f": {bug.said.splitlines()[-1]}" if bug.said else ""
    cause = f" ({bug.cause})" if bug.cause else ""
    return f"after a power cut the checker ends with {bug.symptom}{said}{cause}"


def lint_text(lint: CrashLint) -> str:
    """Return a lint in one sentence."""
    parts = [f"{lint.kind}: {name_of(lint.frames)}"]
    parts += [object_text(lint.object)] if lint.object is not None else []
    parts += [lint.note] if lint.note else []
    parts += ["once" if lint.times == 1 else f"{lint.times} times"]
    return ", ".join(parts)


def code_text(code: CrashCode) -> str:
    """Return what the run came to of the program's lines, and the first that it did not."""
    reached = f"{code.reached} of {code.lines} lines that may store to the pool or persist it did"
    missed = [f"{one.function} {one.file.rsplit('/', 1)[-1]}:{one.line}" for one in code.missed]
    more = len(missed) - _MOST_MISSED
    others = f" and {more} more" if more > 0 else ""
    return f"{reached}; not {', '.join(missed[:_MOST_MISSED])}{others}" if missed else reached


def object_text(one: CrashObject) -> str:
    """Return what a byte belongs to."""
    what = "the root" if one.what == "root" else f"an object of type {one.type_number}"
    return f"byte {one.byte} of {what} ({one.size} bytes at {one.offset:#x})"


def place_of(bug: CrashBug) -> Frame | None:
    """Return the line that a person should look at first: of a store that was lost, that was kept,
    of the fence."""
    for line in [*bug.lost, *bug.survived]:
        frame = users(line.frames)
        if frame is not None and frame.line:
            return frame
    return users(bug.frames)
