"""Co-runners: processes on another core that run only while a sample is taken.

Between samples SIGSTOP stops them, which takes effect at once. All end with this process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.contention.program_memory import ProgramMemory
from nearfar.measure.sampler import LOAD_KERNELS


class CoRunner:
    """A process on the other core, stopped unless inside `working`."""

    def __init__(self, command: Sequence[str], cpu: int, reports_ready: bool) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        try:
            os.sched_setaffinity(self._process.pid, {cpu})
            if reports_ready:
                self._wait_until_ready()
            self.stop()
        except BaseException:
            self.end()
            raise

    def _wait_until_ready(self) -> None:
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            _, errors = self._process.communicate()
            reason = (errors.strip().splitlines() or ["it printed no error"])[-1]
            raise NearfarError(
                f"cannot start the process that loads memory: {reason}", ExitCode.MACHINE_LACKS
            )

    def run_when_idle(self) -> None:
        """Lower its priority (SCHED_IDLE): it gets about 0.3 % of a core that others use."""
        os.sched_setscheduler(self._process.pid, os.SCHED_IDLE, os.sched_param(0))

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Let the process run within the block."""
        self.resume()
        try:
            yield
        finally:
            self.stop()

    def resume(self) -> None:
        """Let the process run until `stop`."""
        os.kill(self._process.pid, signal.SIGCONT)

    def stop(self) -> None:
        """Stop the process until `resume`."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def end(self) -> None:
        """Kill the process, stopped or not."""
        self._process.kill()
        if self._process.stdout is not None and not self._process.stdout.closed:
            self._process.communicate()


def working(co_runner: CoRunner | None) -> contextlib.AbstractContextManager[None]:
    """Return a context manager in whose block the co-runner, if there is one, runs."""
    return co_runner.working() if co_runner is not None else contextlib.nullcontext()


def start_load(memory: ProgramMemory, cpu: int, size_bytes: int) -> CoRunner:
    """Start a process on `cpu` that loads `size_bytes` of the memory by its spec's ``load=``."""
    kernel = LOAD_KERNELS[memory.spec.load]
    command = [sys.executable, "-m", "nearfar.contention.load", str(cpu), kernel]
    return CoRunner([*command, str(size_bytes), str(memory.spec)], cpu, reports_ready=True)


def start_spinner(program: Path, cpu: int) -> CoRunner:
    """Start a process that keeps `cpu` awake and touches no memory.

    `program` is the plain build of any kernel.
    """
    return CoRunner([str(program), "spin"], cpu, reports_ready=False)
