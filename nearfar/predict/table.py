"""A prediction as text for the terminal, from its document alone."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from nearfar.base.tables import add_row, say, table
from nearfar.base.units import format_bytes, format_ns
from nearfar.documents import Prediction
from nearfar.documents.prediction import (
    DevicePrediction,
    PhasePrediction,
    Pipeline,
    TimeBreakdown,
)
from nearfar.predict.derive import FASTER_RATIO, NOT_VERIFIED
from nearfar.predict.model import NAIVE_MODELS
from nearfar.predict.paged_table import print_paged

MAX_OBJECTS = 8
"""Objects shown per device; the document has more."""

MAX_EFFECTS = 3
"""Inputs shown of an explanation; the document has all."""

MAX_FULL_DEVICES = 3
"""Devices shown in full; more get one line each, or the first would scroll away."""

UNVERIFIED = "!: figures that are not verified, do not quote. "
"""The caption starts with this where a memory's figures are not verified."""

LATENCY_NOTES = {
    "added": "near+: what the memory adds to local DRAM on the machine it was published on",
    "ratio": "near*: times local DRAM on the machine it was published on",
    "published": "a number: as published",
    "measured": "measured here: as measured",
}
"""Meaning of an entry in the latency column, by the origin of the latency."""


def print_prediction(prediction: Prediction, console: Console) -> None:
    """Print phases, the objects that add most, and the caveats, device by device.

    More than `MAX_FULL_DEVICES` devices get one line each.
    """
    if len(prediction.devices) > MAX_FULL_DEVICES:
        console.print(_overview(prediction))
        say(
            console,
            "Phases, objects and caveats of each prediction: name up to "
            f"{MAX_FULL_DEVICES} devices, or write the document with -o.",
        )
        _print_caveats(console, "Caveats of all of them:", _common_caveats(prediction))
        _print_noise(prediction, console)
        return
    common = _common_caveats(prediction) if len(prediction.devices) > 1 else []
    for number, device in enumerate(prediction.devices):
        if number:
            console.print()
        if device.paged is not None:
            print_paged(device, console)
        else:
            console.print(_phases(prediction, device))
        if device.paged is None and len(device.total.models) > len(NAIVE_MODELS):
            console.print(_models(prediction, device))
        if device.total.ratios:
            console.print(_ratios(device.total))
        if device.total.objects:
            console.print(_objects(device.total))
        for entry in device.explained:
            console.print(_explained(entry))
        if device.pipeline is not None:
            console.print(_pipeline(device.pipeline))
        own = [caveat for caveat in device.caveats if caveat not in common]
        _print_caveats(console, "Caveats:", own)
    _print_caveats(console, "Caveats of all of them:", common)
    _print_noise(prediction, console)


def _common_caveats(prediction: Prediction) -> list[str]:
    """Return the caveats that every far memory has."""
    first, *others = [device.caveats for device in prediction.devices]
    return [caveat for caveat in first if all(caveat in each for each in others)]


def _print_caveats(console: Console, title: str, caveats: list[str]) -> None:
    if caveats:
        say(console, title, style="bold")
        say(console, *(f"- {caveat}" for caveat in caveats))


def _print_noise(prediction: Prediction, console: Console) -> None:
    if prediction.noise is not None:
        say(console, f"Noise: {prediction.noise.sentence}")


def _overview(prediction: Prediction) -> Table:
    near_ns = prediction.near_latency_ns
    near = prediction.near + (f" ({near_ns:.0f} ns)" if near_ns else "")
    shown = [name for name in NAIVE_MODELS if name != "null"]
    origins = _origins(prediction)
    notes = "; ".join(note for origin, note in LATENCY_NOTES.items() if origin in origins)
    names = [name.removeprefix("latency-") for name in shown]
    overview = table(
        ["far memory", "ns", "slowdown (90 %)", *names, "bound"],
        title=f"Whole run: everything far instead of in {near}, model {prediction.model}",
        caption=f"{UNVERIFIED if any(map(_unverified, prediction.devices)) else ''}"
        f"ns: idle latency; {notes}. slowdown: far over near CPU time, followed by naive "
        "models (null: always 1; ratio: of latencies; misses: each waits alone). "
        "bound: what limits the time.",
        right=slice(1, -1),
        wrap=False,
        edge=False,
    )
    # A long name breaks; no figure is cut.
    overview.columns[0].no_wrap, overview.columns[0].overflow = False, "fold"
    devices = sorted(prediction.devices, key=lambda device: device.total.slowdown.value)
    faster = [
        d for d in devices if near_ns and d.latency_ns and d.latency_ns < FASTER_RATIO * near_ns
    ]
    for group in ([device for device in devices if device not in faster], faster):
        if group is faster and faster:
            overview.add_section()
            add_row(overview, ["faster than near:"])
        for device in group:
            total = device.total
            by_model = {model.model: f"{model.slowdown:.2f}" for model in total.models}
            naive = [by_model.get(name, "-") for name in shown]
            name = device.far + ("!" if _unverified(device) else "")
            if device.paged is not None:
                name = f"{name} at {device.paged.budgets[0].near_share:.0%} near"
            cells = [name, _latency(device, near_ns), _slowdown(total), *naive, total.bound]
            add_row(overview, cells)
    return overview


def _unverified(device: DevicePrediction) -> bool:
    return any(NOT_VERIFIED in caveat for caveat in device.caveats)


def _origins(prediction: Prediction) -> set[str]:
    return {device.latency_from or "" for device in prediction.devices}


def _latency(device: DevicePrediction, near_ns: float | None) -> str:
    """Return the latency as text, relative to near latency where it was derived from it."""
    latency_ns = device.latency_ns
    if latency_ns is None:
        return "-"
    if near_ns is None or device.latency_from in ("measured", "published"):
        return f"{latency_ns:.0f}"
    if device.latency_from == "ratio":
        return f"near*{latency_ns / near_ns:.2f}"
    return f"near+{latency_ns - near_ns:.0f}"


def _slowdown(phase: PhasePrediction) -> str:
    slowdown = phase.slowdown
    return f"{slowdown.value:.2f} ({slowdown.low:.2f}-{slowdown.high:.2f})"


def _shown(device: DevicePrediction) -> list[PhasePrediction]:
    return device.phases if len(device.phases) == 1 else [*device.phases, device.total]


def _phases(prediction: Prediction, device: DevicePrediction) -> Table:
    def cells(phase: PhasePrediction) -> list[str]:
        operations = phase.operations or 1.0
        return [
            phase.phase,
            format_ns(phase.near_time_ns.value / operations) + ("/op" if phase.operations else ""),
            format_ns(phase.far_time_ns.value / operations),
            _slowdown(phase),
            *(f"{model.slowdown:.2f}" for model in phase.models if model.model in NAIVE_MODELS),
            phase.bound,
        ]

    naive = [name.replace("-", "\n") for name in NAIVE_MODELS]
    return table(
        ["phase", "near", "all far", "slowdown (90 %)", *naive, "bound"],
        [cells(phase) for phase in _shown(device)],
        title=f"{device.title} ({device.far}), near {prediction.near}, model {prediction.model}",
        wrap=False,
    )


def _models(prediction: Prediction, device: DevicePrediction) -> Table:
    """Return every model's slowdown, the default first."""
    shown = _shown(device)
    slowdowns = [{model.model: model.slowdown for model in phase.models} for phase in shown]
    names = dict.fromkeys(model.model for phase in device.phases for model in phase.models)
    rows = [[prediction.model, *(f"{phase.slowdown.value:.2f}" for phase in shown)]]
    for name in names:
        rows.append([name, *(f"{by[name]:.2f}" if name in by else "-" for by in slowdowns)])
    return table(
        ["model", *(phase.phase for phase in shown)],
        rows,
        caption="slowdown by model; -: an input is missing, see below",
        right=slice(1, None),
    )


def _ratios(total: PhasePrediction) -> Table:
    rows = [
        [f"{r.near_pages}:{r.far_pages}", format_ns(r.time_ns), f"{r.slowdown:.2f}"]
        for r in total.ratios
    ]
    return table(["pages near:far", "time", "slowdown"], rows)


def _pipeline(pipeline: Pipeline) -> Table:
    """Return every split of the threads, the best in bold."""
    generate, analyse = pipeline.generate, pipeline.analyse
    made = table(
        ["threads", "total", "from", "to", generate, "idle", "transfer", analyse, "idle"],
        title=f"{pipeline.sets} sets of {format_bytes(pipeline.set_bytes)}: {generate} near, "
        f"{analyse} far, two locks",
        caption=f"all near, one after the other: {format_ns(pipeline.near_only_ns)}; "
        f"channels of both memories: {pipeline.channels}",
    )
    best = min(pipeline.splits, key=lambda split: split.total_ns.value)
    for split in pipeline.splits:
        total = split.total_ns
        times_ns = [total.value, total.low, total.high, split.generate_ns, split.generate_idle_ns]
        times_ns += [split.transfer_ns, split.analyse_ns, split.analyse_idle_ns]
        threads = f"{split.generate_threads} + {split.analyse_threads}"
        add_row(made, [threads, *map(format_ns, times_ns)], "bold" if split is best else "")
    return made


def _explained(entry: TimeBreakdown) -> Table:
    """Return how one time is composed."""

    def number(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    rows = [
        ["misses", f"{entry.misses:.3g}", ""],
        ["lines written back", f"{entry.write_backs:.3g}", ""],
        ["time of the phase", format_ns(entry.near_time_ns), format_ns(entry.far_time_ns)],
        ["share of memory", number(entry.memory_share_near, ".0%"), ""],
        ["misses in flight", number(entry.overlap_near, ".1f"), number(entry.overlap_far, ".1f")],
        [
            "lines at full bandwidth",
            number(entry.bandwidth_share_near, ".0%"),
            number(entry.bandwidth_share_far, ".0%"),
        ],
        ["bandwidth drawn", "", f"{entry.far_gb_per_s:.2f} GB/s"],
        ["limited by", "", entry.bound],
        ["adds", "", format_ns(entry.added_ns)],
    ]
    rows += [
        [effect.input, format_ns(effect.low_ns), f"+{format_ns(effect.high_ns)}"]
        for effect in entry.effects[:MAX_EFFECTS]
    ]
    title = f"object {entry.name} in phase {entry.phase}" if entry.is_object else entry.name
    return table(
        ["", "near", "far"],
        rows,
        title=f"How the time came about: {title}",
        caption="last rows: inputs that move what it adds most, to the ends of their ranges",
    )


def _objects(total: PhasePrediction) -> Table:
    added = total.far_time_ns.value - total.near_time_ns.value
    faster = any(effect.added_ns.value < 0 for effect in total.objects)
    rows = [
        [
            effect.name,
            format_bytes(effect.size_bytes),
            format_ns(effect.added_ns.value),
            f"{effect.added_ns.value / added:.1%}" if added > 0 and not faster else "-",
            f"{effect.misses:.3g}",
        ]
        for effect in total.objects[:MAX_OBJECTS]
    ]
    notes = ["below zero: this far memory is faster for the object"] if faster else []
    if len(total.objects) > MAX_OBJECTS:
        notes.append(f"{len(total.objects) - MAX_OBJECTS} more objects in the document")
    columns = ["object", "size", "adds if far", "share", "misses"]
    return table(columns, rows, caption="; ".join(notes))
