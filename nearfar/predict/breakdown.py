"""How a predicted time came about, for one phase or one object of it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.units import LINE_BYTES
from nearfar.documents import WorkloadProfile
from nearfar.documents.prediction import InputEffect, TimeBreakdown
from nearfar.predict.core_time import TrafficTime
from nearfar.predict.interval import FarEstimate, host_perturbations, perturbations
from nearfar.predict.model import NO_PERTURBATION, Model, Perturbation
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.object_effects import added_by_object_ns
from nearfar.predict.traffic import CHASE, INDEPENDENT, Array, misses, write_backs

MAX_NAMES = 5
"""Names listed where one is unknown."""

INPUT_WORDS = {
    "near_time": "near time",
    "lines": "counts of lines",
    "near_latency": "near latency",
    "near_bandwidth": "near bandwidth",
    "far_latency": "far latency",
    "far_bandwidth": "far bandwidth",
    "hits": "time of cache hits",
    "parallelism": "overlap by access classes alone",
    "streams_share": "lines in flight of several streams",
    "near_curves_hold": "far curves where near time is shorter than near's",
}
"""Inputs of a perturbation, in words."""


@dataclass(frozen=True)
class ExplainedName:
    """A phase (`number` is None) or an object to explain."""

    name: str
    number: int | None


def subjects(workload: WorkloadProfile, names: Sequence[str]) -> list[ExplainedName]:
    """Return the phases and objects called `names`; several objects may have one name.

    Of an object, the function that allocated it is enough: the name up to its first space. Raises
    NearfarError for an unknown name.
    """
    phases = [phase.name for phase in workload.phases]
    named = []
    for name in names:
        objects = list(enumerate(workload.objects))
        numbers = [at for at, entry in objects if entry.name == name] or [
            at for at, entry in objects if name and entry.name.split(" ")[0] == name
        ]
        if name in phases:
            named.append(ExplainedName(name, None))
        elif not numbers:
            hint = _nearest([*phases, *(entry.name for entry in workload.objects)], name)
            raise NearfarError(f"the profile has no phase or object {name!r}{hint}")
        named += [ExplainedName(workload.objects[number].name, number) for number in numbers]
    return named


def breakdowns(
    asked: Sequence[ExplainedName], models: Sequence[Model], estimates: Sequence[FarEstimate]
) -> list[TimeBreakdown]:
    """Return one breakdown for each subject and phase in which it moves lines."""
    made = []
    for subject in asked:
        for model, estimate in zip(models, estimates, strict=True):
            if subject.number is None:
                if model.phase.name == subject.name:
                    made.append(_breakdown(model, estimate, subject))
            elif float(_moved(model.phase.objects[subject.number])) > 0.0:
                made.append(_breakdown(model, estimate, subject))
    return made


def _nearest(known: list[str], name: str) -> str:
    close = difflib.get_close_matches(name, known, n=MAX_NAMES, cutoff=0.3) or known[:MAX_NAMES]
    return f"; the nearest are: {', '.join(close)}"


def _moved(lines: Array) -> Array:
    return np.asarray(misses(lines) + write_backs(lines))


def _breakdown(model: Model, estimate: FarEstimate, subject: ExplainedName) -> TimeBreakdown:
    phase, number = model.phase, subject.number
    lines = phase.total if number is None else phase.objects[number]
    near_ns, far_ns = phase.near_time_ns.value, estimate.far_time_ns.value
    added_ns = far_ns - near_ns if number is None else float(added_by_object_ns(model)[number])
    known = _inverted(model, lines) if isinstance(model, InversionModel) else {}
    moved_bytes = float(_moved(lines)) * LINE_BYTES
    return TimeBreakdown(
        name=subject.name,
        is_object=number is not None,
        phase=phase.name,
        misses=float(misses(lines)),
        write_backs=float(write_backs(lines)),
        near_time_ns=near_ns,
        far_time_ns=far_ns,
        added_ns=added_ns,
        bound=model.bound(),
        far_gb_per_s=moved_bytes * phase.concurrency / far_ns if far_ns > 0.0 else 0.0,
        effects=_effects(model, number),
        **known,
    )


def _inverted(model: InversionModel, lines: Array) -> dict[str, float | None]:
    """Return what the inversion says of lines: overlap, bandwidth, and time besides memory."""
    near, far = model._part(lines, model.near), model._part(lines, model.far)
    near_ns, far_ns = model.near_time_ns, float(model.times_ns(model.phase.total))
    if near_ns <= 0.0 or far_ns <= 0.0:
        return {}
    loads = float(lines[CHASE] + lines[INDEPENDENT])
    return {
        "overlap_near": _overlap(loads, near, model.near.latency_ns),
        "overlap_far": _overlap(loads, far, model.far.latency_ns),
        "bandwidth_share_near": float(near.all_lines) / near_ns,
        "bandwidth_share_far": float(far.all_lines) / far_ns,
        "memory_share_near": min(1.0, 1.0 - model.explanation.other_ns / near_ns),
    }


def _overlap(loads: float, part: TrafficTime, latency_ns: float) -> float | None:
    waiting_ns = float(part.loads)
    return loads * latency_ns / waiting_ns if waiting_ns > 0.0 and loads > 0.0 else None


def _effects(model: Model, number: int | None) -> list[InputEffect]:
    """Return how far each input moves the added time, most first; both ends of an input count."""
    kind, phase, near, far = type(model), model.phase, model.given_near, model.given_far
    central_ns = _added_ns(model, number)
    ends: dict[str, list[float]] = {}
    for perturbation in [*perturbations(kind, phase, near, far), *host_perturbations(far)]:
        moved_ns = _added_ns(kind(phase, near, far, perturbation), number) - central_ns
        ends.setdefault(_input(perturbation), []).append(moved_ns)
    effects = [
        InputEffect(input=name, low_ns=min(0.0, *moved), high_ns=max(0.0, *moved))
        for name, moved in ends.items()
    ]
    effects.sort(key=lambda effect: effect.low_ns - effect.high_ns)
    return [effect for effect in effects if effect.high_ns > effect.low_ns]


def _added_ns(model: Model, number: int | None) -> float:
    """Return the time that moving everything, or the object as the last, adds."""
    all_far_ns = float(model.times_ns(model.phase.total))
    if number is None:
        return all_far_ns - model.near_time_ns
    return all_far_ns - float(model.times_ns(model.phase.total - model.phase.objects[number]))


def _input(perturbation: Perturbation) -> str:
    changed = (
        entry.name
        for entry in fields(Perturbation)
        if getattr(perturbation, entry.name) != getattr(NO_PERTURBATION, entry.name)
    )
    return INPUT_WORDS[next(changed)]
