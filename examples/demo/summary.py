"""What the demo prints at its end: the answers, from the documents it made."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from nearfar.base.units import format_bytes, format_ns


def print_summary(
    title: str, run: dict[str, Any], prediction: dict[str, Any], plans: list[dict[str, Any]]
) -> None:
    """Print time per request on each memory, and what must stay near for each budget."""
    console = Console(width=118)
    console.print()
    console.rule(f"{title}: what if its memory were far?")
    console.print(_times(prediction))
    console.print(_placement(plans))
    if prediction.get("noise"):
        console.print(f"Noise: {prediction['noise']['sentence']}")
    sampling = run["sampling"]
    console.print(
        f"Traced at {run['instrumented_slowdown']:.2f}x the plain build's CPU time; one line in "
        f"{sampling['rate']} simulated, sampling error {100 * sampling['relative_error']:.1f} %. "
        f"Near memory measured here; far memories from published figures. Intervals are not "
        f"calibrated on these memories."
    )


def _times(prediction: dict[str, Any]) -> Table:
    table = Table("phase", "CPU time per request, near", title="All data far: how much slower?")
    for device in prediction["devices"]:
        table.add_column(device["title"])
    for phases in zip(*(device["phases"] for device in prediction["devices"]), strict=True):
        if phases[0]["near_ns_per_operation"] is None:
            continue
        cells = []
        for phase in phases:
            slowdown = phase["slowdown"]
            cells.append(
                f"{format_ns(phase['far_ns_per_operation']['value'])}, "
                f"{slowdown['value']:.2f}x ({slowdown['low']:.2f}-{slowdown['high']:.2f})"
            )
        near = format_ns(phases[0]["near_ns_per_operation"])
        table.add_row(phases[0]["phase"], near, *cells)
    totals = [device["total"]["slowdown"] for device in prediction["devices"]]
    table.add_row(
        "whole run", "", *(f"{t['value']:.2f}x ({t['low']:.2f}-{t['high']:.2f})" for t in totals)
    )
    return table


NAMES_SHOWN = 3
"""Objects named per plan; the report has them all."""


def _placement(plans: list[dict[str, Any]]) -> Table:
    table = Table(title="What must stay near, and what that saves")
    table.add_column("far memory")
    table.add_column("near budget")
    table.add_column("slowdown")
    table.add_column("all far")
    table.add_column("memory cost")
    table.add_column("objects near, the most sensitive first", overflow="fold")
    for plan in plans:
        bars = {bar["name"]: bar for bar in plan["alternatives"]}
        best = bars.get("optimal", bars["greedy"])
        near = sorted(
            (item for item in plan["placements"] if item["memory"] == "near"),
            key=lambda item: -item["added_ns_if_far"]["value"],
        )
        names = "; ".join(_short(item["name"]) for item in near[:NAMES_SHOWN])
        if len(near) > NAMES_SHOWN:
            names += f"; and {len(near) - NAMES_SHOWN} more"
        share = plan["budget_bytes"] / plan["footprint_bytes"]
        table.add_row(
            plan["far"],
            f"{share:.0%}, {format_bytes(plan['budget_bytes'])}",
            f"{best['slowdown']['value']:.2f}x",
            f"{bars['all-far']['slowdown']['value']:.2f}x",
            f"{best['cost_relative']:.0%}",
            names or "none: no object gains",
        )
    return table


def _short(name: str) -> str:
    """Return the allocating function and the last caller that tells it apart, without lines."""
    parts = [part.split(" ")[0] for part in name.split(" < ")]
    return parts[0] if len(parts) == 1 else f"{parts[0]} < {parts[-1]}"
