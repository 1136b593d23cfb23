"""Times of everything far by many inversions at once, in a few operations on arrays.

An interval takes some 20 perturbed models for each phase and far memory. Each has its own
explanation of near time and its own costs; what follows from these is the same arithmetic for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import astuple

from nearfar.predict.core_time import Number, TrafficTime, core_time_ns
from nearfar.predict.explain import drawn_gb_per_s
from nearfar.predict.loaded_latency import LoadedFactor, settled_each
from nearfar.predict.traffic import Array

if TYPE_CHECKING:
    from nearfar.predict.models.inversion import InversionModel


def all_far_ns(models: Sequence[InversionModel]) -> Array:
    """Return the time of everything far by each model, ns; no far memory is the near memory."""
    explained = [model.explanation for model in models]
    far = TrafficTime(*_columns([astuple(model._all_far) for model in models]))
    scale, other_ns, queueing, near_lines_ns, *trust = _columns(
        [(e.scale, e.other_ns, e.queueing, e.all_near.all_lines, *e.trust) for e in explained]
    )
    given = np.array([model._far_bandwidth_share for model in models])
    least_ns = far.all_lines * far_limit(scale, near_lines_ns, far.all_lines)
    for part, factor in zip(far.alone, trust, strict=True):
        least_ns = np.maximum(least_ns, part * factor)

    def times_ns(factors: Array) -> Array:
        core_ns = core_time_ns(other_ns, [far], [factors], given, queueing)
        return np.asarray(np.maximum(scale * core_ns, least_ns))

    loads, greatest = _loads(models), np.ones(len(models))
    for rows, load, _ in loads:
        greatest[rows] = load.greatest

    def loaded(factors: Array) -> Array:
        asked, times = np.ones(len(models)), np.maximum(times_ns(factors), 1.0)
        for rows, load, drawn in loads:
            asked[rows] = load.at(drawn / times[rows])
        return asked

    return times_ns(settled_each(loaded, greatest) if loads else greatest)


def far_limit(scale: Number, near_lines_ns: Number, far_lines_ns: Number) -> Array:
    """Return the factor on far bandwidth time that gives the minimum time.

    If the program ran faster than near bandwidth allows, the near bandwidth is too low by `scale`.
    The far bandwidth is too low by the same factor only if the memories are alike: the slower the
    far memory, the less its bandwidth depends on what limited near memory when that was measured.
    """
    slower = np.maximum(1.0, far_lines_ns / np.maximum(near_lines_ns, 1e-9))
    return np.asarray(scale ** (1.0 / slower))


def _columns(rows: Sequence[Sequence[Number]]) -> Array:
    return np.ascontiguousarray(np.array(rows, dtype=float).T)


def _loads(models: Sequence[InversionModel]) -> list[tuple[slice, LoadedFactor, Array]]:
    """Return each run of models of one phase and one loaded-latency curve, with what it draws.

    That is the bandwidth that makes latency rise, GB/s, if each model took 1 ns.
    """
    loads, end = [], 0
    for _, run in groupby(models, lambda model: (id(model.phase), id(model._far_load))):
        first, *others = run
        start, end = end, end + 1 + len(others)
        if (load := first._far_load) is not None:
            moved = np.array([model.total for model in (first, *others)])
            drawn = drawn_gb_per_s(first.phase, first.far, moved, 1.0)
            loads.append((slice(start, end), load, drawn))
    return loads
