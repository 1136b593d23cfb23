"""What placements cost: time and slowdown with intervals, bytes of each memory, their price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nearfar.base.statistics import Estimate
from nearfar.place.problem import Problem
from nearfar.predict.total import sum_estimates
from nearfar.predict.traffic import Array


@dataclass(frozen=True)
class Evaluation:
    """One placement."""

    time_ns: Estimate
    slowdown: Estimate
    bytes_by_memory: list[int]
    cost_relative: float
    """Price of the memory used, over all-near's."""

    @property
    def near_bytes(self) -> int:
        """Near memory that it takes."""
        return self.bytes_by_memory[0]


@dataclass(frozen=True)
class _Ends:
    """Everything far, per placement: (value, low, high) of time and of slowdown."""

    time_ns: tuple[Array, Array, Array]
    slowdown: tuple[Array, Array, Array]


def evaluate(problem: Problem, shares: Array) -> list[Evaluation]:
    """Return what placements (placements, objects, memories) cost, timed in one go."""
    shares = np.asarray(shares, dtype=float)
    times = problem.shared_times_ns(shares)
    used = np.einsum("pom,o->pm", shares, problem.sizes_bytes)
    ends = _ends(problem, shares)
    rows = zip(
        _time_estimates(problem, times, ends),
        _slowdown_estimates(problem, times, ends),
        np.rint(used).astype(np.int64).tolist(),
        problem.price_relative(used).tolist(),
        strict=True,
    )
    return [Evaluation(*row) for row in rows]


def time_estimates(problem: Problem, times_ns: Sequence[float] | Array) -> list[Estimate]:
    """Return times with intervals of placements between near memory and `far`.

    All-near has near time's own interval and all-far that of the prediction; between, the ends
    move as the added time does, because what is uncertain is common to all placements.
    """
    times = np.asarray(times_ns, dtype=float)
    return _time_estimates(problem, times, _far_ends(problem, 0, len(times)))


def slowdown_estimates(problem: Problem, times_ns: Sequence[float] | Array) -> list[Estimate]:
    """Return such placements' slowdowns with intervals; all-near is 1 by definition."""
    times = np.asarray(times_ns, dtype=float)
    return _slowdown_estimates(problem, times, _far_ends(problem, 0, len(times)))


def _time_estimates(problem: Problem, times: Array, ends: _Ends) -> list[Estimate]:
    near = problem.near_time_ns
    far, far_low, far_high = ends.time_ns
    share = _divided(times - near.value, far - near.value)
    below = (near.value - near.low) * (1 - share) + (far - far_low) * share
    above = (near.high - near.value) * (1 - share) + (far_high - far) * share
    lows = np.maximum(0.0, times - np.maximum(below, 0.0))
    highs = times + np.maximum(above, 0.0)
    return _estimates(times, lows, highs)


def _slowdown_estimates(problem: Problem, times: Array, ends: _Ends) -> list[Estimate]:
    near = problem.near_time_ns.value
    if near <= 0:
        return [Estimate(1.0, 1.0, 1.0)] * len(times)
    far, far_low, far_high = ends.slowdown
    slowdowns = times / near
    share = _divided(slowdowns - 1, far - 1)
    lows = slowdowns - np.maximum((far - far_low) * share, 0.0)
    highs = slowdowns + np.maximum((far_high - far) * share, 0.0)
    return _estimates(slowdowns, lows, highs)


def _estimates(values: Array, lows: Array, highs: Array) -> list[Estimate]:
    rows = zip(values.tolist(), lows.tolist(), highs.tolist(), strict=True)
    return [Estimate(*row) for row in rows]


def _divided(over: Array, under: Array) -> Array:
    """Return the quotient, 0 where nothing is added in any case."""
    return np.asarray(np.divide(over, under, out=np.zeros_like(over), where=under != 0))


def _far_ends(problem: Problem, memory: int, count: int) -> _Ends:
    """Return the ends of everything in one far memory, for each of `count` placements."""
    outcomes = problem.far_outcomes[memory]
    time = sum_estimates([found.far_time_ns for found in outcomes])
    near = problem.near_time_ns.value
    weights = [phase.near_time_ns.value / near if near > 0 else 0.0 for phase in problem.phases]
    pairs = list(zip(weights, (found.slowdown for found in outcomes), strict=True))
    slowdown = [
        sum(weight * end for weight, end in zip(weights, column, strict=True))
        for column in zip(*((s.value, s.low, s.high) for _, s in pairs), strict=True)
    ]
    full = [np.full(count, value) for value in (time.value, time.low, time.high)]
    return _Ends(
        (full[0], full[1], full[2]),
        (
            np.full(count, slowdown[0]),
            np.full(count, slowdown[1]),
            np.full(count, slowdown[2]),
        ),
    )


def _ends(problem: Problem, shares: Array) -> _Ends:
    """Return the ends of all far memories, mixed as each placement's added time is."""
    count = len(shares)
    every = [_far_ends(problem, memory, count) for memory in range(len(problem.fars))]
    if len(every) == 1:
        return every[0]
    added = np.abs(np.einsum("pom,om->pm", shares, problem.costs_ns)[:, 1:])
    whole = added.sum(axis=1, keepdims=True)
    even = np.full_like(added, 1.0 / added.shape[1])
    weights = np.divide(added, whole, out=even, where=whole > 0)

    def mixed(columns: list[Array]) -> Array:
        return np.asarray((weights * np.stack(columns, axis=1)).sum(axis=1))

    return _Ends(
        (
            mixed([ends.time_ns[0] for ends in every]),
            mixed([ends.time_ns[1] for ends in every]),
            mixed([ends.time_ns[2] for ends in every]),
        ),
        (
            mixed([ends.slowdown[0] for ends in every]),
            mixed([ends.slowdown[1] for ends in every]),
            mixed([ends.slowdown[2] for ends in every]),
        ),
    )
