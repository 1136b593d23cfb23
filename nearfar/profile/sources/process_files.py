"""Completion of process files whose records hold addresses: names, and counts.

Samples give the shares of objects; the processor's counts give their sums.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nearfar.profile import run_file
from nearfar.profile.run_file import ProcessFile
from nearfar.program.symbols import SourceLocation, symbolise


def name_instructions(file: ProcessFile) -> None:
    """Set function, file and line of each instruction that missed; a profile keeps no others."""
    missed = {
        int(row["key"]) & 0xFFFFFFFF
        for row in file.counters
        if int(row["read_misses"]) + int(row["write_misses"])
    }
    places: dict[int, SourceLocation] = {}
    for at, row in enumerate(file.instructions):
        if int(row["key"]) in missed:
            places[at] = file.locate_instruction(int(row["line"]) | int(row["column"]) << 32)
    frames = symbolise(places.values())
    names = _Names(file)
    for at, row in enumerate(file.instructions):
        frame = frames[places[at]][0] if at in places else None
        row["function"] = names.add(frame.function if frame else "")
        # Without lines, the address in the file distinguishes instructions of one function.
        known = frame is not None and frame.line > 0
        module = places[at].module if at in places else ""
        row["file"] = names.add(frame.file if frame and known else module)
        row["line"] = frame.line if frame and known else 0
        row["column"] = 0 if known or at not in places else _low(places[at].offset - 1)
    names.store()


class _Names:
    """The string table of a process file; a name is stored once, as its offset in the table."""

    def __init__(self, file: ProcessFile) -> None:
        self._file = file
        self._known: dict[str, int] = {}
        self._bytes = bytearray(file.strings)

    def add(self, text: str) -> int:
        if not text:
            return 0
        if text not in self._known:
            self._known[text] = len(self._bytes)
            self._bytes += text.encode() + b"\0"
        return self._known[text]

    def store(self) -> None:
        self._file.strings = bytes(self._bytes)


def _low(number: int) -> int:
    return number & 0xFFFFFFFF


NOT_SAMPLED = "(counted, not sampled)"
_LOAD, _STORE = 1, 2
"""enum nf_operation of native/profile/abi.h."""
_FIRST_OWN_KEY = 0xFFFFFFFE
"""Numbers from here are free: instructions are numbered from 1 up."""


def scale_to_counts(file: ProcessFile, counts: Mapping[int, Mapping[str, float]]) -> None:
    """Scale the sampled misses of each phase to the counted ones.

    Misses of a phase without samples go to unknown memory; a phase without counts is not scaled.
    """
    for phase, counted in counts.items():
        _scale(file, phase, counted.get("llc_load_misses"), "read_misses", _LOAD)
        _scale(file, phase, counted.get("llc_store_misses"), "write_misses", _STORE)


def _scale(
    file: ProcessFile, phase: int, counted: float | None, column: str, operation: int
) -> None:
    """Scale the sampled counts of `column` so that their sum in `phase` is `counted`."""
    if counted is None:
        return
    keys = file.counters["key"]
    rows = (keys >> np.uint64(48) == phase) & (keys & np.uint64(0xFFFFFFFF) != 0)
    sampled = float(file.counters[column][rows].sum())
    if sampled:
        scaled = file.counters[column][rows] * (counted / sampled)
        file.counters[column][rows] = np.rint(scaled).astype("u8")
    elif counted >= 1:
        _add_unknown(file, phase, round(counted), column, operation)


def _add_unknown(file: ProcessFile, phase: int, count: int, column: str, operation: int) -> None:
    """Add a counter of `count` misses in unknown memory, by an instruction without a name."""
    number = _FIRST_OWN_KEY + (operation == _STORE)
    row = np.zeros(1, file.counters.dtype)
    row["key"] = phase << 48 | run_file.SITE_UNKNOWN << 32 | number
    row[column] = count
    file.counters = np.concatenate([file.counters, row])
    if number in file.instructions["key"]:
        return
    instruction = np.zeros(1, file.instructions.dtype)
    instruction["key"] = number
    instruction["function"] = len(file.strings)
    instruction["operation"] = operation
    instruction["tests_per_line"] = 1
    file.strings += NOT_SAMPLED.encode() + b"\0"
    file.instructions = np.concatenate([file.instructions, instruction])
