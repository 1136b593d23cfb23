"""Sharing the time that far memory adds among the objects."""

from __future__ import annotations

import numpy as np

from nearfar.predict.model import Model
from nearfar.predict.traffic import Array, misses, write_backs


def added_by_object_ns(model: Model) -> Array:
    """Return what each object alone adds when it goes far, ns, made to sum to what all add.

    Alone, an object may add less than its share (bandwidth does not bind yet) or more; the
    difference between the sum and all-far is shared in proportion to what each adds alone. Below
    zero only where far memory is the faster one, by latency or in the whole: that a few lines
    find the far memory's bandwidth idle is no gain that lasts when others follow.
    """
    if model.far.is_near:
        return np.zeros(len(model.phase.objects))
    alone = model.times_ns(model.phase.objects) - model.near_time_ns
    together = float(model.times_ns(model.phase.total)) - model.near_time_ns
    if together >= 0.0 and model.far.latency_ns >= model.near.latency_ns:
        alone = np.maximum(alone, 0.0)
    weights = np.abs(alone)
    if weights.sum() <= 1e-12 * max(abs(together), 1.0):
        weights = misses(model.phase.objects) + write_backs(model.phase.objects)
    if weights.sum() == 0.0:
        return np.zeros(len(alone))
    return np.asarray(alone + weights / weights.sum() * (together - alone.sum()))
