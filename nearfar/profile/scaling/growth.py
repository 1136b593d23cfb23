"""Laws of growth, and the choice of one for a series of numbers.

A law is chosen by how well it predicts the larger sizes from the smaller ones, not by how well it
fits. A law of two parameters is chosen only where it is clearly better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.base.estimate import Estimate
from nearfar.documents.profiled_run import Extrapolated

Array = NDArray[np.float64]

BETTER_SHARE = 0.7
"""Share of the best one-parameter law's error below which a two-parameter law must be."""
MIN_ERROR_GAIN = 0.005
"""Least gain of a two-parameter law, as |ln| error: counts of sampled lines scatter by more."""
MAX_RIVAL_FACTOR = 1.5
"""A law with up to this many times the chosen law's error may also be right."""
MIN_RIVAL_ERROR = 0.05
"""A law whose |ln| error is at most this much larger may also be right: counts of a few hundred
sampled lines, and times of runs minutes apart, scatter by as much."""
MIN_HALF_WIDTH = 0.02
"""Least half-width of an interval, as |ln|: the 2 % that sampling lines leaves (README)."""
WORST_TO_95 = 1.5
"""Factor from the largest of three errors, about their 80 % quantile, to the 95 % quantile of a
normal error."""
MAX_POWER = 4.0
"""Largest exponent of a power law: no program that ends grows faster than n^4."""


@dataclass(frozen=True)
class Law:
    """A form of growth with its fit."""

    name: str
    parameters: int
    fit: Callable[[Array, Array, Array], Callable[[Array], Array]]
    """Maps sizes (n), values (n x m) and weights (n x m) to a function from k sizes to (k x m)."""


def _scaled(shape: Callable[[Array], Array]) -> Callable[[Array, Array, Array], Callable]:  # type: ignore[type-arg]
    def fit(sizes: Array, values: Array, weights: Array) -> Callable[[Array], Array]:
        known = shape(sizes)[:, None]
        norm = (weights * known**2).sum(axis=0)
        factor = (weights * known * values).sum(axis=0) / np.where(norm > 0, norm, 1.0)
        return lambda at: shape(at)[:, None] * factor

    return fit


def _power(sizes: Array, values: Array, weights: Array) -> Callable[[Array], Array]:
    """Fit a power law by least squares of logarithms."""
    used = (values > 0) & (weights > 0)
    # In logarithms a weight is that of the relative error.
    importance = np.where(used, weights * values**2, 0.0)
    x = np.log(sizes)[:, None] * np.ones_like(values)
    y = np.log(np.where(used, values, 1.0))
    total = np.maximum(importance.sum(axis=0), 1e-300)
    mean_x, mean_y = (importance * x).sum(axis=0) / total, (importance * y).sum(axis=0) / total
    spread = (importance * (x - mean_x) ** 2).sum(axis=0)
    slope = (importance * (x - mean_x) * (y - mean_y)).sum(axis=0) / np.maximum(spread, 1e-300)
    slope = np.clip(np.where(spread > 1e-12, slope, 0.0), -MAX_POWER, MAX_POWER)
    has_values = used.any(axis=0)

    def at_sizes(at: Array) -> Array:
        grown = mean_y + slope * (np.log(at)[:, None] - mean_x)
        return np.where(has_values, np.exp(np.clip(grown, -700, 700)), 0.0)

    at_sizes.slope = slope  # type: ignore[attr-defined]
    return at_sizes


def _affine(sizes: Array, values: Array, weights: Array) -> Callable[[Array], Array]:
    """Fit a constant start-up plus a part in proportion to the size; neither is below 0."""
    n = sizes[:, None] * np.ones_like(values)
    total = np.maximum(weights.sum(axis=0), 1e-300)
    mean_n, mean_value = (weights * n).sum(axis=0) / total, (weights * values).sum(axis=0) / total
    spread = np.maximum((weights * (n - mean_n) ** 2).sum(axis=0), 1e-300)
    slope = (weights * (n - mean_n) * (values - mean_value)).sum(axis=0) / spread
    through_zero = (weights * n * values).sum(axis=0) / np.maximum(
        (weights * n**2).sum(axis=0), 1e-300
    )
    start = mean_value - slope * mean_n
    slope = np.where(slope < 0, 0.0, np.where(start < 0, through_zero, slope))
    start = np.where(slope == 0, mean_value, np.where(start < 0, 0.0, start))
    return lambda at: start + slope * at[:, None]


def _logarithm(n: Array) -> Array:
    return np.asarray(np.log(np.maximum(n, 2.0)), dtype=float)


LAWS = (
    Law("constant", 1, _scaled(np.ones_like)),
    Law("log n", 1, _scaled(_logarithm)),
    Law("n", 1, _scaled(lambda n: n)),
    Law("n log n", 1, _scaled(lambda n: n * _logarithm(n))),
    Law("n^a", 2, _power),
    Law("constant + n", 2, _affine),
)


@dataclass(frozen=True)
class Growth:
    """The law of one number, and its value at the target."""

    law: str
    held_out_error: float
    """Largest |ln(predicted / known)| of sizes predicted from smaller ones."""
    mean_error: float
    """Weighted mean of these errors, by which laws are chosen."""
    estimate: Estimate


def splits(sizes: Sequence[float], target: float) -> list[tuple[list[int], int]]:
    """Return (indices of smaller sizes to fit, index of the larger size to predict).

    Each size from the third on is predicted from all below it. The largest is also predicted from
    sizes as far below it as the target is above it, if there are two.
    """
    tests = [(list(range(k)), k) for k in range(2, len(sizes))]
    last = len(sizes) - 1
    if target > sizes[last]:
        reach = sizes[last] ** 2 / target * (1 + 1e-9)
        below = [k for k in range(last) if sizes[k] <= reach]
        if 2 <= len(below) < last:
            tests.append((below, last))
    return tests


def weights_of(sizes: Array, values: Array, floor: float) -> Array:
    """Return weights of relative errors; larger sizes weigh more, being nearer to the target."""
    scale = np.maximum(np.abs(values), max(floor, 1e-9))
    return np.asarray((sizes / sizes.max())[:, None] / scale**2, dtype=float)


def log_error(predicted: float, known: float, floor: float) -> float:
    """Return |ln(predicted / known)|, or 0 for differences up to `floor`."""
    if abs(predicted - known) <= floor:
        return 0.0
    least = max(floor, 1e-9)
    return float(abs(np.log(max(predicted, least) / max(known, least))))


def grow(
    sizes: Sequence[float],
    values: Sequence[float],
    target: float,
    floor: float = 0.0,
    expected: str = "n",
) -> Growth:
    """Extrapolate `values` at ascending `sizes` to `target`.

    `floor`: by how much a value may be off by chance, in its unit. `expected`: the law to choose
    where several predict equally well.
    """
    n, y = np.asarray(sizes, dtype=float), np.asarray(values, dtype=float)[:, None]
    target_sizes = np.array([float(target)])
    tests = splits(sizes, target)
    errors: dict[str, float] = {}
    worst: dict[str, float] = {}
    ends: dict[str, float] = {}
    shown_names: dict[str, str] = {}
    for law in LAWS:
        test_errors = []
        for train, test in tests:
            fitted = law.fit(n[train], y[train], weights_of(n[train], y[train], floor))
            error = log_error(float(fitted(n[[test]])[0, 0]), float(y[test, 0]), floor)
            test_errors.append((error, held_out_weight(sizes, train, test)))
        fitted = law.fit(n, y, weights_of(n, y, floor))
        errors[law.name], worst[law.name] = (
            mean_error(test_errors),
            max(error for error, _ in test_errors),
        )
        ends[law.name] = max(0.0, float(fitted(target_sizes)[0, 0]))
        slope = getattr(fitted, "slope", None)
        shown_names[law.name] = law.name if slope is None else f"n^{float(slope[0]):.2f}"
    chosen = best_law(errors, expected)
    rivals = [ends[name] for name in ends if errors[name] <= rival_bound(errors[chosen])]
    value = ends[chosen]
    half = max(MIN_HALF_WIDTH, worst[chosen] * extrapolation_factor(sizes, target, tests))
    return Growth(
        shown_names[chosen],
        worst[chosen],
        errors[chosen],
        Estimate(
            value,
            max(0.0, min(value * float(np.exp(-half)), *rivals) - floor),
            max(value * float(np.exp(half)), *rivals) + floor,
        ),
    )


def held_out_weight(sizes: Sequence[float], fitted: Sequence[int], held_out: int) -> float:
    """Return the weight of one held-out size in a law's mean error.

    It grows with the number of sizes fitted and with the size itself: the smallest sizes are
    mostly start-up and few sampled lines.
    """
    return len(fitted) * sizes[held_out] / sizes[-1]


def mean_error(errors: Sequence[tuple[float, float]], default: float = 0.0) -> float:
    """Return the mean of (error, weight) pairs; `default` where there are none."""
    weight = sum(count for _, count in errors)
    return sum(error * count for error, count in errors) / weight if weight else default


def best_law(errors: dict[str, float], expected: str = "n") -> str:
    """Return the law with the least held-out error.

    A one-parameter law wins unless clearly worse; among equally good ones, `expected` wins.
    """
    parameters = {law.name: law.parameters for law in LAWS}
    simple = min((n for n in errors if parameters[n] == 1), key=lambda n: errors[n])
    if parameters.get(expected) == 1 and errors[expected] <= rival_bound(errors[simple]):
        simple = expected
    others = [name for name in errors if parameters[name] > 1]
    if not others:
        return simple
    best = min(others, key=lambda n: errors[n])
    worth = errors[best] < min(BETTER_SHARE * errors[simple], errors[simple] - MIN_ERROR_GAIN)
    return best if worth else simple


def rival_bound(error: float) -> float:
    """Return the error up to which another law may also be right."""
    return max(MAX_RIVAL_FACTOR * error, error + MIN_RIVAL_ERROR)


def extrapolation_factor(
    sizes: Sequence[float], target: float, tests: list[tuple[list[int], int]]
) -> float:
    """Return the factor from the largest held-out error to the half-width at the target.

    It grows with the distance of the target over that of the held-out sizes, on a log scale.
    """
    tried = max(float(np.log(sizes[test] / sizes[train[-1]])) for train, test in tests)
    return WORST_TO_95 * max(1.0, float(np.log(target / sizes[-1])) / tried)


Quantity = Literal["near time", "operations", "size", "accesses", "misses", "write-backs"]


@dataclass
class ExtrapolationNotes:
    """Laws and intervals of all extrapolated numbers, and warnings on them."""

    quantities: list[Extrapolated] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, quantity: Quantity, growth: Growth, phase: str, number: int | None) -> float:
        """Record the law and interval of a number; return its value."""
        self.quantities.append(
            Extrapolated(
                quantity=quantity,
                phase=phase,
                object=number,
                law=growth.law,
                held_out_error=growth.held_out_error,
                estimate=growth.estimate,
            )
        )
        return growth.estimate.value
