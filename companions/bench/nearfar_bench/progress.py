"""Finished runs, saved next to the output so that an interrupted experiment can continue."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.journal import Journal, JournalInUseError
from nearfar_bench.experiment import Experiment
from nearfar_bench.native import Mode, WorkloadRun


class _FinishedRun(msgspec.Struct, frozen=True):
    """A run of a cell."""

    cell: int
    round: int
    mode: Mode
    line: WorkloadRun


def partial_of(output: Path) -> Path:
    """Return the file of finished runs next to `output`."""
    return output.with_name(f"{output.name}.partial")


class FinishedRuns:
    """The runs of an experiment, in memory and, with a file, on disk."""

    def __init__(self, experiment: Experiment, output: Path | None) -> None:
        content = msgspec.json.encode(asdict(experiment), order="sorted")
        self._request = {"experiment": hashlib.sha256(content).hexdigest()}
        self._path = None if output is None else partial_of(output)
        self._journal: Journal[_FinishedRun] | None = None
        self.runs: dict[tuple[int, int, Mode], WorkloadRun] = {}
        if self._path is not None and self._path.is_file():
            try:
                self._journal = Journal.resume(self._path, _FinishedRun, self._request)
            except JournalInUseError:
                raise
            except NearfarError:
                return  # the file is of another experiment, or of an earlier version of this one
            for run in self._journal.records():
                self.runs[run.cell, run.round, run.mode] = run.line

    def add(self, cell: int, round_: int, mode: Mode, line: WorkloadRun) -> None:
        """Add a run and write it to disk immediately."""
        self.runs[cell, round_, mode] = line
        if self._path is not None:
            self._journal = self._journal or Journal.begin(self._path, _FinishedRun, self._request)
            self._journal.append(_FinishedRun(cell, round_, mode, line))

    def finish(self) -> None:
        """Remove the file, because the result is written."""
        if self._journal is not None:
            self._journal.discard()

    def close(self) -> None:
        """Close the file; the finished runs stay."""
        if self._journal is not None:
            self._journal.close()
