"""The prediction that options ask for.

The data goes through these steps: `task` reads the documents, `phases` makes each phase's
traffic, `derive` the costs of near and far memory, `explain` (called by the models) near time,
`models` times, `interval` their intervals, `object_effects` the objects' shares, and `total` the
sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from nearfar.base.estimate import Estimate, scale_estimate
from nearfar.base.units import LINE_BYTES
from nearfar.documents import DeviceProfile, Prediction, WorkloadProfile, origin, producer
from nearfar.documents.prediction import (
    DevicePrediction,
    ModelTime,
    PagesRatio,
    PhasePrediction,
)
from nearfar.options.predict import PredictOptions
from nearfar.predict.breakdown import ExplainedName, breakdowns, largest, subjects
from nearfar.predict.calibration import load_calibrations, with_calibrations
from nearfar.predict.caveats import common_caveats, flushes_unknown
from nearfar.predict.derive import far_memory, near_on_machine
from nearfar.predict.field_effects import field_effects
from nearfar.predict.from_counters import models_beside
from nearfar.predict.in_situ import stages_of, with_pipeline
from nearfar.predict.inputs import recorded
from nearfar.predict.interval import FarEstimate, far_estimates
from nearfar.predict.memory import NO_READS, MemoryCosts, ProgramReads
from nearfar.predict.model import MODELS, NAIVE_MODELS, Model, usable_models
from nearfar.predict.noise import measurement_noise
from nearfar.predict.object_effects import object_effects
from nearfar.predict.paged_device import paged_device
from nearfar.predict.phases import phases_of
from nearfar.predict.shared_channels import channel_sharing
from nearfar.predict.task import task_of
from nearfar.predict.total import slowdown_over, total_of
from nearfar.predict.traffic import PhaseTraffic, misses, write_backs


def predict(
    options: PredictOptions,
    *,
    far_page_bytes: int | None = None,
    own: ProgramReads = NO_READS,
    explain_largest: bool = False,
) -> Prediction:
    """Predict CPU time of every phase with everything in each far memory.

    `far_page_bytes` is the size of the program's far pages, by default that of its near pages.
    `own` are measured reads of data that was allocated like the program's, if any.
    `explain_largest` breaks down the largest times instead of those that --explain names. Raises
    NearfarError for what is unknown.
    """
    task = task_of(options)
    workload, near, fars = task.workload, task.near, task.fars
    kind = MODELS.get(task.model)
    asked = None if explain_largest else subjects(workload, options.explain)
    stages = stages_of(options, workload)
    calibrations = () if options.calibrated is None else load_calibrations(options.calibrated)
    traffic = phases_of(workload, list(options.phase) or None)
    near_side, machine = near_on_machine(near, task.machine, task.page_bytes, task.core)
    common = [*task.remarks, *common_caveats(workload, traffic, near_side)]
    shown = _models_shown(options, workload, task.model)
    far_sides = [
        replace(
            far_memory(device, near_side, options.host, far_page_bytes, own),
            channel_sharing=channel_sharing(machine, near, device),
        )
        for device in fars
        if device.technology != "paged"
    ]
    models = [[kind(phase, near_side, far) for phase in traffic] for far in far_sides]
    cases = [(far, m) for far, of_far in zip(far_sides, models, strict=True) for m in of_far]
    every = iter(far_estimates(kind, near_side, cases))
    estimates = [list(islice(every, len(traffic))) for _ in far_sides]
    outcomes = zip(far_sides, zip(models, estimates, strict=True), strict=True)
    devices = []
    for device in fars:
        if device.technology == "paged":
            devices.append(_paged(workload, device, options))
            continue
        far_side, outcome = next(outcomes)
        sentences = [*near_side.caveats, *far_side.caveats, *common]
        listing = _Listing(shown, options.max_objects, sentences, asked)
        devices.append(_device(workload, device, far_side, outcome, listing))
    prediction = Prediction(
        producer=producer(),
        profile=origin(options.profile),
        near=near.name,
        near_latency_ns=near_side.unwalked_ns,
        model=task.model,
        host=options.host,
        devices=devices,
        noise=measurement_noise(workload, traffic, near, fars, estimates),
        inputs=recorded(options, task),
    )
    if stages is not None:
        prediction = with_pipeline(prediction, stages, task, near_side, machine)
    return with_calibrations(prediction, fars, calibrations) if calibrations else prediction


def _paged(
    workload: WorkloadProfile, device: DeviceProfile, options: PredictOptions
) -> DevicePrediction:
    budgets, names, count = options.near_budget, options.phase, options.max_objects
    prediction = paged_device(workload, device, budgets, names, count)
    if options.explain:
        prediction.caveats.append("--explain does not support paged memories")
    return prediction


def _models_shown(options: PredictOptions, workload: WorkloadProfile, model: str) -> list[str]:
    """Return the names of the models to show besides `model`."""
    also = list(options.models) or models_beside(workload)
    names = MODELS.names() if also == ["all"] else also
    return [*dict.fromkeys([*NAIVE_MODELS, *(name for name in names if name != model)])]


@dataclass(frozen=True)
class _Listing:
    """Contents of a device's prediction besides the model's times."""

    models: Sequence[str]
    """Names of the other models."""
    max_objects: int
    caveats: Sequence[str]
    """Caveats of the memories and of the profile."""
    explain: Sequence[ExplainedName] | None
    """Phases and objects whose times are broken down; None: the largest."""


def _device(
    workload: WorkloadProfile,
    device: DeviceProfile,
    far: MemoryCosts,
    outcomes: tuple[list[Model], list[FarEstimate]],
    listing: _Listing,
) -> DevicePrediction:
    """Predict all phases on one far memory; `outcomes` has one of each per phase."""
    phases, remarks, max_objects = [], [], listing.max_objects
    for model, estimate in zip(*outcomes, strict=True):
        others, missing = usable_models(
            listing.models, model.phase, model.given_near, model.given_far
        )
        remarks += [*model.remarks(), *missing, *_beyond_curves(model)]
        phases.append(_phase(workload, model, estimate, others, max_objects))
    traffic = [model.phase for model in outcomes[0]]
    sentences = [
        *listing.caveats,
        *flushes_unknown(workload, traffic, device),
        *dict.fromkeys(remarks),
    ]
    if any(np.count_nonzero(misses(phase.objects)) > max_objects for phase in traffic):
        sentences.append(f"only the {max_objects} objects that add most are listed per phase")
    total = total_of(phases, max_objects)
    asked = largest(phases, total) if listing.explain is None else listing.explain
    return DevicePrediction(
        far=device.name,
        title=device.title,
        latency_ns=far.unwalked_ns,
        latency_from=far.latency_from,
        phases=phases,
        total=total,
        fields=field_effects(workload, outcomes[0], _far_time(total)),
        caveats=sentences,
        explained=breakdowns(asked, *outcomes),
    )


def _far_time(total: PhasePrediction) -> Estimate:
    """Return the time of everything far, without the error of near time: fields do not add it."""
    return scale_estimate(total.slowdown, total.near_time_ns.value)


def _beyond_curves(model: Model) -> list[str]:
    return [
        f"phase {model.phase.name!r} {predicate.format(distance)}: extrapolated, and the interval "
        "is wider"
        for predicate, distance in model.beyond_curves().items()
    ]


def _phase(
    workload: WorkloadProfile,
    central: Model,
    estimate: FarEstimate,
    others: list[Model],
    max_objects: int,
) -> PhasePrediction:
    """Return the prediction's part for one phase, from the models' estimates."""
    phase = central.phase
    near_ns, far_ns = phase.near_time_ns.value, estimate.far_time_ns.value
    operations = phase.operations or None
    seconds_per_byte = phase.concurrency / far_ns if far_ns > 0 else 0.0
    return PhasePrediction(
        phase=phase.name,
        near_time_ns=phase.near_time_ns,
        far_time_ns=estimate.far_time_ns,
        slowdown=estimate.slowdown,
        operations=operations,
        near_ns_per_operation=near_ns / operations if operations else None,
        far_ns_per_operation=scale_estimate(estimate.far_time_ns, 1 / operations)
        if operations
        else None,
        bound=central.bound(),
        effective_parallelism=central.effective_parallelism(),
        far_read_gb_per_s=float(misses(phase.total)) * LINE_BYTES * seconds_per_byte,
        far_write_gb_per_s=float(write_backs(phase.total)) * LINE_BYTES * seconds_per_byte,
        models=[_model_time(model, phase) for model in others],
        ratios=[
            PagesRatio(
                near_pages=ratio.near_pages,
                far_pages=ratio.far_pages,
                time_ns=ratio.time_ns,
                slowdown=slowdown_over(ratio.time_ns, near_ns),
            )
            for ratio in central.ratios()
        ],
        objects=object_effects(
            workload, central, scale_estimate(estimate.slowdown, near_ns), max_objects
        ),
    )


def _model_time(model: Model, phase: PhaseTraffic) -> ModelTime:
    far_ns = float(model.times_ns(phase.total))
    return ModelTime(
        model=model.name,
        time_ns=far_ns,
        slowdown=slowdown_over(far_ns, phase.near_time_ns.value),
    )
