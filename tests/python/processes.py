"""Waits until a program that a test started runs."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

from patience import patience


def wait_until_it_runs(process: subprocess.Popen[Any], last_word: str) -> None:
    """Wait until a descendant of `process`, its group's leader, runs with that last argument."""
    end = time.monotonic() + patience(120)
    while not _runs(process.pid, last_word):
        assert process.poll() is None, "it ended before"
        assert time.monotonic() < end
        time.sleep(0.05)


def _runs(group: int, last_word: str) -> bool:
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            behind_name = (entry / "stat").read_text().rpartition(")")[2].split()
            words = (entry / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        except OSError:
            continue  # it ended meanwhile
        in_group = int(behind_name[2]) == group and int(entry.name) != group
        if in_group and words[-1] == last_word.encode():
            return True
    return False
