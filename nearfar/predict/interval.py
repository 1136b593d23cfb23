"""The interval around a prediction: each thing that may be otherwise is varied alone.

Deviations are taken as independent and added in quadrature, upward and downward apart. What is
varied: near time within its own interval, counts within the sampling error, both devices'
figures within theirs, how a latency published on another machine is taken to this one (added to
local DRAM's, as published, or in proportion: the least and the greatest), time of cache hits
between misses (none, or twice as much), where parallelism comes from (near time, or access
classes alone: the two bracket most truths), how many lines several streams have in flight (of one,
or of each), and, where near time beats the near curves, whether the far curves are off alike. Of
the default model, also a part of the way to other models. Where far memory has near memory's own
figures, they are wrong alike: slowdown is 1, without a width.

What that says of a deviation's size is a guess; how often intervals hold was looked up. They are
the joined deviations times `SHARE`, which made them hold 90 % of times on the cycle-level core.
That is no promise for another machine or memory: there they are called uncalibrated, until
`nearfar validate` has found the factor for that kind of memory (`calibration`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearfar.base.statistics import Estimate
from nearfar.predict.memory import Memory
from nearfar.predict.model import NO_DOUBT, Doubt, Model, usable
from nearfar.predict.traffic import PhaseTraffic

MODEL_ERROR = 0.10
"""Relative error of added time that no variation shows: mean error of this inversion on kernels
measured elsewhere was 5 to 10 %."""

DISAGREEMENT = 0.15
"""Of the way to the models that bracket the default one. On the cycle-level core shares of 0.05 to
0.15 score best, on the fitted and on the held-out half of the kernels; none, or a quarter, is a
tenth worse."""

LEVEL = 0.9
"""Of outcomes, what intervals of predictions are meant to hold."""

SHARE = 0.6
"""Of the joined deviations (logarithms of ratios), what holds `LEVEL` of outcomes: the conformal
factor of ten kernels on the cycle-level core, each at five slower memories with and without
prefetchers; 0.58, rounded up (`nearfar reproduce cycle-level` works it out)."""


@dataclass(frozen=True)
class Outcome:
    """One phase with everything far: its time and slowdown with intervals."""

    far_time_ns: Estimate
    slowdown: Estimate


def outcome(
    kind: type[Model], phase: PhaseTraffic, near: Memory, far: Memory, central: Model
) -> Outcome:
    """Return time and slowdown of everything far, with their 90 % intervals."""
    near_ns = phase.near_time_ns.value
    if near_ns <= 0.0:
        none = Estimate(near_ns, near_ns, near_ns)
        return Outcome(none, Estimate(1.0, 1.0, 1.0))
    if far.is_near:
        return Outcome(phase.near_time_ns, Estimate(1.0, 1.0, 1.0))
    time = float(central.times_ns(phase.total))
    times, slowdowns = [time], [time / near_ns]
    for doubt in doubts(phase, near, far):
        varied = kind(phase, near, far, doubt)
        varied_time = float(varied.times_ns(phase.total))
        times.append(varied_time)
        slowdowns.append(varied_time / varied.near_time_ns)
    for end in _towards(kind.brackets, phase, near, far, time):
        times.append(end)
        slowdowns.append(end / near_ns)
    # What a curve says beyond its end is a guess, the more so the farther.
    added = (MODEL_ERROR + central.extrapolated()) * abs(time - near_ns)
    return Outcome(_joined(np.array(times), added), _joined(np.array(slowdowns), added / near_ns))


def _towards(
    brackets: tuple[str, ...], phase: PhaseTraffic, near: Memory, far: Memory, time: float
) -> list[float]:
    """Return times a part of the way to the longest and to the shortest of other models."""
    others = [float(one.times_ns(phase.total)) for one in usable(brackets, phase, near, far)[0]]
    ends = (max([time, *others]), min([time, *others]))
    return [time + DISAGREEMENT * (end - time) for end in ends] if others else []


def doubts(phase: PhaseTraffic, near: Memory, far: Memory) -> list[Doubt]:
    """Return what may be otherwise."""
    time = phase.near_time_ns
    fewest, most = phase.lines_range
    latency, bandwidth = far.latency_error, far.bandwidth_error
    varied = [
        Doubt(near_time=time.low / time.value),
        Doubt(near_time=time.high / time.value),
        Doubt(near_latency=1.0 - min(near.latency_error, 0.9)),
        Doubt(near_latency=1.0 + near.latency_error),
        Doubt(lines=max(fewest, 0.1)),
        Doubt(lines=most),
        Doubt(far_latency=1.0 - min(latency, 0.9)),
        Doubt(far_latency=1.0 + latency),
        Doubt(far_latency=far.latency_range[0]),
        Doubt(far_latency=far.latency_range[1]),
        Doubt(far_bandwidth=1.0 - min(bandwidth, 0.9)),
        Doubt(far_bandwidth=1.0 + bandwidth),
        Doubt(hits=0.0),
        Doubt(hits=2.0),
        Doubt(parallelism="classes"),
        Doubt(near_curves_hold=True),
        *([Doubt(streams_share=0.0), Doubt(streams_share=1.0)] if phase.streams > 1.0 else []),
    ]
    return [doubt for doubt in varied if doubt != NO_DOUBT and doubt.near_time > 0.0]


def _joined(values: np.ndarray[tuple[int], np.dtype[np.float64]], model_error: float) -> Estimate:
    central = float(values[0])
    change = values[1:] - central
    up = float(np.sqrt(np.sum(np.maximum(change, 0.0) ** 2) + model_error**2))
    down = float(np.sqrt(np.sum(np.minimum(change, 0.0) ** 2) + model_error**2))
    if central <= 0.0:
        return Estimate(central, central, central + up)
    low = central * (max(0.0, central - down) / central) ** SHARE
    return Estimate(central, low, central * ((central + up) / central) ** SHARE)
