"""Tables: steps that the published sets omit, the time that this hides, the cost of a sync."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from statistics import geometric_mean

from nearfar.base.estimate import Estimate
from nearfar.documents.study import TextTable
from nearfar_bench.slowdowns import slowdown
from nearfar_studies.figures import FOLDER
from nearfar_studies.intset_runs import (
    DISK,
    DRAM,
    PUBLISHED,
    SAFE,
    STRUCTURES,
    SYNCED,
    UNLOGGED,
    SetCase,
    SetRuns,
)

NAMES = {"list": "sorted list", "hash": "hash set", "skip": "skip list"}


def left_out() -> TextTable:
    """Return the steps that the published programs omit."""
    return TextTable(
        title="steps that the published programs omit, and the state after a power cut",
        columns=["place", "what the program does", "possible state"],
        rows=tomllib.loads((FOLDER / "intset-left-out.toml").read_text())["rows"],
    )


def hidden(runs: SetRuns, with_disk: bool) -> TextTable:
    """Return times without the steps for safety over the safe set's, and counts to explain them."""
    size = runs.plan.sizes[0]
    memories = [DRAM, *([DISK] if with_disk else [])]
    rows = []
    for structure in STRUCTURES:
        for safety in (SAFE, UNLOGGED, PUBLISHED):
            counted = runs.counts.get(SetCase(structure, size, DRAM, safety))
            changes = runs.changes.get(SetCase(structure, size, DRAM, safety), 0.0)
            ratios = [
                "1"
                if safety == SAFE
                else with_interval(
                    slowdown(
                        runs.throughput[SetCase(structure, size, memory)],
                        runs.throughput[SetCase(structure, size, memory, safety)],
                    )
                )
                for memory in memories
            ]
            counts = [
                "-" if not counted or not changes else f"{counted[name] / changes:.1f}"
                for name in ("transactions", "snapshots", "flush_calls", "fences")
            ]
            rows.append([NAMES[structure], safety, *ratios, *counts])
    return TextTable(
        title="time without these steps over the safe set's time, and counts per change "
        "(unlogged: ours without snapshots; published: their steps; both lose data in a crash)",
        columns=[
            "set",
            "safety",
            *(f"time on {memory}" for memory in memories),
            "transactions",
            "snapshots",
            "ranges flushed",
            "fences",
        ],
        rows=rows,
    )


def sync_rule(runs: SetRuns, with_disk: bool) -> list[TextTable]:
    """Test on this machine's disk the rule that predicts times on the SSD."""
    if not with_disk:
        return []
    rows = []
    for structure in STRUCTURES:
        case = SetCase(structure, runs.plan.sizes[0], DRAM)
        syncs = runs.counts[case]["flush_calls"]
        here = mean(runs.ns(SetCase(structure, case.size, SYNCED)))
        predicted_ns = [
            here + syncs * (on_disk - kernel)
            for on_disk, kernel in zip(runs.sync_ns[DISK], runs.sync_ns[SYNCED], strict=True)
        ]
        measured = mean(runs.ns(SetCase(structure, case.size, DISK)))
        rows.append(
            [
                NAMES[structure],
                f"{syncs:.2f}",
                " to ".join(f"{end / 1e3:.0f}" for end in sorted(predicted_ns)),
                f"{measured / 1e3:.0f}",
                f"{measured / geometric_mean(predicted_ns) - 1:+.0%}",
            ]
        )
    last, other = (f"{ns / 1e3:.0f}" for ns in runs.sync_ns[DISK])
    return [
        TextTable(
            title=f"test of the SSD's rule on this disk, whose msync takes {last} us for the page "
            f"last synced and {other} us for another",
            columns=["set", "syncs per operation", "predicted, us", "measured, us", "error"],
            rows=rows,
        )
    ]


def mean(values: Sequence[float]) -> float:
    """Return the mean."""
    return sum(values) / len(values)


def with_interval(estimate: Estimate) -> str:
    """Return an estimate with its interval."""
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
