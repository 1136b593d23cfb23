"""An explorer: the native process that makes images and checks them (native/crash/explore).

Frames to and from it (native/crash/explore/wire.hpp): type and length, 4 bytes each, then the
payload: numbers of 8 bytes, texts behind their length.
"""

from __future__ import annotations

import contextlib
import os
import queue
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import PAGE_BYTES
from nearfar.crash.checker import KEPT_BYTES, LIBRARY, Check, CheckCommand, CheckerVerdict
from nearfar.documents.crash_report import CrashBug
from nearfar.native_files import native_file
from nearfar.program.executable import preload

PROGRAM = "nearfar_crash_judge"
ACCEPTED_STATES = "accepted-states"
"""File next to the images that explorers of one trace share; empty before the first one starts."""
RANKS = 14
"""Two passes over each kind of failure point, new coverage first: native/crash/explore/explorer.hpp
defines them."""
_MAX_DUMP_BYTES = 64 << 20
"""Output kept of a check that an oracle judges: a dump of a million keys and values."""
_EXIT_TIMEOUT_S = 0.3

State = Mapping[int, int]
Oracle = Callable[[int, CheckerVerdict], CheckerVerdict]
"""Function from the number of records so far and the verdict on a dump to a verdict on its
content."""


@dataclass(frozen=True)
class ExplorationPlan:
    """Settings of all explorers of one exploration."""

    trace: Path
    pool_bytes: int
    seed: int
    eadr: bool
    workers: int
    seconds: float
    states: int
    timeout_s: float
    checks: Sequence[tuple[Check, CheckCommand]]
    environment: Mapping[str, str]
    served: bool = True
    """Whether checkers keep running; false: a checker is started for each state."""
    shares_states: bool = False
    """Whether states that another worker, or an earlier thread order, accepted count as
    accepted."""
    first_rank: int = 0
    first_chunk: int = 0
    suspects: Sequence[tuple[int, ...]] = ()
    """Stacks of stores that a lint suspects: points near them come first."""
    first_bug: Callable[[CrashBug], bool] | None = None
    """Returns whether a bug ends the exploration; None: no bug does."""
    begun_s: float = field(default_factory=time.monotonic)
    """Start of the run, for the time to each bug."""


@contextlib.contextmanager
def _on_one_cpu(worker: int) -> Iterator[None]:
    """Pin processes that are started in the block, and their children, to the worker's CPU.

    Explorer and loaded checker wait for each other at every state. On two CPUs each wait puts a CPU
    to sleep and wakes it, which costs more than judging a small state. Concurrent explorations
    begin at different CPUs.
    """
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(cpus)[(os.getpid() + worker) % len(cpus)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cpus)


class Engine:
    """One explorer; a thread answers its questions to the oracle and queues its other frames."""

    def __init__(
        self, plan: ExplorationPlan, worker: int, image: Path, oracle: Oracle | None
    ) -> None:
        self._oracle = oracle
        self._frames: queue.SimpleQueue[ReceivedFrame | Exception] = queue.SimpleQueue()
        with _on_one_cpu(worker) if plan.served else contextlib.nullcontext():
            self._process = subprocess.Popen(
                [str(native_file(PROGRAM)), *_arguments(plan, worker, image)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=dict(plan.environment),
                # Only this process handles Ctrl-C.
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        ready = self.receive()
        self.modes = ready.numbers(len(plan.checks))
        """How each check runs: 0 started for each state, 1 forked, 2 called as a function,
        3 kept and sent lines."""

    def send(self, kind: str, *values: int | str) -> None:
        """Send a frame."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the explorer's last frame has the reason
            self._process.stdin.write(encoded_frame(kind, *values))
            self._process.stdin.flush()

    def receive(self) -> ReceivedFrame:
        """Wait for its next frame."""
        frame = self._frames.get()
        if isinstance(frame, Exception):
            raise frame
        if frame.kind == "!":
            raise NearfarError(frame.text(), ExitCode.PROGRAM_FAILED)
        return frame

    def judge(self, kind: str, state: State) -> CheckerVerdict:
        """Return the verdict on `state`; `kind`: J by loaded checkers, P by plain commands."""
        self.send(kind, len(state), *(n for pair in state.items() for n in pair))
        answer = self.receive()
        return CheckerVerdict(answer.text(), answer.text().strip())

    def image(self, state: State) -> list[tuple[int, bytes]]:
        """Return offset and content of the pages of an image that may contain nonzero bytes."""
        self.send("I", len(state), *(n for pair in state.items() for n in pair))
        answer = self.receive()
        return [(answer.number(), answer.raw(PAGE_BYTES)) for _ in range(answer.number())]

    def close(self) -> None:
        """End the explorer and its checkers."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            # The explorer exits after its current check.
            self._process.wait(_EXIT_TIMEOUT_S)
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
                frame = receive(self._process.stdout)
                if frame.kind != "O":
                    self._frames.put(frame)
                    continue
                position = frame.number()
                verdict = CheckerVerdict(frame.text(), frame.text())
                answer = self._oracle(position, verdict) if self._oracle else verdict
                self.send("o", answer.symptom, answer.output)
        except Exception as error:  # `receive` raises it
            self._frames.put(error)


def _arguments(plan: ExplorationPlan, worker: int, image: Path) -> list[str]:
    """Return the explorer's arguments, in the order that native/crash/explore parses."""
    numbers = [plan.pool_bytes, plan.seed, int(plan.eadr), worker, plan.workers]
    limits = [round(plan.seconds * 1e3), plan.states, round(plan.timeout_s * 1e3)]
    begin = [plan.first_rank, plan.first_chunk, int(plan.served), int(plan.shares_states)]
    words = [str(plan.trace), str(image), *map(str, [*numbers, *limits, *begin]), preload(LIBRARY)]
    for check, command in plan.checks:
        marks = {
            "s": command.shell,
            "o": check.oracle,
            "r": check.few_states,
            "d": command.by_operation,
            "f": command.function,
            "l": command.loop,
        }
        flags = "".join(mark for mark, is_set in marks.items() if is_set) or "-"
        kept = _MAX_DUMP_BYTES if check.oracle else KEPT_BYTES
        arguments = command.with_pool(image)
        words += [flags, command.library, str(kept), str(len(arguments)), *arguments]
    return words


_HEAD = struct.Struct("<II")
_NUMBER = struct.Struct("<Q")
_SIGNED = struct.Struct("<q")


class ReceivedFrame:
    """A frame from an explorer, read from front to back."""

    def __init__(self, kind: str, payload: bytes) -> None:
        self.kind = kind
        self._payload = payload
        self._at = 0

    def number(self) -> int:
        """Return the next unsigned number."""
        (value,) = _NUMBER.unpack_from(self._payload, self._at)
        self._at += 8
        return int(value)

    def signed(self) -> int:
        """Return the next signed number."""
        (value,) = _SIGNED.unpack_from(self._payload, self._at)
        self._at += 8
        return int(value)

    def numbers(self, count: int) -> tuple[int, ...]:
        """Return the next `count` numbers."""
        values = struct.unpack_from(f"<{count}Q", self._payload, self._at)
        self._at += 8 * count
        return values

    def raw(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        self._at += size
        return self._payload[self._at - size : self._at]

    def text(self) -> str:
        """Return the next text; invalid UTF-8 is replaced."""
        return self.raw(self.number()).decode(errors="replace")


def receive(source: IO[bytes]) -> ReceivedFrame:
    """Wait for a frame."""
    head = source.read(_HEAD.size)
    if len(head) == _HEAD.size:
        kind, length = _HEAD.unpack(head)
        payload = source.read(length)
        if len(payload) == length:
            return ReceivedFrame(chr(kind), payload)
    raise NearfarError(
        "an explorer process of nearfar crash ended before its work was done; if it was killed for "
        "lack of memory (dmesg shows it), use fewer --workers",
        ExitCode.PROGRAM_FAILED,
    )


def encoded_frame(kind: str, *values: int | str) -> bytes:
    """Return a frame to send."""
    payload = b""
    for value in values:
        if isinstance(value, int):
            payload += _NUMBER.pack(value)
        else:
            text = value.encode()
            payload += _NUMBER.pack(len(text)) + text
    return _HEAD.pack(ord(kind), len(payload)) + payload
