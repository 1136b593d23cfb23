"""The interval around a prediction: each uncertain input is perturbed alone.

Deviations are assumed to be independent and added in quadrature, upward and downward separately.
These inputs are perturbed:

- near time, within its interval; counts, within the sampling error; the figures of both devices,
  within their errors
- the conversion of a latency published on another machine (added to local DRAM's, as published, or
  in proportion: the least and the greatest)
- the time of cache hits between misses (none, or twice as much)
- the source of parallelism (near time, or access classes alone: the two bracket most truths)
- the lines that several streams have in flight (as many as one, or as many for each)
- where near time is shorter than the near curves allow, whether the far curves are off equally
- for the default model, part of the way to other models; where it is a mean of two (with bursts),
  the interval covers both; for a simulated core, a smaller core

Where far memory has near memory's figures, their errors are the same: slowdown is 1, without a
width.

The size of each deviation is a guess, but interval coverage was measured. Intervals are the joined
deviations times `DEVIATION_SHARE`, with which they covered 90 % of times on the cycle-level core.
Deviations that this core cannot show (the conversion of a latency, and loads beyond a curve's end)
count in full. That does not hold for another machine or memory: there, intervals are called
uncalibrated until `nearfar validate` has measured how wide that kind of memory needs them
(`calibration`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, hypot, log, log1p

from nearfar.base.estimate import Estimate
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import NO_PERTURBATION, Model, Perturbation, usable_models
from nearfar.predict.traffic import PhaseTraffic

MODEL_ERROR = 0.10
"""Relative error of added time that no perturbation shows: the mean error of this inversion on
kernels measured elsewhere was 5 to 10 %."""

BRACKET_SHARE = 0.15
"""Share of the distance to the models that bracket the default one. On the cycle-level core, shares
of 0.05 to 0.15 score best, on the fitted and on the held-out half of the kernels; none, or a
quarter, is a tenth worse."""

LEVEL = 0.9
"""Share of outcomes that intervals of predictions are meant to cover."""

DEVIATION_SHARE = 0.6
"""Share of the joined deviations (logarithms of ratios) that covers `LEVEL` of outcomes. The
conformal factor of ten kernels on the cycle-level core, each at five slower memories with and
without prefetchers, was 0.58 for the inversion; this is rounded up. Where bursts make the default a
mean with the window, it errs less, and intervals of the same width cover more. `nearfar reproduce
cycle-level` prints the factors that all kernels need."""

MIN_RATIO = 1e-12
"""Smallest ratio to the central time that a downward deviation leaves."""


@dataclass(frozen=True)
class FarEstimate:
    """Time and slowdown of one phase with everything far, with intervals."""

    far_time_ns: Estimate
    slowdown: Estimate


def far_estimate(
    kind: type[Model],
    phase: PhaseTraffic,
    near: MemoryCosts,
    far: MemoryCosts,
    central: Model,
) -> FarEstimate:
    """Return time and slowdown of everything far, with their 90 % intervals."""
    near_ns = phase.near_time_ns.value
    if near_ns <= 0.0:
        return FarEstimate(Estimate(near_ns, near_ns, near_ns), Estimate(1.0, 1.0, 1.0))
    if far.is_near:
        return FarEstimate(phase.near_time_ns, Estimate(1.0, 1.0, 1.0))
    time = float(central.times_ns(phase.total))
    validated, unvalidated = _Ends(time, near_ns), _Ends(time, near_ns)
    for perturbation in perturbations(phase, near, far):
        validated.add_model(kind(phase, near, far, perturbation))
    for perturbation in host_perturbations(far):
        unvalidated.add_model(kind(phase, near, far, perturbation))
    for end in _towards(kind.brackets, phase, near, far, time):
        validated.add(end, near_ns)
    added = abs(time - near_ns)
    validated.add_either_way(MODEL_ERROR * added)
    # Beyond a curve's end its value is a guess, the more so the farther.
    unvalidated.add_either_way(central.extrapolation() * added)
    covered = central.times_to_cover_ns()
    return FarEstimate(
        _covering(_joined(time, validated.times, unvalidated.times), covered),
        _covering(
            _joined(time / near_ns, validated.slowdowns, unvalidated.slowdowns),
            [time_ns / near_ns for time_ns in covered],
        ),
    )


@dataclass
class _Ends:
    """Times and slowdowns of a phase, each with one input perturbed."""

    time_ns: float
    near_ns: float
    times: list[float] = field(default_factory=list)
    slowdowns: list[float] = field(default_factory=list)

    def add(self, time_ns: float, near_ns: float) -> None:
        """Add a time; its slowdown is over the near time that belongs to it."""
        self.times.append(time_ns)
        self.slowdowns.append(time_ns / near_ns)

    def add_model(self, perturbed: Model) -> None:
        """Add a perturbed model's time of everything far."""
        self.add(float(perturbed.times_ns(perturbed.phase.total)), perturbed.near_time_ns)

    def add_either_way(self, error_ns: float) -> None:
        """Add an error upward and downward."""
        self.add(self.time_ns + error_ns, self.near_ns)
        self.add(self.time_ns - error_ns, self.near_ns)


def _towards(
    brackets: tuple[str, ...],
    phase: PhaseTraffic,
    near: MemoryCosts,
    far: MemoryCosts,
    time: float,
) -> list[float]:
    """Return times part of the way to the longest and to the shortest of other models."""
    models = usable_models(brackets, phase, near, far)[0]
    others = [float(model.times_ns(phase.total)) for model in models]
    ends = (max([time, *others]), min([time, *others]))
    return [time + BRACKET_SHARE * (end - time) for end in ends] if others else []


def perturbations(phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts) -> list[Perturbation]:
    """Return the perturbations that the cycle-level core validated."""
    time = phase.near_time_ns
    fewest, most = phase.lines_range
    latency, bandwidth = far.latency_error, far.bandwidth_error
    candidates = [
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
    ]
    if phase.bursts is not None:
        candidates.append(Perturbation(smaller_window=True))
    if phase.streams > 1.0:
        candidates += [Perturbation(streams_share=0.0), Perturbation(streams_share=1.0)]
    return [
        candidate
        for candidate in candidates
        if candidate != NO_PERTURBATION and candidate.near_time > 0.0
    ]


def host_perturbations(far: MemoryCosts) -> list[Perturbation]:
    """Return the perturbations of a memory that was published on another machine.

    On the cycle-level core, from which `DEVIATION_SHARE` comes, latencies are that core's.
    """
    candidates = [Perturbation(far_latency=factor) for factor in far.latency_range]
    return [candidate for candidate in candidates if candidate != NO_PERTURBATION]


def _joined(central: float, validated: list[float], unvalidated: list[float]) -> Estimate:
    """Join deviations in quadrature: a share of the validated ones, all of the others."""
    ups = [_quadrature(central, ends, 1.0) for ends in (validated, unvalidated)]
    downs = [_quadrature(central, ends, -1.0) for ends in (validated, unvalidated)]
    if central <= 0.0:
        return Estimate(central, central, central + hypot(*ups))
    highs = [log1p(up / central) for up in ups]
    lows = [log(max(1.0 - down / central, MIN_RATIO)) for down in downs]
    return Estimate(
        central,
        central * exp(-hypot(DEVIATION_SHARE * lows[0], lows[1])),
        central * exp(hypot(DEVIATION_SHARE * highs[0], highs[1])),
    )


def _quadrature(central: float, ends: list[float], sign: float) -> float:
    return hypot(*(max(sign * (end - central), 0.0) for end in ends))


def _covering(interval: Estimate, values: list[float]) -> Estimate:
    """Return the interval with its ends moved out to cover all of `values`."""
    low, high = min([interval.low, *values]), max([interval.high, *values])
    return Estimate(interval.value, low, high)
