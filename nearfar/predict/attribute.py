"""Sharing the time that far memory adds among the objects."""

from __future__ import annotations

import numpy as np

from nearfar.predict.model import Model
from nearfar.predict.traffic import Array, misses, write_backs


def added_by_object_ns(model: Model) -> Array:
    """Return what each object adds when it goes far, ns, made to sum to what all add.

    The mean of what it adds as the first to go and as the last: a stream that hides behind the
    rest alone does not when others have gone before it, and bandwidth that idles for the first
    is missed by the last. The difference between the sum and all-far is shared in proportion.
    Below zero only where far memory is the faster one, by latency or in the whole: that a few
    lines find the far memory's bandwidth idle is no gain that lasts when others follow.
    """
    if model.far.is_near:
        return np.zeros(len(model.phase.objects))
    all_far_ns = float(model.times_ns(model.phase.total))
    together = all_far_ns - model.near_time_ns
    objects = model.phase.objects
    touched = np.flatnonzero(objects.any(axis=1))
    if len(touched) < len(objects):
        objects = objects[touched]
    first = model.times_ns(objects) - model.near_time_ns
    last = all_far_ns - model.times_ns(model.phase.total - objects)
    alone = np.zeros(len(model.phase.objects))
    alone[touched] = (first + last) / 2
    if together >= 0.0 and model.far.latency_ns >= model.near.latency_ns:
        alone = np.maximum(alone, 0.0)
    weights = np.abs(alone)
    if weights.sum() <= 1e-12 * max(abs(together), 1.0):
        weights = misses(model.phase.objects) + write_backs(model.phase.objects)
    if weights.sum() == 0.0:
        return np.zeros(len(alone))
    return np.asarray(alone + weights / weights.sum() * (together - alone.sum()))
