"""Companions: processes on another core that run only while a sample is taken, and on all cores
what keeps them awake.

The first are stopped (SIGSTOP) in between, which takes effect at once; all die with us.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
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
            process_group=0,
        )
        try:
            os.sched_setaffinity(self._process.pid, {cpu})
            if says_ready:
                self._until_ready()
            self.rest()
        except BaseException:
            self.end()
            raise

    def _until_ready(self) -> None:
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            _, said = self._process.communicate()
            why = (said.strip().splitlines() or ["it said nothing"])[-1]
            raise NearfarError(f"the contending core cannot be had: {why}", ExitCode.MACHINE_LACKS)

    def give_way(self) -> None:
        """Let it run only while nothing else of our session wants its core, but for some 0.3 %."""
        os.sched_setscheduler(self._process.pid, os.SCHED_IDLE, os.sched_param(0))

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Let it run within the block."""
        self.go_on()
        try:
            yield
        finally:
            self.rest()

    def go_on(self) -> None:
        """Let it run until it is to rest."""
        os.kill(self._process.pid, signal.SIGCONT)

    def rest(self) -> None:
        """Stop it, until it is to go on."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def end(self) -> None:
        """Kill it, stopped or not."""
        self._process.kill()
        if self._process.stdout is not None and not self._process.stdout.closed:
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


NAP_S = 0.05
"""After 5 ms of sleep a hypervisor left cores where they were; after 20 to 100 it did not."""


@contextlib.contextmanager
def awake(program: Path, cpus: Sequence[int]) -> Iterator[Callable[[], None]]:
    """Keep cores from ever sleeping, with what anything else on them takes precedence over; yield
    what lets them sleep for `NAP_S`.

    A hypervisor chooses anew where to put a virtual core whenever it wakes. On one machine they
    were moved to another cache three times a second, and once in two to forty seconds when awake.
    Whatever is timed must be of our session: Linux shares out a core by session first, whoever is
    idle in it (sched(7), autogroup).
    """
    with contextlib.ExitStack() as stack:
        keepers = []
        for cpu in dict.fromkeys(cpus):
            one = spinning(program, cpu)
            stack.callback(one.end)
            one.give_way()
            one.go_on()
            keepers.append(one)

        def nap() -> None:
            for one in keepers:
                one.rest()
            time.sleep(NAP_S)
            for one in keepers:
                one.go_on()

        yield nap
