"""Adds up the explorations of a program's schedules, and writes the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from nearfar.crash.bugs import Found
from nearfar.crash.explore import Progress
from nearfar.crash.layout import Kind
from nearfar.crash.record import Recorded
from nearfar.documents.crash_report import CrashCode, CrashLint, CrashPlace, CrashReport
from nearfar.documents.header import producer


@dataclass
class Summary:
    """Of all schedules."""

    progress: Progress = field(default_factory=lambda: Progress(complete=True))
    counts: Counter[Kind] = field(default_factory=Counter)
    store_sites: int = 0
    fence_sites: int = 0
    pool_bytes: int = 0
    record_s: float = 0.0
    exit_status: str = ""
    lints: list[CrashLint] = field(default_factory=list)
    places: list[CrashPlace] = field(default_factory=list)
    code: CrashCode | None = None
    warnings: list[str] = field(default_factory=list)
    interrupted: bool = False

    def add(self, recorded: Recorded, progress: Progress) -> None:
        """Take one schedule's exploration."""
        trace, total = recorded.trace, self.progress
        self.counts.update(trace.counts)
        self.store_sites = max(self.store_sites, trace.store_sites)
        self.fence_sites = max(self.fence_sites, trace.fence_sites)
        self.pool_bytes = max(self.pool_bytes, trace.pool_bytes)
        self.record_s += recorded.seconds
        self.exit_status = recorded.exit_status
        total.points += progress.points
        total.points_explored += progress.points_explored
        total.states += progress.states
        total.duplicates += progress.duplicates
        total.judge_s += progress.judge_s
        total.wall_s += progress.wall_s
        total.complete = total.complete and progress.complete

    def warn(self, warnings: Sequence[str]) -> None:
        """Keep each once."""
        self.warnings += [one for one in warnings if one not in self.warnings]


def report_of(
    program: Sequence[str],
    check: str,
    summary: Summary,
    bugs: Sequence[Found],
    *,
    eadr: bool,
    seed: int,
) -> CrashReport:
    """Return the report."""
    progress = summary.progress
    return CrashReport(
        producer=producer(),
        program=list(program),
        check=check,
        exit_status=summary.exit_status,
        pool_bytes=summary.pool_bytes,
        eadr=eadr,
        seed=seed,
        operations=summary.counts[Kind.END],
        stores=summary.counts[Kind.STORE],
        flushes=summary.counts[Kind.FLUSH],
        fences=summary.counts[Kind.FENCE],
        points=progress.points,
        points_explored=progress.points_explored,
        store_sites=summary.store_sites,
        fence_sites=summary.fence_sites,
        states=progress.states,
        duplicates=progress.duplicates,
        complete=progress.complete,
        record_s=summary.record_s,
        judge_s=progress.judge_s,
        states_per_s=progress.states / progress.wall_s if progress.wall_s else 0.0,
        bugs=[found.bug for found in bugs],
        lints=summary.lints,
        places=summary.places,
        code=summary.code,
        warnings=summary.warnings,
    )
