"""Each object's share of the time that far memory adds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearfar.base.estimate import Estimate
from nearfar.documents import WorkloadProfile
from nearfar.documents.prediction import ObjectEffect
from nearfar.predict.model import Model
from nearfar.predict.traffic import Array, misses, write_backs

ROUNDING = 1e-13
"""Share of a phase's time below which a difference of times is rounding error: processors differ in
it."""


def added_by_object_ns(model: Model) -> Array:
    """Return the time that each object adds when it moves far, ns; the sum is that of all objects.

    An object's time is the mean of what it adds as the first object to move and as the last. They
    differ: a stream that alone hides behind the rest may not hide after others have moved, and far
    bandwidth that is idle for the first object is not idle for the last. The difference between the
    sum and all-far is divided in proportion. Times are negative only where far memory is faster, by
    latency or in total: a gain from idle far bandwidth ends when other objects follow.
    """
    if model.far.is_near:
        return np.zeros(len(model.phase.objects))
    all_far_ns = float(model.times_ns(model.phase.total))
    total_ns = float(_without_rounding(all_far_ns - model.near_time_ns, all_far_ns))
    objects, touched = model.phase.objects, model.phase.touched
    some = len(touched) < len(objects)
    first, last = model.ends_ns(objects[touched]) if some else model.all_ends_ns
    added = np.zeros(len(objects))
    added[touched] = _without_rounding((first + last) / 2, all_far_ns)
    if total_ns >= 0.0 and model.far.latency_ns >= model.near.latency_ns:
        added = np.maximum(added, 0.0)
    weights = np.abs(added)
    if weights.sum() <= 1e-12 * max(abs(total_ns), 1.0):
        weights = misses(objects) + write_backs(objects)
    if weights.sum() == 0.0:
        return np.zeros(len(added))
    return np.asarray(added + weights / weights.sum() * (total_ns - added.sum()))


def least_added_by_object_ns(model: Model) -> Array:
    """Return the least that each object adds when it moves far, ns: as the first or as the last.

    If an object's cost only rises, or only falls, as more objects are far, no other order gives
    less.
    """
    if model.far.is_near:
        return np.zeros(len(model.phase.objects))
    all_far_ns = float(model.times_ns(model.phase.total))
    return _without_rounding(np.minimum(*model.all_ends_ns), all_far_ns)


def _without_rounding(added_ns: Array | float, far_ns: float) -> Array:
    """Return differences of times, with 0 for those within rounding error."""
    return np.where(np.abs(added_ns) < ROUNDING * far_ns, 0.0, added_ns)


def object_effects(
    workload: WorkloadProfile, model: Model, far_time: Estimate, max_objects: int
) -> list[ObjectEffect]:
    """Return the objects that add most, with the phase's interval shared in proportion.

    `far_time` is slowdown times near time, so that it excludes near time's own error.
    """
    phase = model.phase
    added = added_by_object_ns(model)
    lines, written = misses(phase.objects), write_backs(phase.objects)
    touched = np.flatnonzero((lines > 0) | (written > 0))
    shown = _greatest(added, touched, max_objects)
    low, high = added_interval(added, phase.near_time_ns.value, far_time)
    rows = zip(
        shown.tolist(),
        *(column[shown].tolist() for column in (added, low, high, lines, written)),
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


def _greatest(values: Array, indices: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Return up to `count` of `indices` by falling value; equal values keep their order."""
    if len(indices) > count:
        # Sorting all of 10,000 to list 1000 takes several times as long.
        indices = np.sort(indices[np.argpartition(-values[indices], count)[:count]])
    return np.asarray(indices[np.argsort(-values[indices], kind="stable")])


def added_interval(added_ns: Array, near_ns: float, far_time: Estimate) -> tuple[Array, Array]:
    """Return low and high of added times whose sum has the interval of `far_time`."""
    total_ns = far_time.value - near_ns
    if total_ns == 0.0:
        return added_ns, added_ns
    ends = (
        (added_ns * ((far_time.low - near_ns) / total_ns)),
        (added_ns * ((far_time.high - near_ns) / total_ns)),
    )
    return np.minimum(*ends), np.maximum(*ends)
