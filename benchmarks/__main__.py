"""`make benchmarks [NAME=VALUE ...]`: runs the files in rows/, each in its process; prints a table.

    ONLY=name       the file of that name, or those whose names contain it, however long they take;
                    without it, files that
                    were measured at this commit and on this processor are not measured again (an
                    interrupted run goes on), and each is stopped after three times its SECONDS
    AGAIN=1         measure them nevertheless
    LONG=1          also the files that say they are long
    PLAN=1          only print which files would run, and for how long
    RESULTS=FILE    write all results as a page (docs/results.md)
    QUICK=1         the quick files, several times; alarms where one is worse than before by more
                    than 5 % and not by chance
    BUSY=1          measure times beside one busy core; these results are kept beside the quiet ones
    BASE=FOLDER     with QUICK=1: another built checkout, measured in turns, to compare with

Files that only compute run two at a time, then those that measure times run alone. All results are
written to build/benchmarks.json. Exit code 1: a bar is missed, a file failed, or an alarm.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import history
from benchmarks.busy_core import busy_core
from benchmarks.child import measured
from benchmarks.plan import QUICK_ROUNDS, RowFile, expected_s, row_files, wall_seconds
from benchmarks.results import Result, Watch, commit_of, keep, kept, page
from nearfar.base.files import write_atomically

OUTPUT = Path("build/benchmarks.json")
ROWS = Path(__file__).parent / "rows"
PACKAGE = "benchmarks.rows"


def main() -> int:
    """Measure what is asked for; exit with 1 if it misses a bar or fails."""
    only, console = os.environ.get("ONLY", ""), Console()
    if sys.argv[1:]:
        console.print(__doc__, markup=False)
        return 0 if sys.argv[1] in ("-h", "--help") else 2
    files = row_files(ROWS)
    busy = bool(os.environ.get("BUSY"))
    if busy and os.environ.get("QUICK"):
        console.print("QUICK=1 compares quiet measurements: leave out BUSY=1", style="red")
        return 2
    if os.environ.get("QUICK"):
        return _quick([file for file in files if file.quick and only in file.name], console)
    asked = [file for file in files if file.name == only] or [
        f for f in files if only in f.name and (only or os.environ.get("LONG") or not f.long)
    ]
    if busy:
        asked = [file for file in asked if not file.computes]
    if not asked:
        which = "measures times and has" if busy else "has"
        console.print(f"no file in benchmarks/rows {which} {only!r} in its name", style="red")
        return 2
    known = {f.name: last for f in files if (last := kept(f.name, busy)) is not None}
    again = bool(only or os.environ.get("AGAIN"))
    wanted = [f for f in asked if again or f.name not in known or not known[f.name].current()]
    last_s = {name: last.seconds for name, last in known.items() if not last.error}
    expected = wall_seconds(wanted, last_s, limited=not only)
    console.print(
        f"{len(asked) - len(wanted)} of {len(asked)} files are of this commit; the others take "
        f"about {expected / 60:.0f} min"
    )
    if os.environ.get("PLAN"):
        for file in wanted:
            console.print(f"  {file.name}: {expected_s(file, last_s, limited=not only):.0f} s")
        return 0
    now = []
    with busy_core() if busy else contextlib.nullcontext():
        for result in _measure_all(wanted, console, busy):
            keep(result)
            now.append(result)
    history.remember(now)
    results = [
        last
        for f in files
        for beside in (False, True)
        if (last := kept(f.name, beside)) is not None
    ]
    names = {file.name for file in asked}
    shown = [last for last in results if last.module in names and last.busy == busy]
    _deliver(results, shown, console)
    return 0 if all(not last.error and all(row.holds for row in last.rows) for last in shown) else 1


def _measure_all(files: Sequence[RowFile], console: Console, busy: bool) -> Iterator[Result]:
    """Yield the results: what only computes two at a time, then what measures times, alone."""
    computing = [file for file in files if file.computes]
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        yield from pool.map(lambda file: _measure(file, console), computing)
    for file in files:
        if not file.computes:
            yield _measure(file, console, busy=busy)


def _measure(
    file: RowFile, console: Console, checkout: Path | None = None, busy: bool = False
) -> Result:
    console.print(f"[dim]measuring {file.name} (about {file.seconds:.0f} s) ...[/dim]")
    watch = Watch(checkout, busy)
    limit_s = None if os.environ.get("ONLY") else file.seconds
    rows, error = measured(f"{PACKAGE}.{file.name}", limit_s, checkout)
    if error:
        console.print(f"{file.name}: {error}", style="red", markup=False)
    return watch.result(file.name, rows, error)


def _quick(files: Sequence[RowFile], console: Console) -> int:
    """Measure quick files in turns with those of another checkout, or compare with the last."""
    base = Path(given).resolve() if (given := os.environ.get("BASE")) else None
    checkouts = [None] if base is None else [base, None]
    console.print(
        f"{len(files)} quick files, {QUICK_ROUNDS} times in {len(checkouts)} checkouts: about "
        f"{QUICK_ROUNDS * len(checkouts) * sum(file.seconds for file in files) / 60:.0f} min"
    )
    commit = commit_of(None)
    before = history.folder(commit_of(base)) if base else history.earlier(commit)
    failed = False
    for _ in range(QUICK_ROUNDS):
        for checkout in checkouts:
            results = [_measure(file, console, checkout) for file in files]
            history.remember(results)
            failed |= any(result.error for result in results)
            if checkout is None:
                for result in results:
                    keep(result)
    if before is None or commit.endswith("+"):
        why = "the tree has changes" if commit.endswith("+") else "no earlier commit is known here"
        console.print(f"nothing to compare with: {why}")
        return int(failed)
    alarms = history.alarms(before, commit)
    for alarm in alarms:
        console.print(f"worse than {before.name}: {alarm}", style="red", markup=False)
    console.print(f"{len(alarms)} alarms against {before.name}")
    return int(failed or bool(alarms))


def _deliver(results: Sequence[Result], shown: Sequence[Result], console: Console) -> None:
    """Print a table of `shown`; write all results and, where asked for, their page."""
    console.print(_table(shown))
    history.write_rows(OUTPUT, [row for last in results for row in last.named_rows()], results)
    console.print(f"wrote {OUTPUT}")
    if path := os.environ.get("RESULTS"):
        commit = commit_of(None)
        before = history.earlier(commit)
        changed = history.trend(before, commit) if before else []
        write_atomically(Path(path), page(results, changed))


def _table(results: Sequence[Result]) -> Table:
    table = Table("what", "value", "peer", "ratio", "bar", "holds", "")
    for result in results:
        for row in result.named_rows():
            table.add_row(
                row.text,
                f"{row.value:.4g} {row.unit}",
                row.peer if row.peer_value is None else f"{row.peer}: {row.peer_value:.4g}",
                "" if row.ratio is None else f"{row.ratio:.3g}",
                row.bar,
                "yes" if row.holds else "NO",
                _age(result),
            )
    return table


def _age(result: Result) -> str:
    """Return whether a result is of this tree."""
    if result.current():
        return ""
    return "uncommitted" if result.commit.endswith("+") else f"old: {result.commit[:8]}"


if __name__ == "__main__":
    sys.exit(main())
