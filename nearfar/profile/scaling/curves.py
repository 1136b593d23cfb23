"""Miss curves at a size that was never run.

The reuse distance of a line is the amount of data touched between two accesses to it. A program
that does the same to twice the data misses in twice the cache as before: capacities scale with
the footprint to some power (1; 1/2 for rows of a matrix; 0 for blocks of fixed size). At the same
scaled capacity, misses grow by a law. Ding and Zhong predict reuse signatures across inputs in
this way ("Predicting whole-program locality through reuse distance analysis", PLDI 2003; constant,
square root and linear patterns). The chosen power and law are those that predict the larger
sizes' curves best from the smaller ones'.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.profile.scaling.growth import (
    LAWS,
    Law,
    best_law,
    held_out_weight,
    mean_error,
    rival_bound,
    splits,
    weights_of,
)

Array = NDArray[np.float64]

POWERS = (1.0, 0.5, 0.0)
"""Powers by which reuse distances grow with the footprint; the first of equally good ones wins."""
WINDOW_FACTOR = 2.0
"""Held-out errors use capacities from 1/2 to 2 times the scaled cache size: curves have steps, and
a step may be an octave off."""
MIN_CURVE_SIZES = 2
"""Sizes whose curves must reach a scaled capacity; with fewer, their smallest capacity is used."""
UNTESTED_ERROR = 10.0
"""Error where no size could be predicted from smaller ones: above every bound."""


@dataclass(frozen=True)
class CurveSeries:
    """Miss curves of one object in one phase, at ascending sizes: sizes x capacities."""

    sizes: Array
    read: Array
    write: Array
    footprints: Array
    """Bytes of the phase's objects."""
    capacities: Array
    noise: Array
    """Relative error of a count, by size: only some lines are sampled."""
    floor: float
    """Absolute error of a count by chance."""


@dataclass(frozen=True)
class CurveTarget:
    """The size to predict a curve for, and the capacity around which it must be right."""

    target: float
    footprint: float
    """Bytes of the phase's objects at the target."""
    cache_bytes: float
    expected_law: str = "n"
    """Law of the accesses, chosen where several laws predict equally well."""


@dataclass(frozen=True)
class PredictedCurve:
    """The curve at the target, and the error of the same method on sizes that were run."""

    read: Array
    write: Array
    law: str
    held_out_error: float
    """Largest |ln| error of misses around the scaled capacity, over held-out sizes."""
    mean_error: float
    low_factor: float
    high_factor: float
    """Range of other laws that may be right, as factors of the misses at the cache size."""
    last_predicted: float
    last_known: float
    """Misses of the largest size around the scaled capacity: predicted, and known."""


@dataclass(frozen=True)
class _Rule:
    """How a miss curve grows with the size."""

    power: float
    """Power of the footprint by which reuse distances grow."""
    law: Law
    """Law by which misses grow at the same scaled capacity."""


@dataclass(frozen=True)
class _RuleErrors:
    """Errors |ln| of the misses that a rule predicts for held-out sizes."""

    mean: float
    """Weighted mean, without what sampling explains."""
    worst: float


def predict_curve(curves: CurveSeries, wanted: CurveTarget) -> PredictedCurve:
    """Predict the miss curve at the target by the rule that predicts held-out sizes best."""
    rules = [_Rule(power, law) for power in POWERS for law in LAWS]
    errors = {rule: _held_out_errors(curves, rule, wanted) for rule in rules}
    chosen = _best_rule(errors, wanted.expected_law)
    read, write = _curve_at_target(curves, chosen, wanted)
    cache_misses = level(read + write, curves.capacities, wanted.cache_bytes)
    low, high = _rival_factors(
        curves, errors, chosen, max(cache_misses, curves.floor, 1e-9), wanted
    )
    last = len(curves.sizes) - 1
    of_last = _misses_around(curves, chosen, (list(range(last)), last), wanted)
    scaled = {1.0: "footprint", 0.5: "its root", 0.0: "constant distances"}[chosen.power]
    return PredictedCurve(
        read=read,
        write=write,
        law=f"miss curve ({scaled}; {chosen.law.name})",
        held_out_error=errors[chosen].worst,
        mean_error=errors[chosen].mean,
        low_factor=low,
        high_factor=high,
        last_predicted=0.0 if of_last is None else float(of_last[0].mean()),
        last_known=0.0 if of_last is None else float(of_last[1].mean()),
    )


def _held_out_errors(curves: CurveSeries, rule: _Rule, wanted: CurveTarget) -> _RuleErrors:
    """Return the errors of a rule on the sizes that it predicts from smaller ones."""
    sizes = curves.sizes.tolist()
    weighted, worst = [], []
    for train, test in splits(sizes, wanted.target):
        errors = _errors(curves, rule, (train, test), wanted)
        if errors is not None:
            unexplained, whole = errors
            weighted.append((unexplained, held_out_weight(sizes, train, test)))
            worst.append(whole)
    return _RuleErrors(mean_error(weighted, UNTESTED_ERROR), max(worst, default=UNTESTED_ERROR))


def _best_rule(errors: Mapping[_Rule, _RuleErrors], expected_law: str) -> _Rule:
    """Return the power with the least error of any law, and the best law with that power."""
    power = min(errors, key=lambda rule: errors[rule].mean).power
    with_power = {rule.law.name: rule for rule in errors if rule.power == power}
    means = {name: errors[rule].mean for name, rule in with_power.items()}
    return with_power[best_law(means, expected_law)]


def _rival_factors(
    curves: CurveSeries,
    errors: Mapping[_Rule, _RuleErrors],
    chosen: _Rule,
    cache_misses: float,
    wanted: CurveTarget,
) -> tuple[float, float]:
    """Return the least and most misses of rules that may be right, over the chosen rule's."""
    bound = rival_bound(errors[chosen].mean)
    factors = [1.0]
    for rule in errors:
        if errors[rule].mean <= bound:
            read, write = _curve_at_target(curves, rule, wanted)
            misses = level(read + write, curves.capacities, wanted.cache_bytes)
            factors.append(misses / cache_misses)
    return min(factors), max(factors)


def _curve_at_target(curves: CurveSeries, rule: _Rule, wanted: CurveTarget) -> tuple[Array, Array]:
    """Return read and write misses at the target, from all sizes."""
    every_size = list(range(len(curves.sizes)))
    read, write, _ = _curve_at(
        curves, rule, every_size, size=wanted.target, footprint=wanted.footprint
    )
    return read, write


def level(curve: Array, capacities: Array, size_bytes: float) -> float:
    """Return the misses of a cache of `size_bytes`."""
    return float(np.interp(np.log2(size_bytes), np.log2(capacities), curve))


def _curve_at(
    curves: CurveSeries, rule: _Rule, used: list[int], *, size: float, footprint: float
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return read and write misses at every capacity, and whether enough of `used` reach it."""
    x = np.log2(curves.capacities)
    # log2 of the capacity of each smaller run that corresponds to each capacity of the larger run.
    places = x[None, :] + rule.power * np.log2(curves.footprints[used] / footprint)[:, None]
    reached = places >= x[0]
    # Sizes whose curves do not reach a capacity do not count there, if enough others reach it.
    enough = reached.sum(axis=0) >= MIN_CURVE_SIZES
    n, at = curves.sizes[used], np.array([size])
    curves_at_size = []
    for values in (curves.read, curves.write):
        levels = np.array(
            [np.interp(places[i], x, values[k]) for i, k in enumerate(used)], dtype=float
        )
        weights = np.where(reached | ~enough, weights_of(n, levels, curves.floor), 0.0)
        predicted = np.maximum(0.0, rule.law.fit(n, levels, weights)(at)[0])
        curves_at_size.append(np.minimum.accumulate(predicted))
    return curves_at_size[0], curves_at_size[1], enough


def _errors(
    curves: CurveSeries, rule: _Rule, split: tuple[list[int], int], wanted: CurveTarget
) -> tuple[float, float] | None:
    """Return two |ln| errors of the tested size's misses around the scaled capacity.

    `split`: indices of the sizes to fit, and of the size to test. The first error leaves out what
    sampling explains. None: the curves of too few smaller sizes reach that capacity.
    """
    pair = _misses_around(curves, rule, split, wanted)
    if pair is None:
        return None
    predicted, known = pair
    # The tested count scatters, and so do the counts from which it was predicted.
    scatter = float(curves.noise[split[1]] + curves.noise[split[0]].mean())
    allowed = curves.floor * predicted.size + scatter * float(known.sum())
    off = float(np.abs(predicted - known).sum())
    least = max(min(float(predicted.sum()), float(known.sum())), allowed, 1e-9)
    return float(np.log1p(max(0.0, off - allowed) / least)), float(np.log1p(off / least))


def _misses_around(
    curves: CurveSeries, rule: _Rule, split: tuple[list[int], int], wanted: CurveTarget
) -> tuple[Array, Array] | None:
    """Return misses of the tested size around the scaled capacity, predicted and known."""
    train, test = split
    size, footprint = float(curves.sizes[test]), float(curves.footprints[test])
    read, write, reached = _curve_at(curves, rule, train, size=size, footprint=footprint)
    scaled = wanted.cache_bytes * footprint / wanted.footprint
    window = (np.abs(np.log2(curves.capacities / scaled)) <= np.log2(WINDOW_FACTOR)) & reached
    if not window.any():
        return None
    return (read + write)[window], (curves.read[test] + curves.write[test])[window]
