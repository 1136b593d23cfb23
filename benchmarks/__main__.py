"""`make benchmarks [ONLY=name]`: runs every file in rows/, prints a table, writes JSON."""

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
from nearfar.base.files import write_atomically
from nearfar.documents import producer

OUTPUT = Path("build/benchmarks.json")


def main() -> int:
    """Measure every row; exit with 1 if one misses its bar."""
    only = os.environ.get("ONLY", "")
    console = Console()
    rows: list[Row] = []
    for module in sorted(pkgutil.iter_modules(row_files.__path__), key=lambda module: module.name):
        if module.name.startswith("_") or only not in module.name:
            continue
        console.print(f"[dim]measuring {module.name} ...[/dim]")
        rows.extend(importlib.import_module(f"benchmarks.rows.{module.name}").rows())
    table = Table("what", "value", "peer", "ratio", "bar", "holds")
    for row in rows:
        table.add_row(
            row.name,
            f"{row.value:.4g} {row.unit}",
            row.peer if row.peer_value is None else f"{row.peer}: {row.peer_value:.4g}",
            "" if row.ratio is None else f"{row.ratio:.3g}",
            row.bar,
            "yes" if row.holds else "NO",
        )
    console.print(table)
    OUTPUT.parent.mkdir(exist_ok=True)
    content = msgspec.json.encode({"producer": producer(sys.argv), "rows": rows})
    write_atomically(OUTPUT, msgspec.json.format(content, indent=1))
    console.print(f"wrote {OUTPUT}")
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
