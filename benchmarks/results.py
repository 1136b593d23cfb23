"""Results of `make benchmarks`, kept per row file: a later run goes on where an earlier one ended.

Each has the commit, the processor and the moment, and how disturbed the machine was. Results of
another commit stay until they are measured again, and are marked old.
"""

from __future__ import annotations

import datetime
import functools
import subprocess
from collections.abc import Iterable
from pathlib import Path

import msgspec

from benchmarks import Row
from nearfar.base.files import write_atomically
from nearfar.documents import producer
from nearfar.version import built_from

FOLDER = Path("build/benchmarks/results")
PRESSURE = Path("/proc/pressure/cpu")


class Result(msgspec.Struct, kw_only=True):
    """Rows of one file in rows/."""

    module: str
    commit: str
    """Commit that was measured; ends in "+" where the tree had changes."""
    processor: str
    time_utc: str
    seconds: float
    waiting_share: float | None
    """Share of the time in which some program waited for a CPU; None: the kernel does not say."""
    rows: list[Row]
    error: str = ""
    """Why it ended without rows, or with a part of them; empty: it is complete."""

    def current(self) -> bool:
        """Return whether it is complete and of this commit and processor."""
        here = producer([]).processor
        measured = (self.commit, self.processor)
        return not self.error and not self.commit.endswith("+") and measured == (_commit(), here)


class Watch:
    """Seconds and waiting for CPUs since it was made."""

    def __init__(self) -> None:
        self._began = datetime.datetime.now(datetime.UTC)
        self._waited_us = _waited_us()

    def result(self, module: str, rows: list[Row], error: str) -> Result:
        """Return `rows` with the circumstances of their measurement."""
        seconds = (datetime.datetime.now(datetime.UTC) - self._began).total_seconds()
        now, before = _waited_us(), self._waited_us
        share = None if now is None or before is None else (now - before) / 1e6 / max(seconds, 1e-6)
        return Result(
            module=module,
            commit=_commit(),
            processor=producer([]).processor,
            time_utc=self._began.isoformat(timespec="seconds"),
            seconds=seconds,
            waiting_share=share,
            rows=rows,
            error=error,
        )


def kept(module: str) -> Result | None:
    """Return the last result of a row file; None: it was never measured in this tree."""
    path = FOLDER / f"{module}.json"
    if not path.is_file():
        return None
    return msgspec.json.decode(path.read_bytes(), type=Result)


def keep(result: Result) -> None:
    """Replace the last result of that row file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_atomically(FOLDER / f"{result.module}.json", msgspec.json.encode(result))


def page(results: Iterable[Result]) -> str:
    """Return docs/results.md."""
    lines = [
        "# Results of the benchmarks",
        "",
        "Made by `make benchmarks RESULTS=docs/results.md`. Each value was measured beside its "
        "peer in the same run; a bar is what an issue asks for. *Waiting* is the share of the time "
        "in which some program waited for a CPU: above a tenth, times are those of a busy machine.",
    ]
    for result in results:
        waiting = "" if result.waiting_share is None else f", waiting {result.waiting_share:.0%}"
        lines += [
            "",
            f"## {result.module}",
            "",
            f"{result.time_utc}, {result.seconds:.0f} s{waiting}, commit {result.commit}, "
            f"{result.processor}.",
            "",
        ]
        if result.error:
            lines += [f"It ended early: {result.error}.", ""]
        lines += ["| what | value | peer | bar | holds |", "|---|---|---|---|---|"]
        for row in result.rows:
            peer = row.peer if row.peer_value is None else f"{row.peer}: {row.peer_value:.4g}"
            holds = "yes" if row.holds else "**no**"
            cells = (row.name, f"{row.value:.4g} {row.unit}", peer, row.bar, holds)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


@functools.cache
def _commit() -> str:
    changed = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=no"], capture_output=True, check=False
    ).stdout
    return built_from() + ("+" if changed else "")


def _waited_us() -> float | None:
    """Return the time in which some program waited for a CPU, since boot."""
    try:
        some = PRESSURE.read_text().splitlines()[0]
    except (OSError, IndexError):
        return None
    return float(some.rpartition("total=")[2])
