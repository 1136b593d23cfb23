"""One phase's time with its data in several far memories at once.

The model `inversion` sums waiting times over memories but takes the longest of their bandwidth
times, because several memories transfer in parallel. For models that are sums (misses, xmem,
latency-ratio), the added times of far memories are summed. With one far memory, the result is the
model's own time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nearfar.predict.core_time import TrafficTime, core_time_ns
from nearfar.predict.explain import drawn_gb_per_s
from nearfar.predict.model import Model
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.shared_channels import ChannelSharing
from nearfar.predict.traffic import Array

Pairs = Mapping[tuple[int, int], ChannelSharing]
"""Joint bandwidth limits of far memories that share channels, by their indices."""

MAX_HALVINGS = 24
"""Halvings of the interval from the idle to the fully loaded time: to 1e-7 of the interval."""


def joint_times_ns(models: Sequence[Model], moved: Sequence[Array], pairs: Pairs) -> Array:
    """Return CPU time of the phase with `moved[i]` (..., COLUMNS) in the memory of `models[i]`."""
    if len(models) == 1:
        return models[0].times_ns(moved[0])
    near_ns = models[0].near_time_ns
    separate = [model.times_ns(lines) for model, lines in zip(models, moved, strict=True)]
    inversions = [model for model in models if isinstance(model, InversionModel)]
    if len(inversions) < len(models) or any(m.far.is_near for m in models):
        return np.asarray(np.maximum(near_ns + sum(time - near_ns for time in separate), 0.0))
    time_ns = _inversion_time_ns(inversions, moved, pairs)
    # A model built on the inversion adds its other terms (fences, bursts).
    for model, lines, time in zip(inversions, moved, separate, strict=True):
        if type(model).times_ns is not InversionModel.times_ns:
            time_ns = time_ns + (time - InversionModel.times_ns(model, lines))
    return np.asarray(np.maximum(time_ns, 0.0))


def _inversion_time_ns(
    models: Sequence[InversionModel], moved: Sequence[Array], pairs: Pairs
) -> Array:
    """Return the CPU time at which each memory's latency fits the bandwidth drawn from it.

    Latency rises with the bandwidth drawn, and longer runs draw less: bisection finds the time.
    """
    first = models[0]
    explained = first.explanation
    lines = [traffic * first.perturbation.lines for traffic in moved]
    near_lines = np.maximum(first.total - np.sum(lines, axis=0), 0.0)
    parts = [first._part(near_lines, first.near)]
    parts += [model._part(traffic, model.far) for model, traffic in zip(models, lines, strict=True)]
    bandwidth_share = _bandwidth_share(models, parts, pairs)
    # No far memory delivers its lines faster than its bandwidth allows.
    min_ns = np.max(
        [
            np.asarray(part.all_lines * model._far_limit)
            for model, part in zip(models, parts[1:], strict=True)
        ],
        axis=0,
    )

    def time_with_ns(far_latency_factors: Sequence[Array | float]) -> Array:
        latency_factors = [explained.near_factor, *far_latency_factors]
        core_ns = core_time_ns(
            explained.other_ns, parts, latency_factors, bandwidth_share, explained.queueing
        )
        return np.asarray(np.maximum(explained.scale * core_ns, min_ns))

    def latency_factors_at(time_ns: Array) -> list[Array | float]:
        # Memories without a loaded-latency curve stay at their idle latency.
        return [
            1.0
            if model._far_load is None
            else model._far_load.at(drawn_gb_per_s(model.phase, model.far, traffic, time_ns))
            for model, traffic in zip(models, lines, strict=True)
        ]

    low = time_with_ns([1.0] * len(models))
    if all(model._far_load is None for model in models):
        return low
    high = time_with_ns([1.0 if m._far_load is None else m._far_load.greatest for m in models])
    for _ in range(MAX_HALVINGS):
        middle = (low + high) / 2
        longer = time_with_ns(latency_factors_at(middle)) > middle
        low, high = np.where(longer, middle, low), np.where(longer, high, middle)
    return np.asarray((low + high) / 2)


def _bandwidth_share(
    models: Sequence[InversionModel], parts: Sequence[TrafficTime], pairs: Pairs
) -> Array | float:
    """Return the least share of its bandwidth that a memory keeps on shared channels."""
    shares: list[Array] = []
    near_lines = parts[0].lines
    for model, part in zip(models, parts[1:], strict=True):
        if model.far.channel_sharing is not None:
            shares.append(model.far.channel_sharing.at(_share(part.lines, near_lines)))
    for (i, j), joint in pairs.items():
        shares.append(joint.at(_share(parts[1 + j].lines, parts[1 + i].lines)))
    smallest: Array | float = 1.0
    for share in shares:
        smallest = np.minimum(smallest, share)
    return smallest


def _share(lines: Array | float, others: Array | float) -> Array:
    """Return the share of `lines` in all lines on a channel that two memories share."""
    return np.asarray(lines / np.maximum(np.asarray(lines) + others, 1e-9))
