"""Run nearfar's own verbs as a user would, and keep what they print."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS = 120.0
"""A verb that takes longer is ended and said so."""


@dataclass(frozen=True)
class ReplayedCommand:
    """One command and what it printed."""

    command: str
    exit_code: int | None
    """None: it took too long."""
    out: str
    error: str

    def lines(self, *starts: str) -> str:
        """Return the printed lines that begin with any of `starts`, blanks evened out."""
        lines = [" ".join(line.split()) for line in self.out.splitlines()]
        return "\n".join(line for line in lines if line.startswith(starts))

    def ended(self) -> str:
        """Return how it ended: the sentence on standard error, or a note on its time."""
        if self.exit_code is None:
            return f"took more than {SECONDS:.0f} s"
        last = self.error.strip().splitlines()
        return last[-1] if last else ""


def replay(arguments: Sequence[str], folder: Path) -> ReplayedCommand:
    """Run ``nearfar ARGUMENTS`` in `folder`."""
    command = shlex.join(["nearfar", *arguments])
    environment = os.environ | {"COLUMNS": "200", "TERM": "dumb"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "nearfar", *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
            cwd=folder,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return ReplayedCommand(command, None, "", "")
    return ReplayedCommand(command, done.returncode, done.stdout, done.stderr)
