"""The interval around a prediction: each thing that may be otherwise is varied alone.

Deviations are taken as independent and added in quadrature, upward and downward apart. What is
varied: near time within its own interval, counts within the sampling error, both devices'
figures within theirs, how a latency published on another machine is taken to this one (added to
local DRAM's, as published, or in proportion: the least and the greatest), time of cache hits
between misses (none, or twice as much), where parallelism comes from (near time, or access
classes alone: the two bracket most truths), how many lines several streams have in flight (of one,
or of each), and, where near time beats the near curves, whether the far curves are off alike. Of
the default model, also a part of the way to other models, and where it is a mean of two (with
bursts), both are inside; of a simulated core, a smaller one. Where far memory has near memory's own
figures, they are wrong alike: slowdown is 1, without a width.

What that says of a deviation's size is a guess; how often intervals hold was looked up. They are
the joined deviations times `SHARE`, which made them hold 90 % of times on the cycle-level core;
all of those that core knows nothing of: ways to take a latency here, and what lies beyond a curve.
That is no promise for another machine or memory: there they are called uncalibrated, until
`nearfar validate` has found what that kind of memory asks for (`calibration`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, hypot, log, log1p

from nearfar.base.estimate import Estimate
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import NO_PERTURBATION, Model, Perturbation, usable_models
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
prefetchers, was 0.58, rounded up: of the inversion's. Where bursts make the default a mean with the
window, it errs less, and as wide intervals hold more. `nearfar reproduce cycle-level` says by what
all kernels ask for other ends."""


@dataclass(frozen=True)
class FarEstimate:
    """One phase with everything far: its time and slowdown with intervals."""

    far_time_ns: Estimate
    slowdown: Estimate


def far_estimate(
    kind: type[Model], phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts, central: Model
) -> FarEstimate:
    """Return time and slowdown of everything far, with their 90 % intervals."""
    near_ns = phase.near_time_ns.value
    if near_ns <= 0.0:
        none = Estimate(near_ns, near_ns, near_ns)
        return FarEstimate(none, Estimate(1.0, 1.0, 1.0))
    if far.is_near:
        return FarEstimate(phase.near_time_ns, Estimate(1.0, 1.0, 1.0))
    time = float(central.times_ns(phase.total))
    looked_up, never_seen = _Ends(time, near_ns), _Ends(time, near_ns)
    for doubt in perturbations(phase, near, far):
        looked_up.add_model(kind(phase, near, far, doubt))
    for doubt in host_perturbations(far):
        never_seen.add_model(kind(phase, near, far, doubt))
    for end in _towards(kind.brackets, phase, near, far, time):
        looked_up.add(end, near_ns)
    added = abs(time - near_ns)
    looked_up.add_either_way(MODEL_ERROR * added)
    # What a curve says beyond its end is a guess, the more so the farther.
    never_seen.add_either_way(central.extrapolated() * added)
    held = central.must_hold_ns()
    return FarEstimate(
        _holding(_joined(time, looked_up.times, never_seen.times), held),
        _holding(
            _joined(time / near_ns, looked_up.slowdowns, never_seen.slowdowns),
            [held_ns / near_ns for held_ns in held],
        ),
    )


@dataclass
class _Ends:
    """Where a phase's time and slowdown would be, one thing being otherwise each."""

    time_ns: float
    near_ns: float
    times: list[float] = field(default_factory=list)
    slowdowns: list[float] = field(default_factory=list)

    def add(self, time_ns: float, near_ns: float) -> None:
        """Add one; slowdown is over the near time that goes with it."""
        self.times.append(time_ns)
        self.slowdowns.append(time_ns / near_ns)

    def add_model(self, varied: Model) -> None:
        """Add what a varied model says of everything far."""
        self.add(float(varied.times_ns(varied.phase.total)), varied.near_time_ns)

    def add_either_way(self, error_ns: float) -> None:
        """Add an error upward and downward."""
        self.add(self.time_ns + error_ns, self.near_ns)
        self.add(self.time_ns - error_ns, self.near_ns)


def _towards(
    brackets: tuple[str, ...], phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts, time: float
) -> list[float]:
    """Return times a part of the way to the longest and to the shortest of other models."""
    others = [
        float(one.times_ns(phase.total)) for one in usable_models(brackets, phase, near, far)[0]
    ]
    ends = (max([time, *others]), min([time, *others]))
    return [time + DISAGREEMENT * (end - time) for end in ends] if others else []


def perturbations(phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts) -> list[Perturbation]:
    """Return what may be otherwise."""
    time = phase.near_time_ns
    fewest, most = phase.lines_range
    latency, bandwidth = far.latency_error, far.bandwidth_error
    varied = [
        Perturbation(near_time=time.low / time.value),
        Perturbation(near_time=time.high / time.value),
        Perturbation(near_latency=1.0 - min(near.latency_error, 0.9)),
        Perturbation(near_latency=1.0 + near.latency_error),
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
        *([] if phase.bursts is None else [Perturbation(smaller_window=True)]),
        *(
            [Perturbation(streams_share=0.0), Perturbation(streams_share=1.0)]
            if phase.streams > 1.0
            else []
        ),
    ]
    return [doubt for doubt in varied if doubt != NO_PERTURBATION and doubt.near_time > 0.0]


def host_perturbations(far: MemoryCosts) -> list[Perturbation]:
    """Return what may be otherwise of a memory that was published on another machine.

    On the cycle-level core, where `SHARE` comes from, latencies are that core's own.
    """
    ways = [Perturbation(far_latency=factor) for factor in far.latency_range]
    return [doubt for doubt in ways if doubt != NO_PERTURBATION]


def _joined(central: float, looked_up: list[float], never_seen: list[float]) -> Estimate:
    """Join deviations in quadrature: `SHARE` of those looked up, all of those never seen there."""
    ups = [_quadrature(central, ends, 1.0) for ends in (looked_up, never_seen)]
    downs = [_quadrature(central, ends, -1.0) for ends in (looked_up, never_seen)]
    if central <= 0.0:
        return Estimate(central, central, central + hypot(*ups))
    most = [log1p(up / central) for up in ups]
    least = [log(max(1.0 - down / central, NOTHING)) for down in downs]
    return Estimate(
        central,
        central * exp(-hypot(SHARE * least[0], least[1])),
        central * exp(hypot(SHARE * most[0], most[1])),
    )


def _holding(interval: Estimate, values: list[float]) -> Estimate:
    """Return the interval, its ends moved out as far as to hold all of `values`."""
    low, high = min([interval.low, *values]), max([interval.high, *values])
    return Estimate(interval.value, low, high)


NOTHING = 1e-12
"""Of a time, what deviations larger than it leave."""


def _quadrature(central: float, ends: list[float], sign: float) -> float:
    return hypot(*(max(sign * (end - central), 0.0) for end in ends))
