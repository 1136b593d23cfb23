"""The demo's last part: the same program in compressed memory here, predicted and measured."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from nearfar.base.units import format_bytes

BUDGETS = "90%,75%"
MEASURE = ("--quick", "--largest", "16MiB", "--repetitions", "2")
"""What a page costs, in a few seconds."""
MAX_PREDICTED_S = 30.0
"""Predicted CPU time of both runs beyond which they are left out: the demo is to stay short."""


@dataclass(frozen=True)
class PagedDemo:
    """Where the demo's documents are, and how it runs a verb."""

    nearfar: Callable[..., None]
    program: Path
    """The executable `nearfar`."""
    folder: Path
    say: Callable[[str], None]

    def why_not(self) -> str:
        """Return why this machine may not set up compressed memory; empty: it may."""
        done = subprocess.run(
            [self.program, "measure", "zram"], capture_output=True, text=True, check=False
        )
        lines = done.stderr.strip().splitlines() or ["nearfar measure zram failed"]
        return "" if done.returncode == 0 else lines[-1].removeprefix("nearfar: ")

    def records(self, run: Path, near: Path, words: Sequence[str]) -> list[Path]:
        """Measure zram, predict two budgets, and run the program at both; return the records.

        `words`: what follows `nearfar profile -o run.json`, for the program and its driver.
        """
        if why := self.why_not():
            self.say(f"compressed memory is only predicted, not run, here: {why}")
            return []
        zram, paged = self.folder / "zram.json", self.folder / "paged.json"
        self.nearfar(
            *("measure", "zram", "--yes", *MEASURE, "--quiet", "-o", zram),
        )
        self.nearfar(
            *("predict", run, "--near", near, "--far", zram, "--near-budget", BUDGETS),
            *("-o", paged, "--quiet"),
        )
        budgets = self.budgets()
        predicted_s = sum(row["time_ns"]["value"] for row in budgets) / 1e9
        if predicted_s > MAX_PREDICTED_S:
            self.say(f"compressed memory is not run: both runs would take {predicted_s:.0f} s")
            return []
        made = []
        for row in budgets:
            record = self.folder / f"zram-{row['near_share']:.0%}.json".replace("%", "")
            limit = f"{row['near_bytes']}B"
            self.nearfar(
                *("run", "--far", "zram", "--near", limit, "--yes", "-q", "-o", record),
                *words,
            )
            made.append(record)
        return made

    def budgets(self) -> list[dict[str, Any]]:
        """Return the budgets of the prediction."""
        prediction = json.loads((self.folder / "paged.json").read_text())
        return list(prediction["devices"][0]["paged"]["budgets"])


def print_paged(title: str, page: dict[str, Any]) -> None:
    """Print the page's table of runs at limits; `page` is the report's data."""
    rows = [row for paged in page["paged"] for row in paged["measured"]]
    if not rows:
        return
    table = Table(title=f"{title} with part of its memory in zram: predicted, and measured here")
    for name in ("near", "predicted slowdown", "measured here", "predicted faults", "counted here"):
        table.add_column(name, justify="right")
    for row in rows:
        predicted = row["predicted"]
        table.add_row(
            f"{row['near_share']:.0%}, {format_bytes(row['near_bytes'])}",
            f"{predicted['value']:.2f}x ({predicted['low']:.2f}-{predicted['high']:.2f})",
            f"{row['slowdown']:.2f}x",
            f"{row['predicted_faults']['value']:,.0f}",
            f"{row['faults']:,}",
        )
    Console(width=118).print(table)
