"""Time and slowdown of placements with intervals, bytes in each memory, and their price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nearfar.base.estimate import Estimate, sum_estimates
from nearfar.place.problem import Problem
from nearfar.predict.traffic import Array


@dataclass(frozen=True)
class Evaluation:
    """One placement's predicted time, memory use and price."""

    time_ns: Estimate
    slowdown: Estimate
    bytes_by_memory: list[int]
    cost_relative: float
    """Price of the memory used, relative to all near."""

    @property
    def near_bytes(self) -> int:
        """Bytes in near memory."""
        return self.bytes_by_memory[0]


@dataclass(frozen=True)
class _FarEnds:
    """Value, low and high end with everything far, for each placement."""

    time_ns: tuple[Array, Array, Array]
    slowdown: tuple[Array, Array, Array]


def evaluate(
    problem: Problem, shares: Array, times_ns: Sequence[float] | None = None
) -> list[Evaluation]:
    """Return the evaluation of each placement; `shares` is (placements, objects, memories).

    `times_ns` gives the placements' times if these do not follow from the shares of objects.
    """
    shares = np.asarray(shares, dtype=float)
    times = problem.shared_times_ns(shares) if times_ns is None else np.asarray(times_ns)
    used = np.einsum("pom,o->pm", shares, problem.sizes_bytes)
    ends = _mixed_ends(problem, shares)
    rows = zip(
        _time_estimates(problem, times, ends),
        _slowdown_estimates(problem, times, ends),
        np.rint(used).astype(np.int64).tolist(),
        problem.price_relative(used).tolist(),
        strict=True,
    )
    return [Evaluation(*row) for row in rows]


def interval_estimates(
    problem: Problem, times_ns: Sequence[float] | Array
) -> tuple[list[Estimate], list[Estimate]]:
    """Return times and slowdowns with intervals of placements between near memory and `far`.

    All-near has near time's interval (a slowdown of exactly 1) and all-far has the prediction's.
    Between them the ends move in proportion to the added time, because all placements share the
    same uncertainty.
    """
    times = np.asarray(times_ns, dtype=float)
    ends = _far_ends(problem, 0, len(times))
    return _time_estimates(problem, times, ends), _slowdown_estimates(problem, times, ends)


def _time_estimates(problem: Problem, times: Array, ends: _FarEnds) -> list[Estimate]:
    near = problem.near_time_ns
    far, far_low, far_high = ends.time_ns
    share = _ratio(times - near.value, far - near.value)
    below = (near.value - near.low) * (1 - share) + (far - far_low) * share
    above = (near.high - near.value) * (1 - share) + (far_high - far) * share
    lows = np.maximum(0.0, times - np.maximum(below, 0.0))
    highs = times + np.maximum(above, 0.0)
    return _estimates(times, lows, highs)


def _slowdown_estimates(problem: Problem, times: Array, ends: _FarEnds) -> list[Estimate]:
    near = problem.near_time_ns.value
    if near <= 0:
        return [Estimate(1.0, 1.0, 1.0)] * len(times)
    far, far_low, far_high = ends.slowdown
    slowdowns = times / near
    share = _ratio(slowdowns - 1, far - 1)
    lows = slowdowns - np.maximum((far - far_low) * share, 0.0)
    highs = slowdowns + np.maximum((far_high - far) * share, 0.0)
    return _estimates(slowdowns, lows, highs)


def _estimates(values: Array, lows: Array, highs: Array) -> list[Estimate]:
    rows = zip(values.tolist(), lows.tolist(), highs.tolist(), strict=True)
    return [Estimate(*row) for row in rows]


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Return the quotient, or 1 if the denominator is 0.

    A denominator of 0 means that far memory adds no time. Then times do not distinguish placements,
    and each placement gets the whole interval.
    """
    quotient = np.ones_like(numerator)
    return np.asarray(np.divide(numerator, denominator, out=quotient, where=denominator != 0))


def _far_ends(problem: Problem, memory: int, count: int) -> _FarEnds:
    """Return the ends with everything in one far memory, repeated for `count` placements."""
    outcomes = problem.far_outcomes[memory]
    time = sum_estimates([outcome.far_time_ns for outcome in outcomes])
    slowdown = weighted(problem.phase_weights, [outcome.slowdown for outcome in outcomes])
    return _FarEnds(
        *(
            (np.full(count, end.value), np.full(count, end.low), np.full(count, end.high))
            for end in (time, slowdown)
        )
    )


def weighted(weights: Sequence[float], estimates: Sequence[Estimate]) -> Estimate:
    """Return the weighted sums of the estimates' values, low ends and high ends."""
    return Estimate(
        *(
            sum(weight * end for weight, end in zip(weights, ends, strict=True))
            for ends in zip(*((e.value, e.low, e.high) for e in estimates), strict=True)
        )
    )


def _mixed_ends(problem: Problem, shares: Array) -> _FarEnds:
    """Return the far memories' ends, weighted by the time each adds in each placement."""
    by_memory = [_far_ends(problem, memory, len(shares)) for memory in range(len(problem.fars))]
    if len(by_memory) == 1:
        return by_memory[0]
    added = np.abs(np.einsum("pom,om->pm", shares, problem.costs_ns)[:, 1:])
    total = added.sum(axis=1, keepdims=True)
    even = np.full_like(added, 1.0 / added.shape[1])
    weights = np.divide(added, total, out=even, where=total > 0)

    def mixed(ends: list[tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
        value, low, high = (
            np.asarray((weights * np.stack(column, axis=1)).sum(axis=1))
            for column in zip(*ends, strict=True)
        )
        return value, low, high

    return _FarEnds(
        mixed([ends.time_ns for ends in by_memory]), mixed([ends.slowdown for ends in by_memory])
    )
