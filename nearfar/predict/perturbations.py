"""The perturbations of a prediction's inputs, one at a time; `interval` joins what they change."""

from __future__ import annotations

from math import sqrt
from typing import Any

from nearfar.predict.device_figures import ERROR_OF
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import NO_PERTURBATION, Model, Perturbation
from nearfar.predict.shared_cache import contended
from nearfar.predict.traffic import PhaseTraffic


def perturbations(
    kind: type[Model], phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts
) -> list[Perturbation]:
    """Return the perturbations that the cycle-level core validated."""
    time = phase.near_time_ns
    fewest, most = phase.lines_range
    near_latency, _ = kind.figure_errors(near)
    latency, bandwidth = kind.figure_errors(far)
    spread = [time.low / time.value, time.high / time.value] if time.value > 0.0 else []
    candidates = [
        *(Perturbation(near_time=end) for end in spread),
        Perturbation(near_latency=1.0 - min(near_latency, 0.9)),
        Perturbation(near_latency=1.0 + near_latency),
        Perturbation(lines=max(fewest, 0.1)),
        Perturbation(lines=most),
        Perturbation(far_latency=1.0 - min(latency, 0.9)),
        Perturbation(far_latency=1.0 + latency),
        Perturbation(far_bandwidth=1.0 - min(bandwidth, 0.9)),
        Perturbation(far_bandwidth=1.0 + bandwidth),
        Perturbation(hits=0.0),
        Perturbation(hits=2.0),
        Perturbation(parallelism="classes"),
        Perturbation(near_curves_hold=True),
    ]
    if phase.streams > 1.0:
        candidates += [Perturbation(streams_share=0.0), Perturbation(streams_share=1.0)]
    return [
        candidate
        for candidate in candidates
        if candidate != NO_PERTURBATION and candidate.near_time > 0.0
    ]


def host_perturbations(far: MemoryCosts) -> list[Perturbation]:
    """Return the perturbations whose effects the cycle-level core does not show.

    On that core, latencies and streams need no conversion, writes were measured, and no other core
    takes lines of a shared cache.
    """
    candidates = [Perturbation(far_latency=factor) for factor in far.latency_range]
    candidates += [Perturbation(far_stream=factor) for factor in far.stream_range]
    candidates += [Perturbation(far_writes=factor) for factor in far.write_range]
    if contended(far.device):
        candidates.append(Perturbation(taken=1.0))
    return [candidate for candidate in candidates if candidate != NO_PERTURBATION]


def count_perturbations(phase: PhaseTraffic) -> list[Perturbation]:
    """Return the perturbations of the counts to the profile's smallest and largest counts."""
    candidates = [Perturbation(lines=max(end, 0.01)) for end in phase.other_counts]
    return [candidate for candidate in candidates if candidate != NO_PERTURBATION]


def noise_perturbations(
    phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts
) -> list[Perturbation]:
    """Return the perturbations of measured figures by noise, beyond the error of quiet ones."""
    candidates = []
    for error, name in (
        (near.quality.latency_floor, "near_latency"),
        (near.quality.bandwidth_error(phase.concurrency), "near_bandwidth"),
        (near.quality.drift_error, "near_time"),
        (far.quality.latency_floor, "far_latency"),
        (far.quality.bandwidth_error(phase.concurrency), "far_bandwidth"),
    ):
        quiet = ERROR_OF["measured"]
        if error > quiet:
            factor = 1.0 + sqrt(error**2 - quiet**2)
            ends: list[dict[str, Any]] = [{name: factor}, {name: 1.0 / factor}]
            candidates += [Perturbation(**end) for end in ends]
    candidates += [Perturbation(lines=lines) for lines in _lines_by_cache(phase, near)]
    return candidates


def _lines_by_cache(phase: PhaseTraffic, near: MemoryCosts) -> list[float]:
    """Return the factors on lines with the smallest and the largest cache that a core may get."""
    curve = phase.curve
    if curve is None or near.quality.cache_range == (1.0, 1.0):
        return []
    counted = curve.at(curve.here_bytes)
    ends = [curve.at(curve.here_bytes * end) for end in near.quality.cache_range]
    return [end / counted for end in ends if counted > 0.0 and end not in (0.0, counted)]
