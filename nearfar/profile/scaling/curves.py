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


def predict_curve(curves: CurveSeries, wanted: CurveTarget) -> PredictedCurve:
    """Predict the miss curve at the target."""
    means: dict[tuple[float, str], float] = {}
    worst: dict[tuple[float, str], float] = {}
    tests = splits(curves.sizes.tolist(), wanted.target)
    for power in POWERS:
        for law in LAWS:
            tried = [_errors(curves, power, law, test, wanted) for test in tests]
            errors_and_weights = [
                (errors, held_out_weight(curves.sizes.tolist(), train, test))
                for (train, test), errors in zip(tests, tried, strict=True)
                if errors is not None
            ]
            means[power, law.name] = mean_error(
                [(unexplained, weight) for (unexplained, _), weight in errors_and_weights],
                UNTESTED_ERROR,
            )
            worst[power, law.name] = max(
                (whole for (_, whole), _ in errors_and_weights), default=UNTESTED_ERROR
            )
    power = min(
        POWERS, key=lambda candidate: min(e for (p, _), e in means.items() if p == candidate)
    )
    of_power = {name: error for (p, name), error in means.items() if p == power}
    chosen = best_law(of_power, wanted.expected_law)
    all_sizes = list(range(len(curves.sizes)))
    rival_misses: list[float] = []
    bound = rival_bound(means[power, chosen])
    for (p, name), error in means.items():
        if error <= bound:
            read, write, _ = _curve_at(
                curves, p, _law(name), all_sizes, size=wanted.target, footprint=wanted.footprint
            )
            rival_misses.append(level(read + write, curves.capacities, wanted.cache_bytes))
    read, write, _ = _curve_at(
        curves, power, _law(chosen), all_sizes, size=wanted.target, footprint=wanted.footprint
    )
    predicted_misses = max(
        level(read + write, curves.capacities, wanted.cache_bytes), curves.floor, 1e-9
    )
    scaled = {1.0: "footprint", 0.5: "its root", 0.0: "constant distances"}[power]
    last = len(curves.sizes) - 1
    pair = _misses_around(curves, power, _law(chosen), (list(range(last)), last), wanted)
    return PredictedCurve(
        read,
        write,
        f"miss curve ({scaled}; {chosen})",
        worst[power, chosen],
        means[power, chosen],
        min([1.0, *(end / predicted_misses for end in rival_misses)]),
        max([1.0, *(end / predicted_misses for end in rival_misses)]),
        0.0 if pair is None else float(pair[0].mean()),
        0.0 if pair is None else float(pair[1].mean()),
    )


def level(curve: Array, capacities: Array, size_bytes: float) -> float:
    """Return the misses of a cache of `size_bytes`."""
    return float(np.interp(np.log2(size_bytes), np.log2(capacities), curve))


def _law(name: str) -> Law:
    return next(law for law in LAWS if law.name == name)


def _curve_at(
    curves: CurveSeries, power: float, law: Law, used: list[int], *, size: float, footprint: float
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return read and write misses at every capacity, and whether enough of `used` reach it."""
    x = np.log2(curves.capacities)
    # log2 of the capacity of each smaller run that corresponds to each capacity of the larger run.
    places = x[None, :] + power * np.log2(curves.footprints[used] / footprint)[:, None]
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
        predicted = np.maximum(0.0, law.fit(n, levels, weights)(at)[0])
        curves_at_size.append(np.minimum.accumulate(predicted))
    return curves_at_size[0], curves_at_size[1], enough


def _errors(
    curves: CurveSeries, power: float, law: Law, split: tuple[list[int], int], wanted: CurveTarget
) -> tuple[float, float] | None:
    """Return two |ln| errors of the tested size's misses around the scaled capacity.

    `split`: indices of the sizes to fit, and of the size to test.

    The first error leaves out what sampling explains. None: the curves of too few smaller sizes
    reach that capacity.
    """
    pair = _misses_around(curves, power, law, split, wanted)
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
    curves: CurveSeries, power: float, law: Law, split: tuple[list[int], int], wanted: CurveTarget
) -> tuple[Array, Array] | None:
    """Return misses of the tested size around the scaled capacity, predicted and known."""
    train, test = split
    size, footprint = float(curves.sizes[test]), float(curves.footprints[test])
    read, write, reached = _curve_at(curves, power, law, train, size=size, footprint=footprint)
    scaled = wanted.cache_bytes * footprint / wanted.footprint
    window = (np.abs(np.log2(curves.capacities / scaled)) <= np.log2(WINDOW_FACTOR)) & reached
    if not window.any():
        return None
    return (read + write)[window], (curves.read[test] + curves.write[test])[window]
