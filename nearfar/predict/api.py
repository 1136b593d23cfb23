"""Predicting from Python: documents in, a `Prediction` out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES
from nearfar.documents import (
    DeviceProfile,
    MachineProfile,
    Prediction,
    WorkloadProfile,
    producer,
)
from nearfar.documents.prediction import (
    DevicePrediction,
    HostRule,
    ModelTime,
    ObjectEffect,
    PagesRatio,
    PhasePrediction,
)
from nearfar.predict.attribute import added_by_object_ns
from nearfar.predict.caveats import caveats, common_caveats, flushes_unknown
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.host import DEFAULT_HOST
from nearfar.predict.interval import far_estimate
from nearfar.predict.model import DEFAULT_MODEL, MODELS, NAIVE_MODELS, Model, usable_models
from nearfar.predict.together import channel_sharing
from nearfar.predict.total import total_of
from nearfar.predict.traffic import Array, misses, phases_of, write_backs

MAX_OBJECTS = 1000
"""Objects listed per phase, those that add most first; a plan looks at all of them."""


def predict(
    workload: WorkloadProfile,
    near: DeviceProfile,
    fars: Sequence[DeviceProfile],
    model: str = DEFAULT_MODEL,
    *,
    phases: list[str] | None = None,
    profile_path: str = "",
    page_bytes: int | None = None,
    far_page_bytes: int | None = None,
    far_own_ns: float | None = None,
    near_own_ns: float | None = None,
    host: HostRule = DEFAULT_HOST,
    most_objects: int = MAX_OBJECTS,
    beside: Sequence[str] = (),
    machine: MachineProfile | None = None,
) -> Prediction:
    """Predict CPU time of every phase with everything in each far memory.

    `near` is the memory the profile's near time was taken in. `phases` restricts what is
    predicted, and the total, to those named. `page_bytes` is the size of the program's pages, by
    default what programs get where `near` was measured; `far_page_bytes` of its pages in far
    memory, by default the same; `far_own_ns` and `near_own_ns` are what a dependent random read of
    its data takes there and here, where that is known. `host` says how a latency published on
    another machine is taken to this one: ``added`` to local DRAM's, in ``ratio`` to it, or as
    ``published``. `beside` names models shown beside `model` and the naive ones; one that lacks
    what it needs is named in the caveats. `machine` says which memories hold each other back.
    Raises NearfarError for an unknown model or phase and for a device without the figures that the
    model needs.
    """
    kind = MODELS.get(model)
    traffic = phases_of(workload, phases)
    near_side = near_memory(near, page_bytes)
    of_every = common_caveats(workload, traffic, near_side)
    names = [*NAIVE_MODELS, *(name for name in beside if name not in (*NAIVE_MODELS, model))]
    devices = []
    for device in fars:
        far_side = replace(
            far_memory(
                device,
                near_side,
                host,
                far_page_bytes,
                own_ns=far_own_ns,
                near_own_ns=near_own_ns,
            ),
            together=channel_sharing(machine, near, device),
        )
        said: list[str] = []
        predicted = [
            _phase(
                workload,
                kind(phase, near_side, far_side),
                names,
                said=said,
                most_objects=most_objects,
            )
            for phase in traffic
        ]
        sentences = [
            *caveats(near_side, far_side, of_every),
            *flushes_unknown(workload, traffic, device),
            *dict.fromkeys(said),
        ]
        if any(np.count_nonzero(misses(phase.objects)) > most_objects for phase in traffic):
            sentences.append(f"only the {most_objects} objects that add most are listed per phase")
        devices.append(
            DevicePrediction(
                far=device.name,
                title=device.title,
                latency_ns=far_side.unwalked_ns,
                latency_from=far_side.taken,
                phases=predicted,
                total=total_of(predicted, most_objects),
                caveats=sentences,
            )
        )
    return Prediction(
        producer=producer(),
        profile=profile_path,
        near=near.name,
        near_latency_ns=near_side.unwalked_ns,
        model=model,
        host=host,
        devices=devices,
    )


def _phase(
    workload: WorkloadProfile,
    central: Model,
    beside: Sequence[str],
    *,
    said: list[str],
    most_objects: int,
) -> PhasePrediction:
    """Predict one phase; what its models say of themselves is added to `said`."""
    phase, near, far = central.phase, central.given_near, central.given_far
    others, lacking = usable_models(beside, phase, near, far)
    said += [*central.remarks(), *lacking]
    said += [
        f"phase {phase.name!r} {what.format(share)} was measured to: extrapolated, and the "
        "interval is wider"
        for what, share in central.beyond().items()
    ]
    found = far_estimate(type(central), phase, near, far, central)
    near_ns, far_ns = phase.near_time_ns.value, found.far_time_ns.value
    operations = phase.operations or None
    seconds_per_byte = phase.concurrency / far_ns if far_ns > 0 else 0.0
    return PhasePrediction(
        phase=phase.name,
        near_time_ns=phase.near_time_ns,
        far_time_ns=found.far_time_ns,
        slowdown=found.slowdown,
        operations=operations,
        near_ns_per_operation=near_ns / operations if operations else None,
        far_ns_per_operation=scale_estimate(found.far_time_ns, 1 / operations)
        if operations
        else None,
        bound=central.bound(),
        effective_parallelism=central.effective_parallelism(),
        far_read_gb_per_s=float(misses(phase.total)) * LINE_BYTES * seconds_per_byte,
        far_write_gb_per_s=float(write_backs(phase.total)) * LINE_BYTES * seconds_per_byte,
        models=[_beside(model) for model in others],
        ratios=[
            PagesRatio(
                near_pages=ratio.near_pages,
                far_pages=ratio.far_pages,
                time_ns=ratio.time_ns,
                slowdown=ratio.time_ns / near_ns if near_ns > 0 else 1.0,
            )
            for ratio in central.ratios()
        ],
        objects=_effects(workload, central, found.far_time_ns, most_objects),
    )


def _beside(model: Model) -> ModelTime:
    near_ns = model.phase.near_time_ns.value
    far_ns = float(model.times_ns(model.phase.total))
    return ModelTime(
        model=model.name, time_ns=far_ns, slowdown=far_ns / near_ns if near_ns > 0 else 1.0
    )


def _effects(
    workload: WorkloadProfile, model: Model, far_time: Estimate, most: int
) -> list[ObjectEffect]:
    """Return the objects that add most, with the phase's interval shared in proportion."""
    phase = model.phase
    added = added_by_object_ns(model)
    lines, written = misses(phase.objects), write_backs(phase.objects)
    touched = np.flatnonzero((lines > 0) | (written > 0))
    kept = greatest(added, touched, most)
    low, high = added_interval(added, phase.near_time_ns.value, far_time)
    rows = zip(
        kept.tolist(),
        *(column[kept].tolist() for column in (added, low, high, lines, written)),
        strict=True,
    )
    return [
        ObjectEffect(
            object=i,
            name=workload.objects[i].name,
            size_bytes=workload.objects[i].size_bytes,
            added_ns=Estimate(value, bottom, top),
            misses=line,
            write_backs=write,
        )
        for i, value, bottom, top, line, write in rows
    ]


def greatest(values: Array, places: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Return up to `most` of `places` by falling value; of equals, the first first."""
    if len(places) > most:
        # Sorting all of 10,000 to list 1000 takes several times as long.
        places = np.sort(places[np.argpartition(-values[places], most)[:most]])
    return np.asarray(places[np.argsort(-values[places], kind="stable")])


def added_interval(added_ns: Array, near_ns: float, far_time: Estimate) -> tuple[Array, Array]:
    """Return low and high of added times whose whole has the interval of `far_time`."""
    whole = far_time.value - near_ns
    if whole == 0.0:
        return added_ns, added_ns
    ends = (
        (added_ns * ((far_time.low - near_ns) / whole)),
        (added_ns * ((far_time.high - near_ns) / whole)),
    )
    return np.minimum(*ends), np.maximum(*ends)


def scale_estimate(estimate: Estimate, factor: float) -> Estimate:
    """Return the estimate in another unit."""
    return Estimate(estimate.value * factor, estimate.low * factor, estimate.high * factor)
