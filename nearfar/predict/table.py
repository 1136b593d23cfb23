"""A prediction as text for the terminal. Numbers come from the document alone."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nearfar.base.units import format_bytes, format_ns
from nearfar.documents import Prediction
from nearfar.documents.prediction import DevicePrediction, PhasePrediction, Pipeline
from nearfar.predict.derive import FASTER
from nearfar.predict.model import NAIVE_MODELS

TOP_OBJECTS = 8
"""Objects shown per device; the document lists more."""

MOST_IN_FULL = 3
"""Devices shown in full; of more, one line each: the rest would scroll away."""

HOW_TAKEN = {
    "added": "near+: what the memory adds to local DRAM on the machine it was published on",
    "ratio": "near*: times local DRAM on the machine it was published on",
    "published": "a number: as published",
    "measured": "measured here: as it is",
}
"""What the latency column says, by where it is from."""


def print_prediction(prediction: Prediction, console: Console) -> None:
    """Print phases, the objects that add most, and the caveats, device by device.

    Of many devices, one line each.
    """
    if len(prediction.devices) > MOST_IN_FULL:
        console.print(_overview(prediction))
        console.print(
            "Phases, objects and what each prediction cannot know: name up to "
            f"{MOST_IN_FULL} devices, or write the document with -o.",
            highlight=False,
        )
        return
    for number, device in enumerate(prediction.devices):
        if number:
            console.print()
        console.print(_phases(prediction, device))
        if len(device.total.models) > len(NAIVE_MODELS):
            console.print(_models(prediction, device))
        if device.total.ratios:
            console.print(_ratios(device.total))
        if device.total.objects:
            console.print(_objects(device.total))
        if device.pipeline is not None:
            console.print(_pipeline(device.pipeline))
        console.print("It cannot know:", style="bold")
        for caveat in device.caveats:
            console.print(f"- {caveat}", markup=False, highlight=False)


def _overview(prediction: Prediction) -> Table:
    near_ns = prediction.near_latency_ns
    near = escape(prediction.near) + (f" ({near_ns:.0f} ns)" if near_ns else "")
    shown = [name for name in NAIVE_MODELS if name != "null"]
    table = Table(
        "far memory",
        "ns",
        "slowdown (90 %)",
        *(name.removeprefix("latency-") for name in shown),
        "bound",
        title=f"Whole run: everything far instead of in {near}, model {prediction.model}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
        caption="ns: idle latency; "
        + "; ".join(HOW_TAKEN[how] for how in HOW_TAKEN if how in _ways(prediction))
        + ". slowdown: far over near CPU time; beside it what naive models say "
        "(null: always 1; ratio: of latencies; misses: each waits alone). "
        "bound: what the time is spent on.",
        caption_justify="left",
    )
    for column in table.columns:
        column.no_wrap = True
    for column in table.columns[1:-1]:
        column.justify = "right"
    slower = sorted(prediction.devices, key=lambda device: device.total.slowdown.value)
    faster = [d for d in slower if near_ns and d.latency_ns and d.latency_ns < FASTER * near_ns]
    slower = [device for device in slower if device not in faster]
    for group in (slower, faster):
        if group is faster and faster:
            table.add_section()
            table.add_row("faster than near here:")
        for device in group:
            total = device.total
            table.add_row(
                escape(device.far),
                _latency(device, near_ns),
                _slowdown(total),
                *(f"{m.slowdown:.2f}" for m in total.models if m.model in shown),
                total.bound,
            )
    return table


def _ways(prediction: Prediction) -> set[str]:
    return {device.latency_from or "" for device in prediction.devices}


def _latency(device: DevicePrediction, near_ns: float | None) -> str:
    """Say the latency as it was taken: from near's, or as it is."""
    latency_ns = device.latency_ns
    if latency_ns is None:
        return "-"
    if near_ns is None or device.latency_from in ("measured", "published"):
        return f"{latency_ns:.0f}"
    if device.latency_from == "ratio":
        return f"near*{latency_ns / near_ns:.2f}"
    return f"near+{latency_ns - near_ns:.0f}"


def _slowdown(phase: PhasePrediction) -> str:
    found = phase.slowdown
    return f"{found.value:.2f} ({found.low:.2f}-{found.high:.2f})"


def _phases(prediction: Prediction, device: DevicePrediction) -> Table:
    naive = [name.replace("-", "\n") for name in NAIVE_MODELS]
    table = Table(
        "phase",
        "near",
        "all far",
        "slowdown (90 %)",
        *naive,
        "bound",
        title=f"{escape(device.title)} ({escape(device.far)}), near {escape(prediction.near)}, "
        f"model {prediction.model}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for column in table.columns:
        column.no_wrap = True
    shown = device.phases if len(device.phases) == 1 else [*device.phases, device.total]
    for phase in shown:
        operations = phase.operations or 1.0
        suffix = "/op" if phase.operations else ""
        table.add_row(
            escape(phase.phase),
            format_ns(phase.near_time_ns.value / operations) + suffix,
            format_ns(phase.far_time_ns.value / operations),
            _slowdown(phase),
            *(f"{model.slowdown:.2f}" for model in phase.models if model.model in NAIVE_MODELS),
            phase.bound,
        )
    return table


def _models(prediction: Prediction, device: DevicePrediction) -> Table:
    """Show every model's slowdown, the one predicted with first."""
    shown = device.phases if len(device.phases) == 1 else [*device.phases, device.total]
    table = Table(
        "model",
        *(escape(phase.phase) for phase in shown),
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row(prediction.model, *(f"{phase.slowdown.value:.2f}" for phase in shown))
    for name in dict.fromkeys(one.model for phase in device.phases for one in phase.models):
        found = [{one.model: one.slowdown for one in phase.models} for phase in shown]
        table.add_row(name, *(f"{row[name]:.2f}" if name in row else "-" for row in found))
    table.caption = "slowdown by model; -: it lacks what it needs, see below"
    return table


def _ratios(total: PhasePrediction) -> Table:
    table = Table("pages near:far", "time", "slowdown", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for ratio in total.ratios:
        table.add_row(
            f"{ratio.near_pages}:{ratio.far_pages}",
            format_ns(ratio.time_ns),
            f"{ratio.slowdown:.2f}",
        )
    return table


def _pipeline(pipeline: Pipeline) -> Table:
    """Every split of the threads, the best in bold."""
    table = Table(
        "threads",
        "total",
        "from",
        "to",
        pipeline.generate,
        "idle",
        "transfer",
        pipeline.analyse,
        "idle",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title=f"{pipeline.sets} sets of {format_bytes(pipeline.set_bytes)}: "
        f"{escape(pipeline.generate)} near, {escape(pipeline.analyse)} far, two locks",
        title_justify="left",
        caption=f"all near, one after the other: {format_ns(pipeline.near_only_ns)}; "
        f"channels of both memories: {pipeline.channels}",
        caption_justify="left",
    )
    best = min(pipeline.splits, key=lambda split: split.total_ns.value)
    for split in pipeline.splits:
        table.add_row(
            f"{split.generate_threads} + {split.analyse_threads}",
            *(
                format_ns(ns)
                for ns in (
                    split.total_ns.value,
                    split.total_ns.low,
                    split.total_ns.high,
                    split.generate_ns,
                    split.generate_idle_ns,
                    split.transfer_ns,
                    split.analyse_ns,
                    split.analyse_idle_ns,
                )
            ),
            style="bold" if split is best else "",
        )
    return table


def _objects(total: PhasePrediction) -> Table:
    added = total.far_time_ns.value - total.near_time_ns.value
    table = Table(
        "object",
        "size",
        "adds if far",
        "share",
        "misses",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    faster = any(effect.added_ns.value < 0 for effect in total.objects)
    for effect in total.objects[:TOP_OBJECTS]:
        table.add_row(
            escape(effect.name),
            format_bytes(effect.size_bytes),
            format_ns(effect.added_ns.value),
            f"{effect.added_ns.value / added:.1%}" if added > 0 and not faster else "-",
            f"{effect.misses:.3g}",
        )
    notes = []
    if faster:
        notes.append("below zero: this far memory is the faster one for it")
    if len(total.objects) > TOP_OBJECTS:
        notes.append(f"{len(total.objects) - TOP_OBJECTS} more objects in the document")
    if notes:
        table.caption = "; ".join(notes)
    return table
