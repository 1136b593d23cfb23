"""Record of the changes to undo on this machine. Runs may be killed, so each is recorded first.

Each run has a journal in the user's cache folder and holds its lock until the run ends. The next
run undoes the changes in all journals that no process has locked.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.files import cannot_write
from nearfar.base.folders import cache_folder
from nearfar.base.journal import Journal, JournalInUseError
from nearfar.base.terminate import interrupts_held_back
from nearfar.memories.paged.acts import ZRAM_CONTROL, Act

_SUFFIX = ".journal"
_CHILD_S = 2.0
"""Longest wait for a child of a killed run to start its program."""


class Ledger:
    """The acts that undo the changes of one run."""

    def __init__(self, journal: Journal[Act]) -> None:
        self._journal = journal
        self._undo: list[Act] = []

    def do(self, act: Act, undo: Act | None = None) -> None:
        """Record `undo`, then do `act`."""
        if undo is not None:
            self.record(undo)
        act.do()

    def record(self, undo: Act) -> None:
        """Record an act to do at the end of the run."""
        self._journal.append(undo)
        self._undo.append(undo)

    def add_zram(self) -> int:
        """Make a zram device, and return its number."""
        before = [path.name for path in Path("/sys/block").glob("zram*")]
        self.record(Act("remove-new-zram", "", " ".join([str(time.time()), *before])))
        try:
            number = int((ZRAM_CONTROL / "hot_add").read_text())
        except OSError as error:
            raise NearfarError(
                f"cannot make a zram device: {error.strerror}", ExitCode.MACHINE_LACKS
            ) from error
        self.record(Act("remove-zram", f"/sys/block/zram{number}"))
        return number

    def undo(self) -> None:
        """Undo everything, last first."""
        undo_all(self._undo)
        self._undo.clear()


def undo_all(acts: Sequence[Act]) -> None:
    """Do all `acts` in reverse order, even after failures; raise the first failure."""
    failures = []
    for act in reversed(acts):
        try:
            act.do()
        except NearfarError as error:
            failures.append((act, error))
    if failures:
        act, first = failures[0]
        raise NearfarError(
            f"the machine is not as before: `{act.command()}` failed ({first.__cause__}); the next "
            "nearfar that uses a paged memory tries again",
            ExitCode.MACHINE_LACKS,
        )


def folder() -> Path:
    """Return the folder of the journals; make it if it is missing."""
    where = cache_folder("paged")
    try:
        where.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(where, error) from error
    return where


def undo_dead(where: Path | None = None) -> int:
    """Undo the changes that killed runs left on the machine; return the number of these runs."""
    count = 0
    for path in sorted((where or folder()).glob(f"*{_SUFFIX}")):
        journal = _journal_of_dead_run(path)
        if journal is None:
            continue
        with journal:
            acts = list(journal.records())
            undo_all(acts)
            journal.discard()
            count += bool(acts)
    return count


def _journal_of_dead_run(path: Path) -> Journal[Act] | None:
    """Lock and return the journal at `path` of a dead run; None: its run is alive.

    A child that a killed run has forked holds the lock until its exec, so this waits for the exec.
    """
    end_s = time.monotonic() + _CHILD_S
    while True:
        try:
            return Journal.open(path, Act)
        except JournalInUseError:
            owner = Path("/proc") / path.name.partition("-")[0]
            if owner.exists() or time.monotonic() > end_s:
                return None
            time.sleep(0.01)


@contextlib.contextmanager
def open_ledger() -> Iterator[Ledger]:
    """Undo the changes of dead runs, yield a new ledger, and undo its changes at the end.

    A signal interrupts the block that uses the ledger, but not the undoing.
    """
    where = folder()
    undo_dead(where)
    with interrupts_held_back() as interruptible:
        handle, name = tempfile.mkstemp(prefix=f"{os.getpid()}-", suffix=_SUFFIX, dir=where)
        os.close(handle)
        with Journal.open(Path(name), Act) as journal:
            ledger = Ledger(journal)
            try:
                with interruptible():
                    yield ledger
            finally:
                # If an undo fails, the journal stays for the next run.
                ledger.undo()
                journal.discard()
