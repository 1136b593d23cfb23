"""Names the busiest of the processes that a running program started."""

from __future__ import annotations

import contextlib
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.threads import working_beside
from nearfar.program.executable import find_executable
from nearfar.program.language_runtimes import runs_other_code

INTERVAL_S = 0.05
"""Time between two looks at the processes, s; a program without children costs one read each."""
MAX_LETTERS = 100
"""Length at which a command is cut."""


class ChildrenWatch:
    """Looks at the processes below `roots` until it is stopped."""

    def __init__(self, program: int, adopted: Callable[[], Iterable[int]]) -> None:
        """Watch what `program` started; `adopted` gives processes whose parent has ended."""
        self._program = program
        self._adopted = adopted
        self._ticks: dict[int, int] = {}
        self._commands: dict[int, str] = {}

    def running(self) -> AbstractContextManager[None]:
        """Return a context manager that watches until the end of its block."""
        return working_beside(self._watch)

    def busiest(self) -> str:
        """Return the command whose processes took most CPU time; empty where none was seen."""
        return _cut(busiest_command(self._ticks, self._commands))

    def _watch(self, ended: threading.Event) -> None:
        while not ended.wait(INTERVAL_S):
            ahead = [*_children_of(self._program), *self._adopted()]
            while ahead:
                pid = ahead.pop()
                ahead += _children_of(pid)
                with contextlib.suppress(OSError, ValueError, IndexError):
                    self._note(pid)

    def _note(self, pid: int) -> None:
        """Store the command and the CPU time, in ticks, of a process."""
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        if command:  # a process that has ended has none
            self._commands[pid] = shlex.join(command.rstrip("\0").split("\0"))
        if pid in self._commands:
            self._ticks[pid] = int(words[11]) + int(words[12])  # utime and stime of proc(5)


def busiest_command(ticks: Mapping[int, int], commands: Mapping[int, str]) -> str:
    """Return the command whose processes took most together; both are by process."""
    sums: Counter[str] = Counter()
    for pid, spent in ticks.items():
        sums[commands[pid]] += spent
    return max(sums, key=sums.__getitem__, default="")


def is_own_child(child: str, program: Sequence[str]) -> bool:
    """Return whether the busiest child runs what the program does, so that its name says nothing.

    An interpreter must run the same script too.
    """
    if child == _cut(shlex.join(program)):
        return True
    try:
        theirs, ours = find_executable(shlex.split(child)[0]), find_executable(program[0])
        return theirs.samefile(ours) and not runs_other_code(ours)
    except (NearfarError, OSError, ValueError, IndexError):
        return False  # cut within a word, or gone


def _cut(command: str) -> str:
    return command if len(command) <= MAX_LETTERS else f"{command[:MAX_LETTERS]}..."


def _children_of(pid: int) -> list[int]:
    """Return the processes that `pid` started, of all its threads."""
    children: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += [int(word) for word in (task / "children").read_text().split()]
    return children
