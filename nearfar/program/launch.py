"""One run of a program, to its end or for a duration, and its CPU time."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import resource
import select
import shlex
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from nearfar.base.errors import CommandError, ExitCode
from nearfar.base.terminate import end_with_parent
from nearfar.program.children import ChildrenWatch
from nearfar.program.control import PID_VARIABLE, RUN_FOLDER_VARIABLE, Control

GRACE_S = 15.0
"""Time from SIGTERM to SIGKILL, s: a server may write its data first."""
GRACE_SHARE = 0.25
"""Time from SIGTERM to SIGKILL as a share of a run's time limit, at most `GRACE_S`."""
_LEFTOVER_GRACE_S = 1.0
"""Time that processes outliving the program may take to end by themselves, s."""
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of linux/prctl.h."""


@dataclass(frozen=True)
class Job:
    """A command to run, with its duration or driver."""

    command: Sequence[str]
    driver: str | None = None
    """Shell command that drives the program; when it ends, the program is stopped."""
    duration_s: float | None = None
    limit: str = "--duration"
    """Origin of `duration_s`, named in the status of a program that the duration stopped."""
    after_s: float = 0.0
    longest_s: float | None = None
    """Refuse a run that takes longer. None: any."""
    grace_s: float = GRACE_S
    """Time from SIGTERM to SIGKILL."""
    stdout_to_stderr: bool = False
    discard_output: bool = False

    @property
    def ends_itself(self) -> bool:
        """Whether the program ends by itself, without a duration or driver."""
        return self.duration_s is None and self.driver is None

    def ending_after(self, seconds: float, limit: str) -> Job:
        """Return the job stopped after `seconds`, and killed soon after if it does not end."""
        grace_s = min(GRACE_S, GRACE_SHARE * seconds)
        return replace(self, duration_s=seconds, limit=limit, grace_s=grace_s)


@dataclass(frozen=True)
class RunOutcome:
    """Status and times of a run that ended."""

    status: str
    failed: bool
    """Whether it failed, other than by being stopped."""
    cpu_ns: int
    """User and system time of the program and its children."""
    wall_ns: int
    finished: bool = True
    """Whether it ended by itself."""
    peak_bytes: int = 0
    """Peak memory of its largest process (ru_maxrss); 0: not known."""
    others_share: float = 0.0
    """Lower bound of the share of the CPU time that the program's child processes took."""
    busiest_child: str = ""
    """Command of the child process that took most CPU time; empty: none was seen."""
    outlived: int = 0
    """Number of child processes that ran on after the program, until nearfar ended them."""


def run_job(
    job: Job,
    executable: Path,
    environment: Mapping[str, str],
    folder: Path,
    in_child: Callable[[], None] | None = None,
) -> RunOutcome:
    """Run `job` with the program file `executable`; `folder`'s control records its phases.

    `in_child` is called in the program's process before its exec.
    """
    control = Control(folder)
    adopt_orphans()
    # Earlier children, such as the contending process of `emulate`, are not part of the run.
    earlier_children = frozenset(_children())
    _rewind_input()
    own_pid = os.getpid()

    def before_exec() -> None:
        end_with_parent(own_pid)
        if in_child is not None:
            in_child()
        # The child itself records its start, so that no mark can precede the start.
        control.start(os.getpid())

    variables = {**environment, RUN_FOLDER_VARIABLE: str(folder)}
    process = _start(job, executable, variables, before_exec)
    driver: subprocess.Popen[bytes] | None = None
    begun = time.monotonic_ns()
    try:
        if job.driver is not None:
            driver = _start_driver(job, process.pid, environment, folder)
        not_adopted = earlier_children if driver is None else earlier_children | {driver.pid}
        not_adopted |= {process.pid}
        watch = ChildrenWatch(process.pid, lambda: set(_children()) - not_adopted)
        with watch.running():
            reason = _wait_for_end(job, process, driver, control)
        wall_ns = time.monotonic_ns() - begun
        own_ns = _own_cpu_ns(process.pid)
        _, code, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
        leftovers = _reap_leftovers(earlier_children, driver)
    except BaseException:
        _end_all(process, driver, earlier_children)
        raise
    finally:
        control.close()
    cpu_ns = _cpu_ns(used) + leftovers.cpu_ns
    return RunOutcome(
        status=_status(process.returncode, reason),
        failed=process.returncode not in (0, -signal.SIGTERM if reason else 0),
        cpu_ns=cpu_ns,
        wall_ns=wall_ns,
        finished=not reason,
        peak_bytes=max(_peak_bytes(used), leftovers.peak_bytes),
        others_share=max(0.0, 1 - own_ns / cpu_ns) if cpu_ns else 0.0,
        busiest_child=watch.busiest(),
        outlived=leftovers.ended,
    )


def _wait_for_end(
    job: Job,
    process: subprocess.Popen[bytes],
    driver: subprocess.Popen[bytes] | None,
    control: Control,
) -> str:
    """Wait until the program ends, or stop it; return why nearfar stopped it, or ""."""
    begun = time.monotonic_ns()
    reason = ""
    if job.after_s:
        _wait(process.pid, job.after_s)
        control.count()

    def ends_within(counted_s: float | None) -> bool:
        left_s = None if counted_s is None else job.after_s + counted_s - _seconds_since(begun)
        return _wait(process.pid, left_s)

    if driver is not None:
        reason = _wait_for_driver(process, driver, job)
    elif job.duration_s is not None and not ends_within(job.duration_s):
        reason = job.limit
    if reason:
        _stop(process.pid, job.grace_s)
        _wait(process.pid, None)
    elif not ends_within(job.longest_s):
        raise too_long(job.command[0], job.longest_s)
    return reason


def too_long(what: str, longest_s: float | None) -> CommandError:
    """Return the refusal of a program, or a driver, that had not ended after `longest_s`."""
    return CommandError(
        f"{what} had not ended after {longest_s:.1f} s: give it less work or a longer --time; for "
        "a server, use --duration or --driver",
        ExitCode.MACHINE_LACKS,
    )


@functools.cache
def _input_start() -> int | None:
    """Return the position of standard input at the first run; None if it is no regular file."""
    try:
        return os.lseek(0, 0, os.SEEK_CUR) if stat.S_ISREG(os.fstat(0).st_mode) else None
    except OSError:
        return None


def input_was_piped() -> bool:
    """Return whether standard input is a pipe that has ended, so that later runs read nothing."""
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(0).st_mode)
    except OSError:
        return False
    pipe = select.poll()
    pipe.register(0, select.POLLIN)
    return is_pipe and any(event & select.POLLHUP for _, event in pipe.poll(0))


def _rewind_input() -> None:
    """Let every run read the same standard input, if it is a file."""
    start = _input_start()
    if start is not None:
        os.lseek(0, start, os.SEEK_SET)


def _start(
    job: Job,
    executable: Path,
    variables: Mapping[str, str],
    before_exec: Callable[[], None],
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            job.command,
            executable=executable,
            env=variables,
            stdout=_output(job),
            # The function needs no lock that another thread may hold.
            preexec_fn=before_exec,  # noqa: PLW1509
        )
    except (OSError, subprocess.SubprocessError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CommandError(f"cannot run {job.command[0]}: {why}") from error


def _output(job: Job) -> IO[str] | int | None:
    if job.discard_output:
        return subprocess.DEVNULL
    return sys.stderr if job.stdout_to_stderr else None


def _start_driver(
    job: Job, pid: int, environment: Mapping[str, str], folder: Path
) -> subprocess.Popen[bytes]:
    variables = {**environment, RUN_FOLDER_VARIABLE: str(folder), PID_VARIABLE: str(pid)}
    # `environment` may have library paths that are meant for the program's plain twin only.
    for name in ("LD_LIBRARY_PATH", "LD_PRELOAD"):
        if name in os.environ:
            variables[name] = os.environ[name]
        else:
            variables.pop(name, None)
    assert job.driver is not None
    own_pid = os.getpid()
    return subprocess.Popen(
        job.driver,
        shell=True,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr if job.stdout_to_stderr else None,
        # The function needs no lock that another thread may hold.
        preexec_fn=lambda: end_with_parent(own_pid),  # noqa: PLW1509
    )


def _wait_for_driver(
    process: subprocess.Popen[bytes], driver: subprocess.Popen[bytes], job: Job
) -> str:
    """Wait for the driver; return the reason to stop the program."""
    command = job.driver or ""
    handles = {os.pidfd_open(process.pid): "program", os.pidfd_open(driver.pid): "driver"}
    try:
        ready, _, _ = select.select(list(handles), [], [], job.longest_s)
    finally:
        for handle in handles:
            os.close(handle)
    if not ready:
        raise too_long(f"the driver {shlex.quote(command)}", job.longest_s)
    if driver.poll() is None and "driver" not in (handles[handle] for handle in ready):
        _, code, _ = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
        raise CommandError(
            f"the program ended ({_status(process.returncode, '')}) before its driver "
            f"{shlex.quote(command)} did; it must stay in the foreground",
            ExitCode.PROGRAM_FAILED,
        )
    if driver.wait() != 0:
        raise CommandError(
            f"the driver {shlex.quote(command)} failed: {_status(driver.returncode, '')}",
            ExitCode.PROGRAM_FAILED,
        )
    return "its driver had ended"


def _wait(pid: int, seconds: float | None) -> bool:
    """Wait at most `seconds` for process `pid` to end; return whether it has."""
    handle = os.pidfd_open(pid)
    try:
        ready, _, _ = select.select([handle], [], [], None if seconds is None else max(0, seconds))
    finally:
        os.close(handle)
    return bool(ready)


def _stop(pid: int, grace_s: float = GRACE_S) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        if not _wait(pid, grace_s):
            os.kill(pid, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of processes whose parent ends, to count their time too."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def _children() -> Iterator[int]:
    text = Path(f"/proc/self/task/{os.getpid()}/children")
    with contextlib.suppress(OSError):
        yield from (int(word) for word in text.read_text().split())


@dataclass(frozen=True)
class _Leftovers:
    """Child processes that outlived the program; nearfar adopted them."""

    cpu_ns: int
    peak_bytes: int
    ended: int
    """Number of processes that nearfar ended."""


def _reap_leftovers(
    earlier_children: Set[int], driver: subprocess.Popen[bytes] | None = None
) -> _Leftovers:
    """Wait for processes that outlive the program, and end those that take too long."""
    not_adopted = earlier_children if driver is None else earlier_children | {driver.pid}
    cpu_ns = peak_bytes = 0
    begun = time.monotonic()
    terminated: set[int] = set()
    while True:
        remaining = [pid for pid in _children() if pid not in not_adopted]
        if not remaining:
            return _Leftovers(cpu_ns, peak_bytes, len(terminated))
        for pid in remaining:
            done, _, used = os.wait4(pid, os.WNOHANG)
            if done:
                cpu_ns += _cpu_ns(used)
                peak_bytes = max(peak_bytes, _peak_bytes(used))
            elif time.monotonic() - begun > _LEFTOVER_GRACE_S:
                os.kill(pid, signal.SIGKILL if pid in terminated else signal.SIGTERM)
                terminated.add(pid)
                _wait(pid, GRACE_S)
        time.sleep(0.005)


def _end_all(
    process: subprocess.Popen[bytes],
    driver: subprocess.Popen[bytes] | None,
    earlier_children: Set[int],
) -> None:
    for started in (driver, process):
        if started is not None and started.returncode is None:
            _stop(started.pid)
            started.wait()
    _reap_leftovers(earlier_children)


def _own_cpu_ns(pid: int) -> int:
    """Return an upper bound of the CPU time of the ended process `pid`, without its children."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return sys.maxsize
    # utime and stime of proc(5); both are cut to whole ticks, so one tick is added for each.
    return round((int(words[11]) + int(words[12]) + 2) / os.sysconf("SC_CLK_TCK") * 1e9)


def _cpu_ns(used: resource.struct_rusage) -> int:
    return round((used.ru_utime + used.ru_stime) * 1e9)


def _peak_bytes(used: resource.struct_rusage) -> int:
    return used.ru_maxrss * 1024  # KiB on Linux, getrusage(2)


def _seconds_since(begun_ns: int) -> float:
    return (time.monotonic_ns() - begun_ns) / 1e9


def _status(code: int, reason: str) -> str:
    by = f" (by nearfar after {reason})" if reason else ""
    if code >= 0:
        return f"exited {code}{by}"
    return f"was killed by {signal.Signals(-code).name}{by}"
