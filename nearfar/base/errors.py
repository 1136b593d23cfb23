"""The two error classes and the exit codes of every verb; they are caught in one place, `main`."""

from __future__ import annotations

import difflib
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes, the same for all verbs."""

    DONE = 0
    FOUND = 1
    """It found something: a crash, a comparison over its limit, a failed validation."""
    WRONG_USE = 2
    """The command line or a file given on it is wrong."""
    MACHINE_LACKS = 3
    """This machine lacks something: a tool, a right, disk space, a memory."""
    PROGRAM_FAILED = 4
    """The program under test failed."""
    UNFINISHED = 5
    """It found nothing, and its budget ended, or its view was blocked, before it saw everything."""
    INTERRUPTED = 130
    """Ctrl-C, as shells report it."""


class NearfarError(Exception):
    """An error that the user can fix; its message says what failed, on what, and what to do."""

    exit_code: ExitCode = ExitCode.WRONG_USE

    def __init__(self, message: str, exit_code: ExitCode | None = None) -> None:
        super().__init__(message)
        if exit_code is not None:
            self.exit_code = exit_code


class CommandError(NearfarError):
    """An error raised by a verb itself, with the exit code of the verb."""

    def __init__(self, message: str, exit_code: ExitCode = ExitCode.WRONG_USE) -> None:
        super().__init__(message, exit_code)


def nearest(word: str, valid: list[str]) -> str:
    """Return ``; did you mean 'x'?`` for the valid word nearest to `word`, or nothing."""
    match = difflib.get_close_matches(word, valid, n=1, cutoff=0.5)
    return f"; did you mean {match[0]!r}?" if match else ""
