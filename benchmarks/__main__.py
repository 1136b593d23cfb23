"""`make benchmarks [ONLY=name] [AGAIN=1] [RESULTS=FILE]`: runs the files in rows/, prints a table.

Results are kept per file: without ONLY, files measured at this commit and on this processor are
not measured again, so an interrupted run goes on; AGAIN=1 measures them nevertheless. ONLY measures
the files whose names contain it. All results are written to build/benchmarks.json.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks import Row
from benchmarks import rows as row_files
from benchmarks.results import Result, Watch, keep, kept, page
from nearfar.base.files import write_atomically
from nearfar.documents import producer

OUTPUT = Path("build/benchmarks.json")


def main() -> int:
    """Measure what is asked for; exit with 1 if it misses a bar or fails."""
    only, again = os.environ.get("ONLY", ""), bool(os.environ.get("AGAIN"))
    console = Console()
    modules = sorted(
        module.name
        for module in pkgutil.iter_modules(row_files.__path__)
        if not module.name.startswith("_")
    )
    asked = [name for name in modules if only in name]
    if not asked:
        console.print(f"no file in benchmarks/rows has {only!r} in its name", style="red")
        return 2
    known = {name: last for name in asked if (last := kept(name)) is not None}
    finished = {name for name, last in known.items() if last.current() and not (only or again)}
    wanted = [name for name in asked if name not in finished]
    if finished:
        console.print(f"{len(finished)} of {len(asked)} files are of this commit; AGAIN=1 repeats")
    for at, name in enumerate(wanted):
        took = f", {known[name].seconds:.0f} s last time" if name in known else ""
        console.print(f"[dim]measuring {name} ({at + 1} of {len(wanted)}{took}) ...[/dim]")
        result = _measure(name)
        keep(result)
        if result.error:
            console.print(f"{name}: {result.error}", style="red", markup=False)
    results = [last for name in modules if (last := kept(name)) is not None]
    shown = [last for last in results if last.module in asked]
    console.print(_table(shown))
    _write(results)
    console.print(f"wrote {OUTPUT}")
    return 0 if all(not last.error and all(row.holds for row in last.rows) for last in shown) else 1


def _measure(name: str) -> Result:
    watch, rows, error = Watch(), list[Row](), ""
    try:
        rows.extend(importlib.import_module(f"benchmarks.rows.{name}").rows())
    except Exception as problem:  # of a row: the others are measured nevertheless
        error = f"{type(problem).__name__}: {problem}"
    return watch.result(name, rows, error)


def _table(results: list[Result]) -> Table:
    table = Table("what", "value", "peer", "ratio", "bar", "holds", "")
    for result in results:
        for row in result.rows:
            table.add_row(
                row.name,
                f"{row.value:.4g} {row.unit}",
                row.peer if row.peer_value is None else f"{row.peer}: {row.peer_value:.4g}",
                "" if row.ratio is None else f"{row.ratio:.3g}",
                row.bar,
                "yes" if row.holds else "NO",
                "" if result.current() else f"old: {result.commit}",
            )
    return table


def _write(results: list[Result]) -> None:
    OUTPUT.parent.mkdir(exist_ok=True)
    rows = [row for result in results for row in result.rows]
    content = msgspec.json.encode({"producer": producer(sys.argv), "rows": rows, "files": results})
    write_atomically(OUTPUT, msgspec.json.format(content, indent=1))
    if path := os.environ.get("RESULTS"):
        write_atomically(Path(path), page(results))


if __name__ == "__main__":
    sys.exit(main())
