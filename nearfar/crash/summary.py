"""Sums of the explorations of a program's schedules, causes of the bugs, and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from nearfar.crash.bugs import FoundBug, without_numbers
from nearfar.crash.explore import Ended, Progress
from nearfar.crash.lints._registry import LINTS
from nearfar.crash.record import RecordedRun
from nearfar.crash.symbols import name_of
from nearfar.crash.trace import EventKind
from nearfar.crash.warnings import unseen_of
from nearfar.documents.crash_report import CrashBug, CrashCode, CrashLint, CrashPlace, CrashReport
from nearfar.documents.header import producer


@dataclass
class CrashSummary:
    """Sums over all schedules."""

    progress: Progress = field(default_factory=lambda: Progress(complete=True))
    counts: Counter[EventKind] = field(default_factory=Counter)
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
    ended: Ended = ""
    unseen: str = ""
    """Why flushes or fences may have been missed."""

    def add(self, recorded: RecordedRun, progress: Progress) -> None:
        """Add one schedule's exploration."""
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
        self.ended = self.ended or progress.ended
        self.unseen = self.unseen or unseen_of(recorded.trace)

    def warn(self, warnings: Sequence[str]) -> None:
        """Add warnings that are new."""
        self.warnings += [warning for warning in warnings if warning not in self.warnings]


def report_of(
    program: Sequence[str],
    check: str,
    summary: CrashSummary,
    bugs: Sequence[FoundBug],
    *,
    eadr: bool,
    seed: int,
    resumable: bool = True,
    known: int = 0,
) -> CrashReport:
    """Return the report."""
    progress = summary.progress
    unseen = "" if eadr else summary.unseen
    failures = [found_bug.bug for found_bug in bugs]
    return CrashReport(
        producer=producer(),
        program=list(program),
        check=check,
        exit_status=summary.exit_status,
        pool_bytes=summary.pool_bytes,
        eadr=eadr,
        seed=seed,
        operations=summary.counts[EventKind.END],
        stores=summary.counts[EventKind.STORE],
        flushes=summary.counts[EventKind.FLUSH],
        fences=summary.counts[EventKind.FENCE],
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
        ended=summary.ended,
        resumable=resumable,
        bugs=[] if unseen else failures,
        undecided=failures if unseen else [],
        unseen=unseen,
        known=known,
        lints=summary.lints,
        places=summary.places,
        code=summary.code,
        warnings=summary.warnings,
    )


def merged(bugs: Sequence[FoundBug], reported: Sequence[CrashLint]) -> list[FoundBug]:
    """Return one bug for each symptom and cause.

    A forgotten snapshot causes a bug at every fence until the transaction ends, each with other
    stores. These bugs share the store that a lint reports. Bugs without such a store are the same
    if they have the same symptom and output at the same fence, or no line that must be missing.
    """
    by_key: dict[object, FoundBug] = {}
    distinct: list[FoundBug] = []
    for found_bug in bugs:
        bug = found_bug.bug
        bug.cause = _cause(bug, reported)
        keys = _keys(bug)
        known = next((by_key[key] for key in keys if key in by_key), None)
        if known is None:
            distinct.append(found_bug)
        else:
            known.bug.states += bug.states
        for key in keys:
            by_key.setdefault(key, known or found_bug)
    for number, found_bug in enumerate(distinct, 1):
        found_bug.bug.id = number
    return distinct


def _keys(bug: CrashBug) -> list[object]:
    """Return keys of which two reports of one bug share at least one."""
    if bug.cause:
        return [(bug.symptom, bug.cause)]
    last = bug.said.splitlines()[-1] if bug.said else ""
    symptom = (bug.symptom, without_numbers(last))
    keys: list[object] = [(*symptom, bug.at, name_of(bug.frames))]
    return keys if bug.lost else [*keys, (*symptom, "nothing must be missing")]


def _cause(bug: CrashBug, reported: Sequence[CrashLint]) -> str:
    """Return the first lint, by rank as a cause, about a store of the bug."""
    places = {name_of(line.frames) for line in [*bug.survived, *bug.lost]}
    ranked = [lint for lint in reported if LINTS.get(lint.kind).explains]
    for lint in sorted(ranked, key=lambda lint: LINTS.get(lint.kind).explains):
        if name_of(lint.frames) in places:
            return f"{lint.kind}: {name_of(lint.frames)}"
    return ""
