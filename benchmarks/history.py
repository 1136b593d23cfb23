"""Measured rows by commit, one file a run, and what changed between commits.

build/benchmarks/history/PROCESSOR/COMMIT holds files that `nearfar compare` reads: those of one
commit are repetitions.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks import Row
from benchmarks.results import Result
from nearfar.api import compare
from nearfar.base.files import write_atomically
from nearfar.documents import Comparison, producer
from nearfar.documents.comparison import Change

FOLDER = Path("build/benchmarks/history")
LIMIT = "5%"
"""Change beyond which something worse is an alarm."""


def write_rows(path: Path, rows: Sequence[Row], files: Sequence[Result]) -> None:
    """Write a file that `nearfar compare` reads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"producer": producer(["make", "benchmarks"]), "rows": rows, "files": files}
    write_atomically(path, msgspec.json.format(msgspec.json.encode(content), indent=1))


def remember(results: Sequence[Result]) -> None:
    """Keep complete results by their commit.

    Those of a changed tree belong to none; those beside a busy core compare with no quiet ones.
    """
    complete = [
        each
        for each in results
        if not each.error and not each.busy and not each.commit.endswith("+")
    ]
    for commit in {each.commit for each in complete}:
        of_commit = [each for each in complete if each.commit == commit]
        now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        rows = [row for each in of_commit for row in each.rows]
        write_rows(folder(commit) / f"{now}.json", rows, of_commit)


def earlier(commit: str) -> Path | None:
    """Return the latest other commit's folder of this processor; None: there is none."""
    folders = [path for path in folder(commit).parent.glob("*") if path.name != commit]
    return max(folders, key=lambda path: max(path.iterdir()).name, default=None)


def alarms(before: Path, commit: str) -> list[str]:
    """Return what is worse than in `before` by more than `LIMIT`, and not by chance."""
    found = _compared(before, commit).changes
    return [_sentence(change) for change in found if change.over_limit]


def trend(before: Path, commit: str) -> list[str]:
    """Return what differs from `before` by more than chance, and how many rows nobody can judge."""
    if not folder(commit).is_dir():
        return []
    changes = _compared(before, commit).changes
    where = producer([]).processor
    lines = [
        f"From commit {before.name} to {commit}, both measured on {where}, by `nearfar compare`:"
    ]
    changed = [change for change in changes if change.verdict in ("worse", "better", "changed")]
    lines += [f"- {change.verdict}: {_sentence(change)}" for change in changed]
    unjudged = sum(change.verdict == "not judged" for change in changes)
    few = f"{unjudged} values were measured too rarely to tell a change from chance."
    return [*lines, *([few] if unjudged else [])]


def folder(commit: str) -> Path:
    """Return where the files of a commit are, measured on this processor."""
    return FOLDER / re.sub(r"\W+", "-", producer([]).processor or "unknown") / commit


def _compared(before: Path, commit: str) -> Comparison:
    return compare(a=before, b=folder(commit), fail_over=LIMIT)


def _sentence(change: Change) -> str:
    if change.family == "holds":
        return f"{change.name}: its bar ({change.note}) {'holds' if change.b else 'is missed'} now"
    return f"{change.name}: {change.a:.4g} -> {change.b:.4g} {change.unit}"
