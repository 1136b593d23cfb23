"""Counts a whole program by `perf stat`, if programs may use the machine's counters."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode
from nearfar.base.folders import owned_folder
from nearfar.documents.counters import CounterProfile
from nearfar_imports.counters.read import read_counters

EVENTS = ("task-clock", "instructions:u", "cycles:u", "LLC-load-misses:u", "LLC-store-misses:u")
"""Generic names that the kernel translates for the processor; few enough for four counters."""
MIN_INTERVAL_MS = 10
"""Shortest interval that perf accepts."""


def record(command: Sequence[str], interval_ms: int, to_stderr: bool) -> tuple[CounterProfile, int]:
    """Run `command`; return its counters and exit code, or refuse a machine without counters."""
    perf = shutil.which("perf")
    if perf is None:
        raise CommandError(
            "counting needs perf, which is not installed: apt-get install linux-perf",
            ExitCode.MACHINE_LACKS,
        )
    if interval_ms < MIN_INTERVAL_MS:
        raise CommandError(f"--interval must be at least {MIN_INTERVAL_MS} ms")
    if why := _refusal(perf):
        raise CommandError(
            f"programs cannot use this machine's hardware counters: {why}; count on another "
            "machine and import the file, or use `nearfar profile`, which needs none",
            ExitCode.MACHINE_LACKS,
        )
    with owned_folder("nearfar-perf-", None) as folder:
        output = folder / "counts.csv"
        words = [perf, "stat", "-x,", "-I", str(interval_ms), "-o", str(output)]
        words += ["-e", ",".join(EVENTS), "--", *command]
        done = subprocess.run(words, stdout=sys.stderr if to_stderr else None, check=False)
        if not output.exists() or not output.read_text().strip():
            raise CommandError(
                f"perf stat could not run {command[0]} (it ended with {done.returncode})",
                ExitCode.PROGRAM_FAILED,
            )
        profile = read_counters(output, "perf")
    profile.file = "perf stat"
    return profile, done.returncode


def _refusal(perf: str) -> str:
    """Return why cycles and instructions cannot be counted, or ""."""
    words = [perf, "stat", "-x,", "-e", "instructions:u,cycles:u", "true"]
    answer = subprocess.run(words, capture_output=True, text=True, check=False)
    if "<not supported>" in answer.stderr:
        return "perf reports that instructions and cycles are not supported (a virtual machine?)"
    if answer.returncode:
        level = ""
        with contextlib.suppress(OSError):
            level = Path("/proc/sys/kernel/perf_event_paranoid").read_text().strip()
        setting = "" if os.geteuid() == 0 else f", perf_event_paranoid is {level or 'unknown'}"
        return f"perf stat fails{setting}"
    return ""
