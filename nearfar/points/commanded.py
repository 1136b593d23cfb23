"""Base of the kinds that run a program: its command, pinned, ended with its worker."""

from __future__ import annotations

import contextlib
import os
import resource
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

import msgspec

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.terminate import end_with_parent, kill_group
from nearfar.base.threads import working_beside
from nearfar.points.inputs import PointInputs
from nearfar.points.kind import PointKind

ERROR_BYTES = 2000
"""End of a failed program's standard error, whose last line the message quotes."""

WATCH_S = 0.05
"""Time between counts of a program's threads; a count costs some 20 us of another core."""


class CommandedPoint(PointKind, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A point that runs a program."""

    MEASURED: ClassVar[bool] = True
    FILLED: ClassVar[tuple[str, ...]] = ("command", "folder", "environment", "files")

    program: str
    size: dict[str, float | str] = msgspec.field(default_factory=dict)
    """Values of the names in its command."""
    seed: int | None = None
    """Value of {seed} in its command; without {seed}, it distinguishes repetitions."""
    cpus: int = 1
    """Processors it is pinned to, each on another core where there are enough."""
    command: list[str] = msgspec.field(default_factory=list)
    folder: str = ""
    """Working folder."""
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    files: dict[str, str] = msgspec.field(default_factory=dict)
    """Digests of the executable and of files among its arguments."""

    def check(self, inputs: PointInputs) -> None:
        """Refuse more processors than there are here."""
        if self.cpus < 1:
            raise NearfarError(f"cpus must be 1 or more, not {self.cpus}")


@dataclass(frozen=True)
class TimedCommand:
    """One run."""

    wall_ns: int
    cpu_ns: int
    threads: int
    """Largest number seen at once."""
    output: bytes
    peak_bytes: int


def run_once(
    command: Sequence[str],
    folder: str,
    environment: dict[str, str],
    *,
    cpus: int,
    timeout_s: float | None = None,
    at_end: signal.Signals = signal.SIGKILL,
) -> TimedCommand:
    """Run a command to its end, pinned to `cpus` processors.

    `at_end` is the signal that the command gets if this process ends first. Raises NearfarError if
    the command cannot start, fails or takes longer than `timeout_s`.
    """
    shown, worker_pid = shlex.join(command), os.getpid()
    with _pinned(cpus), tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begun = time.monotonic_ns()
        try:
            process = subprocess.Popen(
                command,
                cwd=folder or None,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                # The program ends with this worker. prctl takes no lock, so it is safe here.
                preexec_fn=lambda: end_with_parent(worker_pid, at_end),  # noqa: PLW1509
            )
        except OSError as error:
            raise NearfarError(
                f"cannot run {command[0]}: {error.strerror}", ExitCode.PROGRAM_FAILED
            ) from error
        watch = _Watch(process.pid, None if timeout_s is None else begun + timeout_s * 1e9)
        try:
            with working_beside(watch.look):
                _, code, used = os.wait4(process.pid, 0)
                wall_ns = time.monotonic_ns() - begun
                process.returncode = os.waitstatus_to_exitcode(code)
        finally:
            kill_group(process.pid)
        if watch.late:
            raise NearfarError(
                f"{shown} was ended after {timeout_s:g} s (timeout_s)", ExitCode.PROGRAM_FAILED
            )
        if process.returncode != 0:
            raise NearfarError(_failure(shown, process.returncode, err), ExitCode.PROGRAM_FAILED)
        out.seek(0)
        return TimedCommand(
            wall_ns, _cpu_ns(used), max(watch.threads, 1), out.read(), used.ru_maxrss * 1024
        )


def _failure(shown: str, code: int, err: IO[bytes]) -> str:
    size = err.seek(0, os.SEEK_END)
    err.seek(max(0, size - ERROR_BYTES))
    lines = err.read().decode(errors="replace").strip().splitlines()
    reason = f": {lines[-1]}" if lines else ""
    how = f"exited {code}" if code > 0 else f"was killed by {signal.Signals(-code).name}"
    return f"{shown} {how}{reason}"


def _cpu_ns(used: resource.struct_rusage) -> int:
    return round((used.ru_utime + used.ru_stime) * 1e9)


class _Watch:
    """Count a process's threads while it runs, and kill its group at the deadline."""

    def __init__(self, pid: int, deadline_ns: float | None) -> None:
        self.threads = 0
        self.late = False
        self._pid, self._deadline_ns = pid, deadline_ns

    def look(self, ended: threading.Event) -> None:
        """Update `threads` until `ended` is set; at the deadline, set `late` and kill the group."""
        tasks = Path(f"/proc/{self._pid}/task")
        while True:
            with contextlib.suppress(OSError):
                self.threads = max(self.threads, sum(1 for _ in tasks.iterdir()))
            if self._deadline_ns is not None and time.monotonic_ns() > self._deadline_ns:
                self.late = True
                kill_group(self._pid)
                return
            if ended.wait(WATCH_S):
                return


def check_processors(cpus: int) -> None:
    """Refuse more processors than this process may use."""
    here = len(os.sched_getaffinity(0))
    if here < cpus:
        raise NearfarError(
            f"this process may use {here} processors; cpus = {cpus} needs more: lower cpus",
            ExitCode.MACHINE_LACKS,
        )


@contextlib.contextmanager
def _pinned(cpus: int) -> Iterator[None]:
    """Pin this thread and the processes that it starts to `cpus` processors, spread over cores."""
    allowed = os.sched_getaffinity(0)
    check_processors(cpus)
    chosen = spread(sorted(allowed))[:cpus]
    os.sched_setaffinity(0, chosen)
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def spread(cpus: Sequence[int], system: Path = Path("/sys/devices/system/cpu")) -> list[int]:
    """Return the processors in another order: the first of each core, then the remaining ones."""
    first: dict[str, int] = {}
    later: list[int] = []
    for cpu in cpus:
        try:
            core = (system / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip()
        except OSError:
            core = str(cpu)
        if core in first:
            later.append(cpu)
        else:
            first[core] = cpu
    return [*first.values(), *later]
