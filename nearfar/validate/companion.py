"""Companions: processes on another core that run only while a sample is taken.

They are stopped (SIGSTOP) in between, which takes effect at once, and they die with us.
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
from nearfar.measure.sampler import LOAD_KERNELS
from nearfar.validate.place import Place


class Companion:
    """A process on the other core, at rest unless inside `working`."""

    def __init__(self, command: Sequence[str], cpu: int, says_ready: bool) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        os.sched_setaffinity(self._process.pid, {cpu})
        assert self._process.stdout is not None
        if says_ready and self._process.stdout.readline() != "ready\n":
            _, said = self._process.communicate()
            why = (said.strip().splitlines() or ["it said nothing"])[-1]
            raise NearfarError(f"the contending core cannot be had: {why}", ExitCode.MACHINE_LACKS)
        os.kill(self._process.pid, signal.SIGSTOP)

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Let it run within the block."""
        os.kill(self._process.pid, signal.SIGCONT)
        try:
            yield
        finally:
            os.kill(self._process.pid, signal.SIGSTOP)

    def end(self) -> None:
        """Kill it, stopped or not."""
        self._process.kill()
        self._process.communicate()


def at_work(one: Companion | None) -> contextlib.AbstractContextManager[None]:
    """Return what lets a companion run within a block, if there is one."""
    return one.working() if one is not None else contextlib.nullcontext()


def contending(place: Place, cpu: int, size_bytes: int) -> Companion:
    """Return a core that does to the far memory what its spec's load says."""
    kernel = LOAD_KERNELS[place.spec.load]
    command = [sys.executable, "-m", "nearfar.validate.contend", str(cpu), kernel]
    return Companion([*command, str(size_bytes), str(place.spec)], cpu, says_ready=True)


def spinning(program: Path, cpu: int) -> Companion:
    """Return a core kept awake without touching memory; `program` is any kernel, plain."""
    return Companion([str(program), "spin"], cpu, says_ready=False)
