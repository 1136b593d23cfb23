"""Results of `make benchmarks`, kept per row file: a later run goes on where an earlier one ended.

Each has the commit, the processor and the moment, and how disturbed the machine was. Results of
another commit stay until they are measured again, and are marked old.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import statistics
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from benchmarks import Row
from nearfar.base.files import write_atomically
from nearfar.documents import producer

FOLDER = Path("build/benchmarks/results")
PRESSURE = Path("/proc/pressure/cpu")
BUSY_SUFFIX = ", beside one busy core"
NOISE_JOB, NOISE_RUNS = bytes(4 << 20), 31


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
    noise_floor: float | None = None
    """Relative spread of a fixed job that was repeated just before; None: not measured."""
    rows: list[Row]
    error: str = ""
    """Why it ended without rows, or with a part of them; empty: it is complete."""
    busy: bool = False
    """Whether it was measured beside one busy core."""

    @property
    def title(self) -> str:
        """Its name, and what ran beside it."""
        return self.module + (BUSY_SUFFIX if self.busy else "")

    def named_rows(self) -> list[Row]:
        """Return its rows; names say what ran beside them, so that both sorts can be in a file."""
        if not self.busy:
            return self.rows
        return [msgspec.structs.replace(row, name=row.name + BUSY_SUFFIX) for row in self.rows]

    def current(self) -> bool:
        """Return whether it is complete and of this commit and processor."""
        measured = (self.commit, self.processor)
        here = (commit_of(None), producer([]).processor)
        return not self.error and not self.commit.endswith("+") and measured == here


class Watch:
    """Seconds and waiting for CPUs since it was made, and the noise then."""

    def __init__(self, checkout: Path | None = None, busy: bool = False) -> None:
        self._commit = commit_of(checkout)
        self._busy = busy
        self._noise_floor = _noise_floor()
        self._began = datetime.datetime.now(datetime.UTC)
        self._waited_us = _waited_us()

    def result(self, module: str, rows: list[Row], error: str) -> Result:
        """Return `rows` with the circumstances of their measurement."""
        seconds = (datetime.datetime.now(datetime.UTC) - self._began).total_seconds()
        now, before = _waited_us(), self._waited_us
        share = None if now is None or before is None else (now - before) / 1e6 / max(seconds, 1e-6)
        return Result(
            module=module,
            commit=self._commit,
            processor=producer([]).processor,
            time_utc=self._began.isoformat(timespec="seconds"),
            seconds=seconds,
            waiting_share=share,
            noise_floor=self._noise_floor,
            rows=rows,
            error=error,
            busy=self._busy,
        )


def kept(module: str, busy: bool = False) -> Result | None:
    """Return the last result of a row file; None: it was never measured so in this tree."""
    path = _path(module, busy)
    if not path.is_file():
        return None
    return msgspec.json.decode(path.read_bytes(), type=Result)


def keep(result: Result) -> None:
    """Replace the last result of that row file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_atomically(_path(result.module, result.busy), msgspec.json.encode(result))


def _path(module: str, busy: bool) -> Path:
    return FOLDER / f"{module}{'-busy' if busy else ''}.json"


def page(results: Iterable[Result], trend: Sequence[str] = ()) -> str:
    """Return docs/results.md, with what changed since an earlier commit.

    Results of another commit than the latest are marked old.
    """
    results = list(results)
    latest = max(results, key=lambda result: result.time_utc).commit if results else ""
    lines = [
        "# Results of the benchmarks",
        "",
        "Made by `make benchmarks RESULTS=docs/results.md`. Each value was measured beside its "
        "peer in the same run; a bar is the value that is required. *Waiting* is the share of the "
        "time in which some program waited for a CPU: above a tenth, times are those of a busy "
        "machine. "
        "*Noise* is half the interquartile range of a fixed job, repeated before. *Old* results "
        "are of another commit than the latest: the code they measured may have changed since.",
    ]
    if trend:
        lines += ["", "## What changed", "", trend[0], "", *trend[1:]]
    for result in results:
        waiting = "" if result.waiting_share is None else f", waiting {result.waiting_share:.0%}"
        noise = "" if result.noise_floor is None else f", noise {result.noise_floor:.1%}"
        old = "" if result.commit == latest else " (old)"
        lines += [
            "",
            f"## {result.title}",
            "",
            f"{result.time_utc}, {result.seconds:.0f} s{waiting}{noise}, "
            f"commit {result.commit}{old}, {result.processor}.",
            "",
        ]
        if result.error:
            lines += [f"It ended early: {result.error}.", ""]
        if not result.rows:
            if not result.error:
                command = f"make benchmarks ONLY={result.module}{' BUSY=1' if result.busy else ''}"
                lines.append(f"No rows: `{command}` says what they need.")
            continue
        lines += ["| what | value | peer | bar | holds |", "|---|---|---|---|---|"]
        for row in result.rows:
            peer = row.peer if row.peer_value is None else f"{row.peer}: {row.peer_value:.4g}"
            holds = "yes" if row.holds else "**no**"
            cells = (row.text, f"{row.value:.4g} {row.unit}", peer, row.bar, holds)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


@functools.cache
def commit_of(checkout: Path | None) -> str:
    """Return the commit of a checkout, this one by default; with "+" where the tree has changes."""
    where = Path(__file__).parents[1] if checkout is None else checkout
    changed = _git(where, "status", "--porcelain", "--untracked-files=no")
    return _git(where, "rev-parse", "--short=12", "HEAD") + ("+" if changed else "")


def _git(where: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=where, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _noise_floor() -> float:
    """Return half the interquartile range of a fixed job, over its median."""
    times = []
    for _ in range(NOISE_RUNS):
        began = time.perf_counter()
        hashlib.sha256(NOISE_JOB).digest()
        times.append(time.perf_counter() - began)
    low, middle, high = statistics.quantiles(times)
    return (high - low) / 2 / middle


def _waited_us() -> float | None:
    """Return the time in which some program waited for a CPU, since boot."""
    try:
        some = PRESSURE.read_text().splitlines()[0]
    except (OSError, IndexError):
        return None
    return float(some.rpartition("total=")[2])
