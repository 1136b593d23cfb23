"""Laws of growth, and which of them a series of numbers follows.

A law is chosen by what it predicts, not by how well it fits: from the smaller sizes it must
predict the larger ones. A law of two parameters is taken only where it is clearly better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.base.statistics import Estimate
from nearfar.documents.workload import Extrapolated

Array = NDArray[np.float64]

CLEARLY_BETTER = 0.7
"""Share of the best simpler law's error that one parameter more must come below; and..."""
WORTH_A_PARAMETER = 0.005
"""...by how much (of the logarithm): less than counts of sampled lines scatter."""
RIVAL = 1.5
"""A law with up to this many times the chosen one's error might as well be right."""
RIVAL_LEAST = 0.05
"""And one whose error is no more than this above: counts of a few hundred sampled lines, and times
of runs minutes apart, scatter by as much."""
LEAST_HALF_WIDTH = 0.02
"""No extrapolation is taken for more certain than 2 %: what sampling lines leaves (README)."""
WORST_TO_95 = 1.5
"""The largest of three errors is their 80 % quantile or so; the 95 % quantile of a normal error is
1.5 times that."""
STEEPEST = 4.0
"""n^4 is the most that a program which ends does with its data."""


@dataclass(frozen=True)
class Law:
    """A form of growth: a shape times a factor, or one fitted by `fit`."""

    name: str
    parameters: int
    fit: Callable[[Array, Array, Array], Callable[[Array], Array]]
    """From sizes (n), values (n x m), weights (n x m) to the function of size, giving (k x m)."""


def _scaled(shape: Callable[[Array], Array]) -> Callable[[Array, Array, Array], Callable]:  # type: ignore[type-arg]
    def fit(sizes: Array, values: Array, weights: Array) -> Callable[[Array], Array]:
        known = shape(sizes)[:, None]
        norm = (weights * known**2).sum(axis=0)
        factor = (weights * known * values).sum(axis=0) / np.where(norm > 0, norm, 1.0)
        return lambda at: shape(at)[:, None] * factor

    return fit


def _power(sizes: Array, values: Array, weights: Array) -> Callable[[Array], Array]:
    used = (values > 0) & (weights > 0)
    # In logarithms a weight is that of the relative error.
    importance = np.where(used, weights * values**2, 0.0)
    x = np.log(sizes)[:, None] * np.ones_like(values)
    y = np.log(np.where(used, values, 1.0))
    total = np.maximum(importance.sum(axis=0), 1e-300)
    middle_x, middle_y = (importance * x).sum(axis=0) / total, (importance * y).sum(axis=0) / total
    spread = (importance * (x - middle_x) ** 2).sum(axis=0)
    slope = (importance * (x - middle_x) * (y - middle_y)).sum(axis=0) / np.maximum(spread, 1e-300)
    slope = np.clip(np.where(spread > 1e-12, slope, 0.0), -STEEPEST, STEEPEST)
    some = used.any(axis=0)

    def at_sizes(at: Array) -> Array:
        grown = middle_y + slope * (np.log(at)[:, None] - middle_x)
        return np.where(some, np.exp(np.clip(grown, -700, 700)), 0.0)

    at_sizes.slope = slope  # type: ignore[attr-defined]
    return at_sizes


def _affine(sizes: Array, values: Array, weights: Array) -> Callable[[Array], Array]:
    """Return a start-up that any size has, and a part in proportion; neither below 0."""
    n = sizes[:, None] * np.ones_like(values)
    total = np.maximum(weights.sum(axis=0), 1e-300)
    middle_n, middle = (weights * n).sum(axis=0) / total, (weights * values).sum(axis=0) / total
    spread = np.maximum((weights * (n - middle_n) ** 2).sum(axis=0), 1e-300)
    slope = (weights * (n - middle_n) * (values - middle)).sum(axis=0) / spread
    through_zero = (weights * n * values).sum(axis=0) / np.maximum(
        (weights * n**2).sum(axis=0), 1e-300
    )
    start = middle - slope * middle_n
    slope = np.where(slope < 0, 0.0, np.where(start < 0, through_zero, slope))
    start = np.where(slope == 0, middle, np.where(start < 0, 0.0, start))
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
    """How a number grows, and what it is at the target."""

    law: str
    held_out_error: float
    """Largest |ln(predicted / known)| of sizes predicted from smaller ones."""
    mean_error: float
    """Their mean, by which laws are chosen."""
    estimate: Estimate


def splits(sizes: Sequence[float], target: float) -> list[tuple[list[int], int]]:
    """Return (places of smaller sizes to fit, place of the larger one to predict).

    Each size from the third on is predicted from all below; the largest also from as far below
    as the target is above it, where two sizes are left there.
    """
    found = [(list(range(k)), k) for k in range(2, len(sizes))]
    last = len(sizes) - 1
    if target > sizes[last]:
        reach = sizes[last] ** 2 / target * (1 + 1e-9)
        below = [k for k in range(last) if sizes[k] <= reach]
        if 2 <= len(below) < last:
            found.append((below, last))
    return found


def weights_of(sizes: Array, values: Array, floor: float) -> Array:
    """Return weights of relative errors; larger sizes are nearer to what is asked for."""
    scale = np.maximum(np.abs(values), max(floor, 1e-9))
    return np.asarray((sizes / sizes.max())[:, None] / scale**2, dtype=float)


def off_by(predicted: float, known: float, floor: float) -> float:
    """Return |ln(predicted / known)|; differences up to `floor` do not count."""
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
    """Return how `values` at ascending `sizes` go on to `target`.

    `floor` is what a value may be off by chance, in its unit; `expected` the law to take where
    several predict equally well.
    """
    n, y = np.asarray(sizes, dtype=float), np.asarray(values, dtype=float)[:, None]
    at = np.array([float(target)])
    tests = splits(sizes, target)
    errors: dict[str, float] = {}
    worst: dict[str, float] = {}
    ends: dict[str, float] = {}
    named: dict[str, str] = {}
    for law in LAWS:
        told = []
        for train, test in tests:
            fitted = law.fit(n[train], y[train], weights_of(n[train], y[train], floor))
            error = off_by(float(fitted(n[[test]])[0, 0]), float(y[test, 0]), floor)
            told.append((error, says(sizes, train, test)))
        fitted = law.fit(n, y, weights_of(n, y, floor))
        errors[law.name], worst[law.name] = mean_error(told), max(error for error, _ in told)
        ends[law.name] = max(0.0, float(fitted(at)[0, 0]))
        slope = getattr(fitted, "slope", None)
        named[law.name] = law.name if slope is None else f"n^{float(slope[0]):.2f}"
    chosen = best_law(errors, expected)
    rivals = [ends[name] for name in ends if errors[name] <= rival_bound(errors[chosen])]
    value = ends[chosen]
    half = max(LEAST_HALF_WIDTH, worst[chosen] * further(sizes, target, tests))
    return Growth(
        named[chosen],
        worst[chosen],
        errors[chosen],
        Estimate(
            value,
            max(0.0, min(value * float(np.exp(-half)), *rivals) - floor),
            max(value * float(np.exp(half)), *rivals) + floor,
        ),
    )


def says(sizes: Sequence[float], train: Sequence[int], test: int) -> float:
    """Return how much a size predicted from others says of the target.

    The more the more sizes it was predicted from; and the larger it is, as in weights_of: the
    smallest sizes are mostly start-up and few sampled lines.
    """
    return len(train) * sizes[test] / sizes[-1]


def mean_error(told: Sequence[tuple[float, float]], nothing: float = 0.0) -> float:
    """Return the mean of (error, how much it says)."""
    weight = sum(count for _, count in told)
    return sum(error * count for error, count in told) / weight if weight else nothing


def best_law(errors: dict[str, float], expected: str = "n") -> str:
    """Return the law with the least held-out error; the simpler one unless clearly worse, and of
    those that are equally good the `expected` one.
    """
    parameters = {law.name: law.parameters for law in LAWS}
    simple = min((n for n in errors if parameters[n] == 1), key=lambda n: errors[n])
    if parameters.get(expected) == 1 and errors[expected] <= rival_bound(errors[simple]):
        simple = expected
    others = [name for name in errors if parameters[name] > 1]
    if not others:
        return simple
    best = min(others, key=lambda n: errors[n])
    worth = errors[best] < min(CLEARLY_BETTER * errors[simple], errors[simple] - WORTH_A_PARAMETER)
    return best if worth else simple


def rival_bound(error: float) -> float:
    """Return the error up to which another law might be the right one as well."""
    return max(RIVAL * error, error + RIVAL_LEAST)


def further(sizes: Sequence[float], target: float, tests: list[tuple[list[int], int]]) -> float:
    """Return by what the largest held-out error is multiplied for the target's interval.

    By how many times further the target is than what was predicted held out; 1 at least.
    """
    tried = max(float(np.log(sizes[test] / sizes[train[-1]])) for train, test in tests)
    return WORST_TO_95 * max(1.0, float(np.log(target / sizes[-1])) / tried)


Quantity = Literal["near time", "operations", "size", "accesses", "misses", "write-backs"]


@dataclass
class Notes:
    """Every number with its law and interval, and what limits them."""

    quantities: list[Extrapolated] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, quantity: Quantity, growth: Growth, phase: str, thing: int | None) -> float:
        """Keep how a number was found; return its value."""
        self.quantities.append(
            Extrapolated(
                quantity=quantity,
                phase=phase,
                object=thing,
                law=growth.law,
                held_out_error=growth.held_out_error,
                estimate=growth.estimate,
            )
        )
        return growth.estimate.value
