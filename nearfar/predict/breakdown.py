"""How a predicted time is composed, for one phase or one object of it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.units import LINE_BYTES
from nearfar.documents import WorkloadProfile
from nearfar.documents.prediction import InputEffect, PhasePrediction, TimeBreakdown
from nearfar.predict.core_time import TrafficTime
from nearfar.predict.interval import FarEstimate
from nearfar.predict.model import NO_PERTURBATION, Model, Perturbation
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.object_effects import added_by_object_ns
from nearfar.predict.perturbations import host_perturbations, perturbations
from nearfar.predict.traffic import CHASE, INDEPENDENT, Array, misses, write_backs

MAX_NAMES = 5
"""Number of names to list when a name is unknown."""

MAX_LARGEST = 5
"""Number of objects to explain, those that add most first."""

ROUNDING = 1e-12
"""Change of a time, relative to it, that is rounding: processors add in different orders."""

INPUT_WORDS = {
    "near_time": "near time",
    "lines": "counts of lines",
    "near_latency": "near latency",
    "near_bandwidth": "near bandwidth",
    "far_latency": "far latency",
    "far_bandwidth": "far bandwidth",
    "far_stream": "one core's sequential reads of far memory",
    "far_writes": "far memory's writes",
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

    An object can be named by the function that allocated it: its name up to the first space. Raises
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


def largest(phases: Sequence[PhasePrediction], total: PhasePrediction) -> list[ExplainedName]:
    """Return all phases, and the objects that add most to the whole run."""
    objects = [effect for effect in total.objects[:MAX_LARGEST] if effect.added_ns.value > 0.0]
    return [
        *(ExplainedName(phase.phase, None) for phase in phases),
        *(ExplainedName(effect.name, effect.object) for effect in objects),
    ]


def breakdowns(
    asked: Sequence[ExplainedName], models: Sequence[Model], estimates: Sequence[FarEstimate]
) -> list[TimeBreakdown]:
    """Return one breakdown for each subject and phase in which it moves lines."""
    if not asked:
        return []
    parts = [_Explained(*each) for each in zip(models, estimates, strict=True)]
    return [
        part.breakdown(subject) for subject in asked for part in parts if part.concerns(subject)
    ]


def _nearest(known: list[str], name: str) -> str:
    close = difflib.get_close_matches(name, known, n=MAX_NAMES, cutoff=0.3) or known[:MAX_NAMES]
    return f"; the nearest are: {', '.join(close)}"


def _moved(lines: Array) -> Array:
    return np.asarray(misses(lines) + write_backs(lines))


@dataclass(frozen=True)
class _Explained:
    """One phase on one far memory."""

    model: Model
    estimate: FarEstimate

    @cached_property
    def perturbed(self) -> list[tuple[str, Model]]:
        """The model with each uncertain input at each end of its range, by the input's name."""
        kind, phase = type(self.model), self.model.phase
        near, far = self.model.given_near, self.model.given_far
        each = [*perturbations(kind, phase, near, far), *host_perturbations(far)]
        return [(_input_words(change), kind(phase, near, far, change)) for change in each]

    def concerns(self, subject: ExplainedName) -> bool:
        """Return whether the subject is this phase, or an object that moves lines in it."""
        if subject.number is None:
            return self.model.phase.name == subject.name
        return float(_moved(self.model.phase.objects[subject.number])) > 0.0

    def breakdown(self, subject: ExplainedName) -> TimeBreakdown:
        """Return how the time of the phase, or the time that the object adds, is composed."""
        model, phase, number = self.model, self.model.phase, subject.number
        lines = phase.total if number is None else phase.objects[number]
        near_ns, far_ns = phase.near_time_ns.value, self.estimate.far_time_ns.value
        added_ns = far_ns - near_ns if number is None else float(added_by_object_ns(model)[number])
        known = _inverted(model, lines) if isinstance(model, InversionModel) else {}
        moved_bytes = float(_moved(lines)) * LINE_BYTES
        return TimeBreakdown(
            name=subject.name,
            is_object=number is not None,
            object=number,
            phase=phase.name,
            misses=float(misses(lines)),
            write_backs=float(write_backs(lines)),
            near_time_ns=near_ns,
            far_time_ns=far_ns,
            added_ns=added_ns,
            bound=model.bound(),
            far_gb_per_s=moved_bytes * phase.concurrency / far_ns if far_ns > 0.0 else 0.0,
            effects=self._effects(number),
            **known,
        )

    def _effects(self, number: int | None) -> list[InputEffect]:
        """Return the range of changes of the added time by each input, the widest range first."""
        central_ns = _added_ns(self.model, number)
        rounding_ns = ROUNDING * self.estimate.far_time_ns.value
        ends: dict[str, list[float]] = {}
        for name, model in self.perturbed:
            moved_ns = _added_ns(model, number) - central_ns
            ends.setdefault(name, []).append(moved_ns if abs(moved_ns) > rounding_ns else 0.0)
        effects = [
            InputEffect(input=name, low_ns=min(0.0, *moved), high_ns=max(0.0, *moved))
            for name, moved in ends.items()
        ]
        effects.sort(key=lambda effect: effect.low_ns - effect.high_ns)
        return [effect for effect in effects if effect.high_ns > effect.low_ns]


def _inverted(model: InversionModel, lines: Array) -> dict[str, float | None]:
    """Return overlap, bandwidth share and non-memory time, as the inversion finds them."""
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


def _added_ns(model: Model, number: int | None) -> float:
    """Return the time added by moving everything, or by moving the object last."""
    all_far_ns = float(model.times_ns(model.phase.total))
    if number is None:
        return all_far_ns - model.near_time_ns
    return all_far_ns - float(model.times_ns(model.phase.total - model.phase.objects[number]))


def _input_words(perturbation: Perturbation) -> str:
    changed = (
        name
        for name in Perturbation.__struct_fields__
        if getattr(perturbation, name) != getattr(NO_PERTURBATION, name)
    )
    return INPUT_WORDS[next(changed)]
