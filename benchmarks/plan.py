"""Which files of rows run, in which order, and how long they take.

A file of rows declares, as constants:

- SECONDS: how long it takes on two quiet cores. It is stopped after `PATIENCE` times that.
- COMPUTES (optional): its values are counts or errors, so other work beside it changes nothing.
- QUICK (optional): it is part of `make benchmarks QUICK=1`.
- LONG (optional): it is only run by its name (ONLY=) or with LONG=1.
"""

from __future__ import annotations

import ast
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

USUAL_S = 60.0
"""Assumed where SECONDS is missing."""
PATIENCE = 3.0
"""Times SECONDS after which a file is stopped: machines are slower, or busy."""
QUICK_ROUNDS = 3
"""Repetitions of the quick files: what `nearfar compare` needs to tell a change from chance."""
WHOLE_S, QUICK_S = 45 * 60, 6 * 60
"""Goals of `make benchmarks` and of QUICK=1 on two quiet cores; a test adds up what is declared."""


@dataclass(frozen=True)
class RowFile:
    """One file of rows, as it declares itself."""

    name: str
    seconds: float
    computes: bool = False
    quick: bool = False
    long: bool = False


def row_files(folder: Path) -> list[RowFile]:
    """Return all files of rows, by name, without importing them."""
    return [_declared(path) for path in sorted(folder.glob("[!_]*.py"))]


def _declared(path: Path) -> RowFile:
    declared: dict[str, float] = {}
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            for target in statement.targets:
                if isinstance(target, ast.Name) and isinstance(statement.value.value, int | float):
                    declared[target.id] = statement.value.value
    return RowFile(
        name=path.stem,
        seconds=declared.get("SECONDS", USUAL_S),
        **{key.lower(): bool(declared.get(key)) for key in ("COMPUTES", "QUICK", "LONG")},
    )


def wall_seconds(
    files: Iterable[RowFile], last_s: Mapping[str, float], *, limited: bool = True
) -> float:
    """Return the expected time of a run of files, s."""
    together = min(2, os.cpu_count() or 1)
    return sum(
        expected_s(file, last_s, limited=limited) / (together if file.computes else 1)
        for file in files
    )


def expected_s(file: RowFile, last_s: Mapping[str, float], *, limited: bool = True) -> float:
    """Return the time of a file, s: its last one here, or what it declares.

    `limited`: a file is stopped at its limit, so it takes no longer than that.
    """
    limit_s = PATIENCE * file.seconds if limited else math.inf
    return min(last_s.get(file.name, file.seconds), limit_s)
