"""Brings what was sampled to what was counted: samples say whose, counts say how many."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nearfar.profile import run_file
from nearfar.profile.run_file import ProcessFile

NOT_SAMPLED = "(counted, not sampled)"
_LOAD, _STORE = 1, 2
"""enum nf_operation of native/profile/abi.h."""
_FIRST_OWN_KEY = 0xFFFFFFFE
"""Instructions are numbered from 1 up: the last two numbers are of none."""


def scale_to_counts(file: ProcessFile, counts: Mapping[int, Mapping[str, float]]) -> None:
    """Make each phase's sampled misses add up to the counted ones.

    Misses of a phase without any sample are of unknown memory; a phase whose misses were not
    counted keeps what its samples stand for.
    """
    for phase, counted in counts.items():
        _scale(file, phase, counted.get("llc_load_misses"), "read_misses", _LOAD)
        _scale(file, phase, counted.get("llc_store_misses"), "write_misses", _STORE)


def _scale(
    file: ProcessFile, phase: int, counted: float | None, column: str, operation: int
) -> None:
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
