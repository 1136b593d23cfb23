"""The process of a kernel in one memory: prepared once, then timed on request."""

from __future__ import annotations

import os
import subprocess

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.contention.program_memory import ProgramMemory
from nearfar.validate.interleave import TimedRun
from nearfar.validate.kernel import Kernel


class KernelProcess:
    """A kernel that prepares its data while others do, then stays on `cpu`."""

    def __init__(self, kernel: Kernel, memory: ProgramMemory, region_bytes: int, cpu: int) -> None:
        self._name, self._memory, self._cpu = kernel.name, memory, cpu
        self._process = subprocess.Popen(
            [str(kernel.plain), str(region_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
            env={**os.environ, "NEARFAR_VALIDATE_MEMORY": memory.words()},
        )

    def wait_until_ready(self) -> float:
        """Return the share of its memory in 2 MiB pages, once the data are prepared."""
        huge, present = self._answer("ready")
        os.sched_setaffinity(self._process.pid, {self._cpu})
        return min(huge / present, 1.0) if present else 0.0

    def run(self) -> TimedRun:
        """Return the CPU time of one run, and whether other work had its core meanwhile."""
        return self._timed("run")

    def read_data(self) -> TimedRun:
        """Return the CPU time per read of dependent random reads of all its data."""
        return self._timed("memory")

    def _timed(self, word: str) -> TimedRun:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{word}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # _answer reports why it ended
        ns, switches = self._answer("ns")
        return TimedRun(ns, switches > 0)

    def end(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.communicate()

    def _answer(self, word: str) -> tuple[float, float]:
        assert self._process.stdout is not None
        words = self._process.stdout.readline().split()
        if len(words) == 3 and words[0] == word:
            return float(words[1]), float(words[2])
        _, errors = self._process.communicate()
        code = self._process.returncode
        reason = (errors.strip().splitlines() or [f"it ended with {code}"])[-1]
        raise NearfarError(
            f"kernel {self._name} failed in {self._memory.spec}: {reason}",
            ExitCode.MACHINE_LACKS if code == 3 else ExitCode.PROGRAM_FAILED,
        )
