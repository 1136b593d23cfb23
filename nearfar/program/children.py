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
"""Time between two samples of the processes, s; a program without children costs one read each."""
MAX_LETTERS = 100
"""Length at which a command is cut, letters."""


class ChildrenWatch:
    """Samples the CPU time of the processes below a program until the watch is stopped."""

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
        """Return the command whose processes took most CPU time; "" if none was seen."""
        return _cut(busiest_command(self._ticks, self._commands))

    def _watch(self, ended: threading.Event) -> None:
        while not ended.wait(INTERVAL_S):
            to_visit = [*_children_of(self._program), *self._adopted()]
            while to_visit:
                pid = to_visit.pop()
                to_visit += _children_of(pid)
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
    """Return the command whose processes took most ticks together; both mappings are by pid."""
    sums: Counter[str] = Counter()
    for pid, spent in ticks.items():
        sums[commands[pid]] += spent
    return max(sums, key=sums.__getitem__, default="")


def is_own_child(child: str, program: Sequence[str]) -> bool:
    """Return whether the busiest child runs the program's own file, so that its name adds nothing.

    An interpreter's whole command must be the same, script included.
    """
    if child == _cut(shlex.join(program)):
        return True
    try:
        theirs, ours = find_executable(shlex.split(child)[0]), find_executable(program[0])
        return theirs.samefile(ours) and not runs_other_code(ours)
    except (NearfarError, OSError, ValueError, IndexError):
        return False  # the command was cut within a word, or the file is gone


def _cut(command: str) -> str:
    return command if len(command) <= MAX_LETTERS else f"{command[:MAX_LETTERS]}..."


def _children_of(pid: int) -> list[int]:
    """Return the processes that `pid` started, of all its threads."""
    children: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += [int(word) for word in (task / "children").read_text().split()]
    return children
