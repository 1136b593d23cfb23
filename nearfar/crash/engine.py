"""An explorer: the native process that makes images and has them checked (native/crash/explore)."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import PAGE_BYTES
from nearfar.crash.checker import KEPT_BYTES, LIBRARY, Check, Command, Verdict
from nearfar.crash.wire import Taken, frame, take
from nearfar.native_files import native_file
from nearfar.program.executable import preload

PROGRAM = "nearfar_crash_judge"
RANKS = 5
"""Of failure points, the newest coverage first; native/crash/explore/explorer.hpp says which."""
_ORACLE_KEPT_BYTES = 64 << 20
"""Of the output of a check that nearfar judges: a dump of a million keys and values."""

_PATIENCE_S = 0.3

State = Mapping[int, int]
Oracle = Callable[[int, Verdict], Verdict]
"""Takes how many records have happened and how the oracle's check ended; returns the verdict."""


@dataclass(frozen=True)
class Plan:
    """What all explorers of one exploration have in common."""

    trace: Path
    pool_bytes: int
    seed: int
    eadr: bool
    workers: int
    seconds: float
    states: int
    timeout_s: float
    checks: Sequence[tuple[Check, Command]]
    environment: Mapping[str, str]
    served: bool = True
    """Checkers stay loaded; false: each is started anew."""
    first_rank: int = 0
    first_chunk: int = 0


@contextlib.contextmanager
def _on_one_cpu(worker: int) -> Iterator[None]:
    """Have what is started meanwhile, and what that starts, run on the worker's CPU alone.

    Explorer and loaded checker wait for each other at every state: on two CPUs each waiting is a
    CPU put to sleep and woken, which costs more than judging a small state.
    """
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(mine)[worker % len(mine)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)


class Engine:
    """One explorer. Its frames come in its order; what an oracle is asked is answered at once."""

    def __init__(self, plan: Plan, worker: int, image: Path, oracle: Oracle | None) -> None:
        self._oracle = oracle
        self._frames: queue.SimpleQueue[Taken | Exception] = queue.SimpleQueue()
        with _on_one_cpu(worker) if plan.served else contextlib.nullcontext():
            self._process = subprocess.Popen(
                [str(native_file(PROGRAM)), *_arguments(plan, worker, image)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=dict(plan.environment),
                # Ctrl-C is answered here.
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        ready = self.take()
        self.ways = ready.numbers(len(plan.checks))
        """Of each check: 0 started anew for each state, 1 forked, 2 called as a function."""

    def send(self, kind: str, *values: int | str) -> None:
        """Send a frame."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # why it ended is in what it sent last
            self._process.stdin.write(frame(kind, *values))
            self._process.stdin.flush()

    def take(self) -> Taken:
        """Wait for its next frame."""
        found = self._frames.get()
        if isinstance(found, Exception):
            raise found
        if found.kind == "!":
            raise NearfarError(found.text(), ExitCode.PROGRAM_FAILED)
        return found

    def judge(self, kind: str, state: State) -> Verdict:
        """Ask for a verdict at the failure that it waits at: J as usual, P by plain commands."""
        self.send(kind, len(state), *(n for pair in state.items() for n in pair))
        answer = self.take()
        return Verdict(answer.text(), answer.text().strip())

    def image(self, state: State) -> list[tuple[int, bytes]]:
        """Return offset and content of the pages of an image that may not be all zeros."""
        self.send("I", len(state), *(n for pair in state.items() for n in pair))
        answer = self.take()
        return [(answer.number(), answer.raw(PAGE_BYTES)) for _ in range(answer.number())]

    def close(self) -> None:
        """End it and its checkers."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            # Between two checks; it does not look before.
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while True:
                found = take(self._process.stdout)
                if found.kind != "O":
                    self._frames.put(found)
                    continue
                position = found.number()
                verdict = Verdict(found.text(), found.text())
                answer = self._oracle(position, verdict) if self._oracle else verdict
                self.send("o", answer.symptom, answer.said)
        except Exception as error:  # it is raised where the frame is waited for
            self._frames.put(error)


def _arguments(plan: Plan, worker: int, image: Path) -> list[str]:
    numbers = [plan.pool_bytes, plan.seed, int(plan.eadr), worker, plan.workers]
    limits = [round(plan.seconds * 1e3), plan.states, round(plan.timeout_s * 1e3)]
    begin = [plan.first_rank, plan.first_chunk, int(plan.served)]
    words = [str(plan.trace), str(image), *map(str, [*numbers, *limits, *begin]), preload(LIBRARY)]
    for check, command in plan.checks:
        marks = {
            "s": command.shell,
            "o": check.oracle,
            "r": check.rarely,
            "d": command.by_operation,
            "f": command.function,
        }
        flags = "".join(mark for mark, is_set in marks.items() if is_set) or "-"
        kept = _ORACLE_KEPT_BYTES if check.oracle else KEPT_BYTES
        own = command.with_pool(image)
        words += [flags, command.library, str(kept), str(len(own)), *own]
    return words
