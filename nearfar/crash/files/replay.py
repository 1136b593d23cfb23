"""Runs a checker on the files of a bug file."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.crash.checker import CheckerVerdict
from nearfar.crash.files.checker import FileChecker
from nearfar.crash.files.images import unpacked, write_image
from nearfar.crash.scratch import scratch
from nearfar.documents.crash_report import CrashFile, CrashState


def replay_files(
    state: CrashState, files: Sequence[CrashFile], *, check: str | None, keep: Path | None
) -> CheckerVerdict:
    """Rebuild the files, also in the new folder `keep` if given, and run the checker on them."""
    image = unpacked(files)
    if keep is not None:
        if keep.exists():
            raise CommandError(f"--keep {keep} exists: name a folder that does not exist yet")
        write_image(image, keep)
    with (
        scratch() as folder,
        contextlib.closing(FileChecker(check or state.check, folder, state.timeout_s)) as checker,
    ):
        return checker.judge(image, state.printed)
