"""Measures a file of rows in a process of its own.

`python -m benchmarks.child MODULE DESCRIPTOR PARENT`: each row goes to the descriptor as a line of
JSON as soon as it is measured, then why the file ended early, if it did. A file that hangs, or
whose libraries die, thus leaves the others. If the process PARENT is killed, this one is
interrupted, and whatever it started ends with it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from benchmarks import END_VARIABLE, Row
from benchmarks.plan import PATIENCE
from nearfar.base.terminate import end_with_parent

LOOK_S = 60.0
PATIENCE_S = 10.0
"""Time to clean up after an interruption, before the process is killed."""


def main(module: str, descriptor: int) -> int:
    """Measure; the exit code is 1 if the file ended early."""
    with os.fdopen(descriptor, "wb", buffering=0) as out:
        try:
            for row in importlib.import_module(module).rows():
                out.write(msgspec.json.encode(row) + b"\n")
        except Exception as problem:  # whatever it is, it is written down beside the rows
            out.write(msgspec.json.encode(f"{type(problem).__name__}: {problem}") + b"\n")
            return 1
    return 0


def measured(
    module: str, seconds: float | None, checkout: Path | None = None
) -> tuple[list[Row], str]:
    """Return the rows of a module, and why it ended early (empty: it did not).

    After `seconds` it should begin no further part (`benchmarks.in_time`); after `PATIENCE` times
    that it is stopped. `checkout`: another built checkout, whose rows are measured.
    """
    limit_s = math.inf if seconds is None else PATIENCE * seconds
    limits = {} if seconds is None else {END_VARIABLE: str(time.monotonic() + seconds)}
    reading, writing = os.pipe()
    root = checkout or Path(__file__).parents[1]
    paths = [path for path in (os.environ.get("PYTHONPATH"),) if path]
    python = checkout / ".venv/bin/python" if checkout else sys.executable
    child = subprocess.Popen(
        [python, "-m", "benchmarks.child", module, str(writing), str(os.getpid())],
        pass_fds=[writing],
        cwd=checkout,
        env={**os.environ, **limits, "PYTHONPATH": os.pathsep.join([str(root), *paths])},
        start_new_session=True,
    )
    os.close(writing)
    try:
        content, ended = _until_end(reading, time.monotonic() + limit_s)
        if ended:
            _wait(child)
    finally:
        os.close(reading)
        _end(child)
    rows, error = list[Row](), ""
    for line in content.splitlines():
        if isinstance(problem := json.loads(line), str):
            error = problem
        else:
            rows.append(msgspec.json.decode(line, type=Row))
    if not ended:
        error = f"stopped after its limit of {limit_s:.0f} s"
    elif child.returncode and not error:
        error = f"its process ended with exit code {child.returncode}"
    return rows, error


def _until_end(descriptor: int, end_s: float) -> tuple[bytes, bool]:
    """Return what was written whole, and whether the writer ended before `end_s`."""
    content = b""
    while (left_s := end_s - time.monotonic()) > 0:
        if select.select([descriptor], [], [], min(left_s, LOOK_S))[0]:
            if not (part := os.read(descriptor, 1 << 16)):
                return content, True
            content += part
    return content[: content.rfind(b"\n") + 1], False


def _wait(child: subprocess.Popen[bytes]) -> bool:
    """Return whether the process ended by itself."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(PATIENCE_S)
    return child.returncode is not None


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process that goes on, after it cleaned up, and whatever it started and left."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGINT)
        _wait(child)
    # Its number stays the group's while any program of the session is left.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    _wait(child)


if __name__ == "__main__":
    try:
        # A shell's `&` ignores SIGINT; Python then raises nothing.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        end_with_parent(int(sys.argv[3]), signal.SIGINT)
        sys.exit(main(sys.argv[1], int(sys.argv[2])))
    except KeyboardInterrupt:
        os.killpg(0, signal.SIGKILL)
