"""The interval around a prediction: each uncertain input is perturbed alone.

Deviations are assumed to be independent and added in quadrature, upward and downward separately.
These inputs are perturbed:

- near time, within its interval; counts, within the sampling error; the figures of both devices,
  within their errors
- counts, within the range of the profile's other counts, and misses that nothing counted: in full
- measured figures, within the noise floor of their measurement; counts, within the range of cache
  sizes that this noise allows; near time, within the drift of the clock while near memory was
  measured: all in full, because the cycle-level core has no noise
- lines that a contending core takes from the shared cache, hidden sequences, and the unobserved
  rest of a program, which never waits, or always for what far memory slows down most: in full
- the conversion of a latency published on another machine (added to local DRAM's, as published, or
  in proportion: the least and the greatest), and of one core's sequential reads; where nothing
  gives these, or the bandwidth of writes, all that is possible (`core_streams`)
- the time of cache hits between misses (none, or twice as much)
- the number of misses in flight, taken from the access classes alone instead of from near time
- the lines that several streams have in flight (as many as one, or as many for each)
- where near time is shorter than the near curves allow, whether the far curves are off equally
- for the default model, part of the way to other models; for a fitted window, the far times of all
  windows that take near time, and its distance from the inversion as far as their weights leave
  open which is right

If far memory has near memory's figures, their errors are the same: the slowdown is 1 and its
interval has no width.

The size of each deviation is a guess, but interval coverage was measured. Intervals are the joined
deviations times `DEVIATION_SHARE`, with which they covered 90 % of times on the cycle-level core.
Deviations that this core cannot show (the conversion of a latency, and loads beyond a curve's end)
count in full. That does not hold for another machine or memory: there, intervals are called
uncalibrated until `nearfar validate` has measured how wide that kind of memory needs them
(`calibration`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot

import numpy as np

from nearfar.base.estimate import Estimate
from nearfar.predict.core_time import (
    BY_CLASSES,
    TrafficTime,
    core_time_ns,
    stream_fetch,
    traffic_time,
)
from nearfar.predict.deviations import joined
from nearfar.predict.memory import MemoryCosts, seen_by
from nearfar.predict.model import Model, Perturbation, usable_models
from nearfar.predict.perturbations import (
    count_perturbations,
    host_perturbations,
    noise_perturbations,
    perturbations,
)
from nearfar.predict.traffic import (
    CHASE,
    COLUMNS,
    INDEPENDENT,
    STORE,
    STORE_STREAM,
    STREAM,
    WRITE_BACK,
    WRITE_BACK_STREAM,
    PhaseTraffic,
    misses,
)

MODEL_ERROR = 0.10
"""Relative error of added time that no perturbation shows: the mean error of this inversion on
kernels measured elsewhere was 5 to 10 %."""

BRACKET_SHARE = 0.15
"""Share of the distance to the models that bracket the default one. On the cycle-level core, shares
of 0.05 to 0.15 score best on both halves of the kernels, which were both known; none, or a
quarter, is a tenth worse. See docs/constants.md."""

LEVEL = 0.9
"""Share of outcomes that the intervals of predictions should cover."""

DEVIATION_SHARE = 0.6
"""Share of the joined deviations (logarithms of ratios) that covers `LEVEL` of outcomes without a
fitted window. Calibrated on ten kernels of the cycle-level core with their own counts, at five
slower memories with and without prefetchers, leaving one kernel out: each kernel's factor, from the
other nine, was 0.94 to 1.03 of this share, and with it 88 % of the times left out were covered."""

FITTED_SHARE = 0.55
"""The same where a fitted window has all the weight. Leaving one of those kernels out, shares were
0.37 to 0.50 (88 % covered), and 0.33 to 0.35 with the span of the library's cores for the known
core (89 %). This one is larger because all ten were known while the window was built."""

CASES_AT_ONCE = 64
"""Phases and far memories whose perturbed models are kept at once: some 1300 models."""

KINDS_OF_WAITING = (
    [CHASE],
    [INDEPENDENT],
    [STREAM],
    [STORE, WRITE_BACK],
    [STORE_STREAM, WRITE_BACK_STREAM],
)
"""Kinds of traffic of which code may have only one; stored lines are written back."""

COPY = ([STREAM], [STORE_STREAM, WRITE_BACK_STREAM])
"""Traffic of a copy, which draws the most bandwidth: it fetches the lines it stores to while it
reads others."""

UNCHANGED = Estimate(1.0, 1.0, 1.0)
"""Slowdown of a phase that far memory cannot change."""


@dataclass(frozen=True)
class FarEstimate:
    """Time and slowdown of one phase with everything far, with intervals."""

    far_time_ns: Estimate
    slowdown: Estimate
    quiet_slowdown: Estimate
    """The slowdown with the interval that it would have if measurements had no noise and near time
    no spread."""


def far_estimate(
    kind: type[Model],
    phase: PhaseTraffic,
    near: MemoryCosts,
    far: MemoryCosts,
    central: Model,
) -> FarEstimate:
    """Return time and slowdown of everything far, with their 90 % intervals.

    `central` is the unperturbed model. An interval joins the deviations of perturbed models: in
    part those that were calibrated on the cycle-level core (`validated`, `spread`), in full the
    noise and those that this core cannot show (`unvalidated`).
    """
    return far_estimates(kind, near, [(far, central)])[0]


def far_estimates(
    kind: type[Model], near: MemoryCosts, cases: Sequence[tuple[MemoryCosts, Model]]
) -> list[FarEstimate]:
    """Return what `far_estimate` returns for each far memory and unperturbed model.

    Their perturbed models are computed together, which takes a part of the time.
    """
    estimates: list[FarEstimate] = []
    for start in range(0, len(cases), CASES_AT_ONCE):
        perturbed = [
            _PerturbedModels(kind, near, far, central)
            for far, central in cases[start : start + CASES_AT_ONCE]
        ]
        kind.prepare_all_far([model for case in perturbed for model in case.models()])
        estimates += [case.estimate() for case in perturbed]
    return estimates


class _PerturbedModels:
    """The models of one phase and far memory, each with one input perturbed."""

    def __init__(
        self, kind: type[Model], near: MemoryCosts, far: MemoryCosts, central: Model
    ) -> None:
        self._kind, self._near, self._far, self._central = kind, near, far, central
        self._validated: list[Model] = []
        self._spread: list[Model] = []
        self._unvalidated: list[Model] = []
        self._noise: list[Model] = []
        phase = central.phase
        if phase.near_time_ns.value <= 0.0 or far.is_near:
            return

        def perturbed(perturbations: list[Perturbation]) -> list[Model]:
            return [kind(phase, near, far, perturbation) for perturbation in perturbations]

        inputs = perturbations(kind, phase, near, far)
        # Perturbations of near time are kept apart, for the quiet slowdown.
        self._validated = perturbed([each for each in inputs if each.near_time == 1.0])
        self._spread = perturbed([each for each in inputs if each.near_time != 1.0])
        self._unvalidated = perturbed(host_perturbations(far) + count_perturbations(phase))
        self._noise = perturbed(noise_perturbations(phase, near, far))

    def models(self) -> list[Model]:
        """Return all models, the unperturbed one first."""
        return [
            self._central,
            *self._validated,
            *self._spread,
            *self._unvalidated,
            *self._noise,
        ]

    def estimate(self) -> FarEstimate:
        """Return time and slowdown of everything far, with their intervals."""
        kind, near, far, central = self._kind, self._near, self._far, self._central
        phase = central.phase
        near_ns = phase.near_time_ns.value
        if near_ns <= 0.0:
            return FarEstimate(Estimate(near_ns, near_ns, near_ns), UNCHANGED, UNCHANGED)
        if far.is_near:
            return FarEstimate(phase.near_time_ns, UNCHANGED, UNCHANGED)
        time = float(central.times_ns(phase.total))
        validated, unvalidated, spread, noise = (
            _PerturbedTimes(time, near_ns, models)
            for models in (self._validated, self._unvalidated, self._spread, self._noise)
        )
        uncounted = uncounted_ends(phase, near, far, time)
        for end in (*uncounted, *sequence_ends(kind, phase, near, far)):
            unvalidated.add(end, near_ns)
        bracket = _bracket(kind.brackets, phase, near, far, time)
        for end in (*bracket, *central.times_to_spread_ns()):
            validated.add(end, near_ns)
        added = abs(time - near_ns)
        validated.add_either_way(hypot(MODEL_ERROR * added, central.unexplained() * time))
        # Beyond a curve's end its value is a guess, which is worse farther out.
        unvalidated.add_either_way(central.extrapolation() * added)
        share = kind.deviation_share or _deviation_share(central.fitted_weight())
        in_part, in_full = validated.times + spread.times, unvalidated.times + noise.times
        covered = central.times_to_cover_ns()
        far_time = _covering(joined(time, in_part, in_full, share), covered)
        covered = [time_ns / near_ns for time_ns in covered]
        in_part, in_full = validated.slowdowns, unvalidated.slowdowns
        quiet = joined(time / near_ns, in_part, in_full, share)
        in_part, in_full = in_part + spread.slowdowns, in_full + noise.slowdowns
        slowdown = joined(time / near_ns, in_part, in_full, share)
        return FarEstimate(far_time, _covering(slowdown, covered), _covering(quiet, covered))


class _PerturbedTimes:
    """Times and slowdowns of a phase, each with one input perturbed."""

    def __init__(self, time_ns: float, near_ns: float, models: list[Model]) -> None:
        """Take `models`' times of everything far; the unperturbed one takes `time_ns`."""
        self._time_ns, self._near_ns = time_ns, near_ns
        self.times: list[float] = []
        self.slowdowns: list[float] = []
        for model in models:
            self.add(float(model.times_ns(model.phase.total)), model.near_time_ns)

    def add(self, time_ns: float, near_ns: float) -> None:
        """Add a time; its slowdown is over the near time that belongs to it."""
        self.times.append(time_ns)
        self.slowdowns.append(time_ns / near_ns)

    def add_either_way(self, error_ns: float) -> None:
        """Add an error upward and downward."""
        self.add(self._time_ns + error_ns, self._near_ns)
        self.add(self._time_ns - error_ns, self._near_ns)


def _bracket(
    brackets: tuple[str, ...],
    phase: PhaseTraffic,
    near: MemoryCosts,
    far: MemoryCosts,
    time: float,
) -> list[float]:
    """Return the times `BRACKET_SHARE` of the way to the longest and shortest of other models."""
    models = usable_models(brackets, phase, near, far)[0]
    others = [float(model.times_ns(phase.total)) for model in models]
    ends = (max([time, *others]), min([time, *others]))
    return [time + BRACKET_SHARE * (end - time) for end in ends] if others else []


def sequence_ends(
    kind: type[Model], phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts
) -> list[float]:
    """Return times of everything far if misses of unknown class hide more sequences."""
    if phase.unseen_sequences is None:
        return []
    objects = np.vstack([phase.objects, phase.unseen_sequences])
    model = kind(replace(phase, objects=objects), near, far)
    return [float(model.times_ns(model.phase.total))]


def uncounted_ends(
    phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts, time_ns: float
) -> list[float]:
    """Return times of everything far with misses that nothing counted.

    If hardly any miss was sampled, there may be as many misses as chance leaves unsampled. Time
    whose accesses were not counted, and unobserved work, may include no waiting or only waiting.
    """
    # Memories are as models see them, but with all page walks: those of counted lines show nothing
    # about uncounted lines.
    near, far = seen_by(phase.concurrency, near, far)
    near_ns, added_ns = phase.near_time_ns.value, far.latency_ns - near.latency_ns
    few = float(misses(phase.total)) < phase.unsampled_lines
    ends = [time_ns + phase.unsampled_lines * added_ns] if few else []
    if not phase.uncounted_share and not phase.unseen_share:
        return ends
    least_ns, all_waiting_ns = (near_ns * ratio for ratio in waiting_ratios(phase, near, far))
    if phase.uncounted_share:
        for rest_ns in (least_ns, all_waiting_ns):
            end_ns = time_ns + phase.uncounted_share * (rest_ns - near_ns)
            ends.append(min(max(end_ns, min(time_ns, rest_ns)), max(time_ns, rest_ns)))
    if phase.unseen_share:
        # The rest is added to this phase, whose slowdown is then the whole program's.
        ends += [
            time_ns + phase.unseen_share * (rest_ns - time_ns)
            for rest_ns in (least_ns, all_waiting_ns)
        ]
    return ends


def waiting_ratios(phase: PhaseTraffic, near: MemoryCosts, far: MemoryCosts) -> tuple[float, float]:
    """Return the least and the greatest slowdown of code whose accesses are not known.

    Such code may never wait, or wait all the time: for latency, or for the bandwidth of streams, of
    stores or of copies.
    """
    streams = stream_fetch(phase, near, 0.0)

    def traffic(columns: list[int], memory: MemoryCosts) -> TrafficTime:
        lines = np.zeros(COLUMNS)
        lines[columns] = 1.0
        return traffic_time(lines, memory, BY_CLASSES, streams, phase.concurrency)

    def copy_ns(memory: MemoryCosts) -> float:
        """Return the time of the longest part of a copy, which overlap cannot shorten."""
        parts = [traffic(columns, memory) for columns in COPY]
        core_ns = [max(float(part.stream), float(part.buffers)) for part in parts]
        written_ns = sum(float(part.written) for part in parts)
        return max(*core_ns, sum(float(part.all_lines) for part in parts) - written_ns, written_ns)

    ratios = [1.0, far.latency_ns / near.latency_ns, copy_ns(far) / copy_ns(near)]
    for columns in KINDS_OF_WAITING:
        near_ns, far_ns = (
            core_time_ns(0.0, [traffic(columns, memory)], [1.0]) for memory in (near, far)
        )
        ratios.append(far_ns / near_ns)
    return min(ratios), max(ratios)


def _deviation_share(fitted_weight: float) -> float:
    """Return the share of validated deviations where a fitted window has this weight."""
    return FITTED_SHARE * fitted_weight + DEVIATION_SHARE * (1.0 - fitted_weight)


def _covering(interval: Estimate, values: list[float]) -> Estimate:
    """Return the interval with its ends moved out to cover all of `values`."""
    low, high = min([interval.low, *values]), max([interval.high, *values])
    return Estimate(interval.value, low, high)
