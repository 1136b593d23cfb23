"""A kernel at work in one memory: prepared once, then a run whenever it is asked."""

from __future__ import annotations

import os
import subprocess

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.contention.program_memory import ProgramMemory
from nearfar.validate.interleave import Timed
from nearfar.validate.kernel import Kernel


class Running:
    """One kernel's process; prepares while others do, then stays on `cpu`."""

    def __init__(self, kernel: Kernel, place: ProgramMemory, region_bytes: int, cpu: int) -> None:
        self._name, self._place, self._cpu = kernel.name, place, cpu
        self._process = subprocess.Popen(
            [str(kernel.plain), str(region_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
            env={**os.environ, "NEARFAR_VALIDATE_MEMORY": place.words()},
        )

    def ready(self) -> float:
        """Wait until it is prepared; return the share of its memory in 2 MiB pages."""
        huge, present = self._answer("ready")
        os.sched_setaffinity(self._process.pid, {self._cpu})
        return min(huge / present, 1.0) if present else 0.0

    def run(self) -> Timed:
        """Return the CPU time of one run, and whether others had its core meanwhile."""
        return self._timed("run")

    def memory(self) -> Timed:
        """Return the CPU time of a dependent random read of its data, all of them."""
        return self._timed("memory")

    def _timed(self, word: str) -> Timed:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{word}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # why it ended is said by what it answers
        ns, switches = self._answer("ns")
        return Timed(ns, switches > 0)

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.communicate()

    def _answer(self, word: str) -> tuple[float, float]:
        assert self._process.stdout is not None
        words = self._process.stdout.readline().split()
        if len(words) == 3 and words[0] == word:
            return float(words[1]), float(words[2])
        _, said = self._process.communicate()
        code = self._process.returncode
        why = (said.strip().splitlines() or [f"it ended with {code}"])[-1]
        raise NearfarError(
            f"kernel {self._name} failed in {self._place.spec}: {why}",
            ExitCode.MACHINE_LACKS if code == 3 else ExitCode.PROGRAM_FAILED,
        )
