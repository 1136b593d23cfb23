"""BenchResult: an experiment of `nearfar bench`, every combination with its figures."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from nearfar.base.estimate import Estimate
from nearfar.documents.header import Document


class Durability(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Instructions that made a cell's content durable, and the events it survives."""

    instructions: str
    """clwb, clflushopt, clflush, msync, or none."""
    survives: str
    """In words: a power cut, or nothing and why."""


class BenchCell(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One combination of the matrix, run several times.

    Figures are named with their unit: ns_per_operation (wall time of all threads together),
    cpu_ns_per_operation (processor time of all threads), operations_per_s, kernel_share (of
    processor time), and the kind's own.
    """

    arguments: dict[str, str]
    """Arguments of this cell of the matrix; `memory` as the experiment names it."""
    samples: dict[str, list[float]]
    """Each figure of each run, in the order of the rounds."""
    figures: dict[str, Estimate]
    """Medians with 95 % bootstrap intervals of 10,000 resamples."""
    slowdown: Estimate | None = None
    """Slowdown relative to the baseline's cell, round by round; above 1 is slower."""
    latency_ns: dict[str, float] = {}
    """Percentiles of single operations, from a separate run that times each operation."""
    counts: dict[str, float] = {}
    """Counts per operation, from a separate run under the counting library."""
    durability: Durability
    verified: list[str] = []
    """Points of the run at which the content was compared with the expected one."""
    words: dict[str, str] = {}


class BenchResult(Document, kw_only=True, forbid_unknown_fields=True):
    """An experiment, run here."""

    KIND: ClassVar[str] = "bench-result"
    VERSION: ClassVar[int] = 1

    name: str
    title: str
    workload: str
    """Kind of `nearfar-bench`."""
    imitates: str = ""
    repeats: int
    arguments: dict[str, str] = {}
    """Arguments that are equal in every cell."""
    matrix: dict[str, list[str]]
    baseline: dict[str, str] = {}
    """The slowdown of a cell is relative to the cell that differs only in these arguments."""
    picture: dict[str, Any] = {}
    cells: list[BenchCell]
    left_out: list[str] = []
    """Combinations that were not run, with the reasons."""
    summary: list[str] = []
