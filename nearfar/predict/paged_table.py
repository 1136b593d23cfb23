"""The prediction of a paged memory as text: a row per near budget."""

from __future__ import annotations

from rich.console import Console

from nearfar.base.tables import say, table
from nearfar.base.units import format_bytes, format_ns
from nearfar.documents.prediction import DevicePrediction, PagedAxis

MODELS = ("proportional", "touches")


def print_paged(device: DevicePrediction, console: Console) -> None:
    """Print slowdowns by near budget, beside simpler rules, and where time doubles."""
    axis = device.paged
    assert axis is not None
    rows = []
    for budget in axis.budgets:
        faults, slowdown = budget.faults, budget.shown_slowdown()
        by_model = {model.model: model.slowdown for model in budget.models}
        rows.append(
            [
                f"{budget.near_share:.0%}",
                format_bytes(budget.near_bytes),
                f"{faults.value / 1e3:.1f}",
                f"{faults.low / 1e3:.1f}-{faults.high / 1e3:.1f}",
                f"{slowdown.value:.2f}",
                f"{slowdown.low:.2f}-{slowdown.high:.2f}",
                *(f"{by_model[name]:.2f}" for name in MODELS),
            ]
        )
    columns = ["near", "bytes", "faults\n(1000)", "90 %", "slow-\ndown", "90 %"]
    console.print(
        table(
            [*columns, "propor-\ntional", "touches"],
            rows,
            title=f"{device.title} ({device.far}), {format_bytes(axis.footprint_bytes)} of memory, "
            f"{format_ns(axis.fault_ns)} a fault, model paged",
            caption="last columns, simpler rules: faults in proportion to the far share; a fault "
            "at every touch of another page",
            right=slice(0, None),
        )
    )
    say(console, axis_sentence(axis))


def axis_sentence(axis: PagedAxis) -> str:
    """Return the slowdowns by near budget and the cliff in one sentence."""
    ordered = sorted(axis.budgets, key=lambda budget: -budget.near_share)
    parts = [f"at {each.near_share:.0%} {each.slowdown.value:.2f}x" for each in ordered]
    cliff = axis.cliff_share
    end = (
        "time does not double at any budget"
        if cliff is None
        else f"time doubles at {cliff.value:.0%} ({cliff.low:.0%}-{cliff.high:.0%})"
    )
    return f"Slowdown by near share of its memory: {', '.join(parts)}; {end}."
