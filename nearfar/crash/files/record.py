"""Runs the program once under the recorder of file calls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.crash.files.log import FileLog, read_log
from nearfar.native_files import native_file
from nearfar.program.executable import find_executable, gains_rights

PROGRAM = "nearfar_crash_files"
_CANNOT_START = 125
"""Exit code of the recorder."""
_MAX_LOG_BYTES = 1 << 30
"""Maximum size of the log; half of the free space if that is less."""
_FULL = ".full"
"""Suffix of an empty file that native/crash/files/main.cpp makes when a record did not fit."""


@dataclass(frozen=True)
class RecordedFiles:
    """One run of the program."""

    log: FileLog
    exit_status: str
    failed: bool
    seconds: float
    full: bool
    """Whether the log reached its limit."""


def record_files(command: Sequence[str], folder: Path, log: Path, *, json: bool) -> RecordedFiles:
    """Run `command` and log its calls on files in `folder`; `json`: its output goes to stderr.

    Recorder and program share one CPU: one always waits for the other.
    """
    executable = find_executable(command[0])
    if gains_rights(executable.stat()):
        raise CommandError(
            f"{executable} runs with other rights (set-user-id), which it loses while it is "
            "traced: record as the user it becomes"
        )
    space = os.statvfs(log.parent)
    limit = min(_MAX_LOG_BYTES, space.f_bavail * space.f_frsize // 2)
    words = [native_file(PROGRAM), log, folder, str(limit), executable, *command[1:]]
    start_s = time.monotonic()
    code = _run([str(word) for word in words], json=json)
    seconds = time.monotonic() - start_s
    content = read_log(log) if log.exists() else FileLog()
    if code == _CANNOT_START and not content.calls:
        raise NearfarError(
            f"{command[0]} cannot be recorded here, as the line above says; containers need the "
            "right to trace their own processes (--cap-add SYS_PTRACE)",
            ExitCode.MACHINE_LACKS,
        )
    status = f"exited {code}" if code <= 128 else f"was killed by {_signal(code - 128)}"
    full = log.with_name(log.name + _FULL)
    recorded = RecordedFiles(content, status, code != 0, seconds, full.exists())
    log.unlink()
    full.unlink(missing_ok=True)
    return recorded


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _run(words: Sequence[str], *, json: bool) -> int:
    """Run to the end; the kernel kills the program if the recorder is killed."""
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    try:
        # A pipe of its own tells what the program prints from what its children print elsewhere.
        process = subprocess.Popen(words, stdout=subprocess.PIPE)
    finally:
        os.sched_setaffinity(0, cpus)
    assert process.stdout is not None
    printed = sys.stderr if json else sys.stdout
    try:
        with process.stdout:
            while piece := os.read(process.stdout.fileno(), 1 << 16):
                printed.write(piece.decode(errors="replace"))
        printed.flush()
        return process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
