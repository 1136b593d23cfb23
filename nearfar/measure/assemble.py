"""Assembly of the results of all parts into one DeviceProfile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nearfar.base.units import LINE_BYTES
from nearfar.devices.stalls import stalled_latency
from nearfar.documents import DeviceProfile
from nearfar.documents.device import LatencyFigure, MeasuredContext, Source
from nearfar.documents.header import Producer
from nearfar.measure import environment, figures
from nearfar.measure.figures import effective_llc_bytes
from nearfar.measure.infer.findings import Findings
from nearfar.measure.native import _measure
from nearfar.measure.parts import PartResults, TimeBudget
from nearfar.measure.rounds import Rounds
from nearfar.measure.sampler import Sampler
from nearfar.measure.subject import OpenedMemory
from nearfar.measure.surfaces import Samples, Surface, SurfaceFigures, SurfacePlan
from nearfar.measure.surfaces._surface import SOURCE
from nearfar.memories.spec import parse_spec
from nearfar.options.measure import MeasureOptions

MIN_REPEATED = 4
"""Samples of a point from which its halves show noise: two in each."""


@dataclass(frozen=True)
class Assembly:
    """Results of all parts of one measurement."""

    options: MeasureOptions
    opened: OpenedMemory
    plan: SurfacePlan
    surfaces: Mapping[str, Surface]
    samples: Mapping[str, Samples]
    """By surface."""
    rounds: Rounds
    results: PartResults
    budget: TimeBudget
    before: environment.Snapshot
    after: environment.Snapshot
    seconds: float
    producer: Producer


def assemble(made: Assembly) -> DeviceProfile:
    """Return the profile; computes all intervals, which takes some ms a figure."""
    opened, options = made.opened, made.options
    parts = SurfaceFigures()
    for name, surface in made.surfaces.items():
        if made.samples[name]:
            parts.add(surface.figures(made.samples[name], made.plan))
    if made.results.instrument is not None:
        parts.latency += not_yet(parts.latency, made.results.instrument.latency)
    device = DeviceProfile(
        producer=made.producer,
        name=options.name or parse_spec(options.memory).slug(),
        title=options.title or f"{opened.what}, measured",
        technology=opened.technology,
        capacity_bytes=opened.capacity_bytes,
        durable=opened.durable,
        persists_through=opened.persists_through,
        sources={SOURCE: Source(citation=opened.citation)},
        latency=parts.latency,
        bandwidth=parts.bandwidth,
        chains=parts.chains,
        loaded_latency=parts.loaded_latency,
        measured=_context(made, parts.warnings),
    )
    if (findings := made.results.findings) is not None:
        device.buffers = findings.buffers
        device.write_queues = findings.write_queues
        device.interleaves = findings.interleaves
        device.stalls = findings.stalls
        device.not_seen = findings.not_seen
        device.granularity_bytes = findings.granularity_bytes or LINE_BYTES
    return device


def not_yet(figures: Sequence[LatencyFigure], more: Sequence[LatencyFigure]) -> list[LatencyFigure]:
    """Return those of `more` that are not in `figures`: a profile has each value once."""
    present = {_settings_of(figure) for figure in figures}
    return [figure for figure in more if _settings_of(figure) not in present]


def _settings_of(figure: LatencyFigure) -> tuple[object, ...]:
    return (
        figure.instruction,
        figure.pattern,
        figure.region_bytes,
        figure.page_bytes,
        figure.stride_bytes,
    )


def _context(made: Assembly, of_figures: list[str]) -> MeasuredContext:
    opened, samples = made.opened, made.rounds.samples
    facts = made.plan.facts
    recorded, disturbances = _surroundings(made)
    lacking = [surface.lacking(made.plan) for surface in made.surfaces.values()]
    warnings = [*opened.warnings, *(text for text in lacking if text), *_left_out(made.options)]
    warnings += of_figures
    warnings += disturbances
    warnings += figures.doubts(samples, opened.llc_bytes)
    instrument = made.results.instrument
    if instrument is not None:
        recorded |= instrument.environment
        warnings += instrument.warnings
    if made.results.findings is not None:
        recorded["inference_ended"] = made.results.findings.ended or "done"
        warnings += stalled_latency(
            made.results.findings.stalls, figures.random_latency_ns(samples)
        )
    taken = samples or _repeated(made.results.findings)
    floors = figures.noise_floors(taken)
    low, cache, high = _cache_bytes(made, floors.get("latency", 0.0))
    return MeasuredContext(
        memory_spec=str(parse_spec(made.options.memory)),
        repetitions=made.rounds.count,
        seconds=round(made.seconds, 1),
        noise_floor=figures.noise_floor(taken),
        timer_resolution_ns=facts.timer_resolution_ns,
        cpus=list(opened.cpus),
        llc_bytes=opened.llc_bytes,
        effective_llc_bytes=cache,
        environment={
            **recorded,
            **opened.facts,
            "timer_overhead_ns": f"{facts.timer_overhead_ns:.1f}",
            "time_shared_out": made.budget.text(),
        },
        protocols=made.results.protocols,
        ended=made.rounds.ended,
        warnings=list(dict.fromkeys(warnings)),
        noise_floors=floors,
        effective_llc_range=None if low is None or high is None else (low, high),
        clock_drift=_number(recorded, "frequency_drift"),
        contention=_number(recorded, "cpu_pressure"),
    )


def _repeated(findings: Findings | None) -> figures.Samples:
    """Return the samples of inference, which show noise where no surface was measured."""
    taken = {} if findings is None else findings.taken
    return {point: kept for point, kept in taken.items() if len(kept) >= MIN_REPEATED}


def _cache_bytes(made: Assembly, floor: float) -> list[int | None]:
    """Return the last-level cache that a core gets, in bytes: low end, value, high end.

    `floor` is the relative noise of latencies, from which the ends follow.
    """
    latencies_ns = figures.random_latency_ns(made.rounds.samples)
    inner, claimed = made.opened.inner_bytes, made.opened.llc_bytes
    errors = (floor, 0.0, 1.0 / (1.0 + floor) - 1.0)
    return [effective_llc_bytes(latencies_ns, inner, claimed, error) for error in errors]


def _number(facts: Mapping[str, str], key: str) -> float | None:
    """Return a fact of the instrument as a number; None: unknown."""
    text = facts.get(key, "unknown")
    return None if text == "unknown" else float(text)


def _left_out(options: MeasureOptions) -> list[str]:
    if not options.only:
        if not options.quick:
            return []
        return [
            "only the parts that predictions need were measured (--quick); the others are missing"
        ]
    return [f"only {', '.join(options.parts())} was measured (--only): the other parts are missing"]


def _surroundings(made: Assembly) -> tuple[dict[str, str], list[str]]:
    """Return facts and warnings about this machine; none for a simulation."""
    if not made.opened.cpus:
        return {}, []
    recorded, disturbances = environment.describe(made.before, made.after)
    recorded |= environment.fixed_facts(made.opened.cpus[0])
    recorded["vector_extension"] = _measure.vector_extension()
    if isinstance(made.opened.subject, Sampler) and (used := made.opened.subject.isas()):
        recorded["instruction_sets"] = ", ".join(f"{kernel} {used[kernel]}" for kernel in used)
    return recorded, disturbances
