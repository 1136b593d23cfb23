"""Finished runs, saved next to the output so that an interrupted experiment can continue."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path

import msgspec

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
        self._file = None if output is None else partial_of(output)
        self._mark = hashlib.sha256(
            msgspec.json.encode(asdict(experiment), order="sorted")
        ).hexdigest()
        self.runs: dict[tuple[int, int, Mode], WorkloadRun] = {}
        self.resumed = 0
        """Number of runs read from the file."""
        if self._file is not None:
            self._read(self._file)

    def add(self, cell: int, round_: int, mode: Mode, line: WorkloadRun) -> None:
        """Add a run; write it to disk at once."""
        self.runs[cell, round_, mode] = line
        if self._file is None:
            return
        with self._file.open("ab") as file:
            if file.tell() == 0:
                file.write(self._mark.encode() + b"\n")
            file.write(msgspec.json.encode(_FinishedRun(cell, round_, mode, line)) + b"\n")

    def finish(self) -> None:
        """Remove the file, as the result is written."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def _read(self, path: Path) -> None:
        if not path.is_file():
            return
        mark, *lines = path.read_bytes().split(b"\n")
        if mark.decode(errors="replace") != self._mark:
            path.unlink()  # of another experiment, or of this one before it was changed
            return
        for text in lines:
            try:
                done = msgspec.json.decode(text, type=_FinishedRun)
            except msgspec.DecodeError:
                continue  # cut off in the middle of writing it
            self.runs[done.cell, done.round, done.mode] = done.line
        self.resumed = len(self.runs)
