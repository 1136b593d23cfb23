"""Miss curves of a size nobody ran.

A line's reuse distance is what was touched in between, so a program that does the same to twice
the data misses in a cache twice the size as it did before: capacities scale with the footprint to
some power (1; 1/2, rows of a matrix; 0, blocks of fixed size), and at the same scaled capacity
misses grow by a law. This is how reuse signatures are predicted across inputs (Ding and Zhong,
"Predicting whole-program locality through reuse distance analysis", PLDI 2003, with constant,
square root and linear patterns). Power and law are those that predict the larger sizes' curves
from the smaller ones'.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.profile.scaling.growth import (
    LAWS,
    Law,
    best_law,
    mean_error,
    rival_bound,
    says,
    splits,
    weights_of,
)

Array = NDArray[np.float64]

POWERS = (1.0, 0.5, 0.0)
"""How reuse distances grow with the footprint; the first that predicts as well is taken."""
WINDOW = 2.0
"""Held-out error is looked at from 1/2 to 2 times the capacity that matters: curves have steps,
and a step that is an octave off is as wrong as it is anywhere."""
FEWEST_SIZES = 2
"""Sizes whose curves must reach a scaled capacity; below, the smallest capacity known stands in."""
UNTOLD = 10.0
"""Error where no size could be predicted from smaller ones: too large for anybody's bound."""


@dataclass(frozen=True)
class Curves:
    """Miss curves of one object in one phase, at ascending sizes: sizes x capacities."""

    sizes: Array
    read: Array
    write: Array
    footprints: Array
    """Bytes of the phase's objects."""
    capacities: Array
    noise: Array
    """By what share a count may be off, since only some lines are sampled."""
    floor: float
    """By how much it may be off by chance."""


@dataclass(frozen=True)
class Asked:
    """What is wanted: the curve at a size, right around a capacity."""

    target: float
    footprint: float
    """Bytes of the phase's objects at the target."""
    cache_bytes: float
    expected_law: str = "n"
    """Taken where several laws predict equally well: how accesses grow."""


@dataclass(frozen=True)
class PredictedCurve:
    """The curve at the target, and how well such a prediction did on sizes that were run."""

    read: Array
    write: Array
    law: str
    held_out_error: float
    """Largest |ln| of misses near the capacity in question, sizes predicted from smaller ones."""
    mean_error: float
    low_factor: float
    high_factor: float
    """Of other laws that predict as well, at the capacity in question."""
    last_predicted: float
    last_known: float
    """Misses of the largest size around the scaled capacity: from the smaller ones, and known."""


def predict_curve(curves: Curves, asked: Asked) -> PredictedCurve:
    """Return the miss curve at the size asked for."""
    means: dict[tuple[float, str], float] = {}
    worst: dict[tuple[float, str], float] = {}
    tests = splits(curves.sizes.tolist(), asked.target)
    for power in POWERS:
        for law in LAWS:
            tried = [_errors(curves, power, law, test, asked) for test in tests]
            told = [
                (errors, says(curves.sizes.tolist(), train, test))
                for (train, test), errors in zip(tests, tried, strict=True)
                if errors is not None
            ]
            means[power, law.name] = mean_error([(e, count) for (e, _), count in told], UNTOLD)
            worst[power, law.name] = max((every for (_, every), _ in told), default=UNTOLD)
    power = min(POWERS, key=lambda one: min(e for (p, _), e in means.items() if p == one))
    of_power = {name: error for (p, name), error in means.items() if p == power}
    chosen = best_law(of_power, asked.expected_law)
    everything = list(range(len(curves.sizes)))
    ends: list[float] = []
    bound = rival_bound(means[power, chosen])
    for (p, name), error in means.items():
        if error <= bound:
            read, write, _ = _at(
                curves, p, _law(name), everything, size=asked.target, footprint=asked.footprint
            )
            ends.append(level(read + write, curves.capacities, asked.cache_bytes))
    read, write, _ = _at(
        curves, power, _law(chosen), everything, size=asked.target, footprint=asked.footprint
    )
    here = max(level(read + write, curves.capacities, asked.cache_bytes), curves.floor, 1e-9)
    scaled = {1.0: "footprint", 0.5: "its root", 0.0: "constant distances"}[power]
    last = len(curves.sizes) - 1
    pair = _around(curves, power, _law(chosen), (list(range(last)), last), asked)
    return PredictedCurve(
        read,
        write,
        f"miss curve ({scaled}; {chosen})",
        worst[power, chosen],
        means[power, chosen],
        min([1.0, *(end / here for end in ends)]),
        max([1.0, *(end / here for end in ends)]),
        0.0 if pair is None else float(pair[0].mean()),
        0.0 if pair is None else float(pair[1].mean()),
    )


def level(curve: Array, capacities: Array, size_bytes: float) -> float:
    """Return the misses of a cache of `size_bytes`."""
    return float(np.interp(np.log2(size_bytes), np.log2(capacities), curve))


def _law(name: str) -> Law:
    return next(law for law in LAWS if law.name == name)


def _at(
    curves: Curves, power: float, law: Law, used: list[int], *, size: float, footprint: float
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return read and write misses at every capacity, and where enough of `used` reach it."""
    x = np.log2(curves.capacities)
    # At what capacity each smaller run corresponds to each capacity of the larger.
    places = x[None, :] + power * np.log2(curves.footprints[used] / footprint)[:, None]
    reached = places >= x[0]
    # Sizes too small to say anything of a capacity do not count there, if others do.
    enough = reached.sum(axis=0) >= FEWEST_SIZES
    n, at = curves.sizes[used], np.array([size])
    found = []
    for values in (curves.read, curves.write):
        levels = np.array(
            [np.interp(places[i], x, values[k]) for i, k in enumerate(used)], dtype=float
        )
        weights = np.where(reached | ~enough, weights_of(n, levels, curves.floor), 0.0)
        predicted = np.maximum(0.0, law.fit(n, levels, weights)(at)[0])
        found.append(np.minimum.accumulate(predicted))
    return found[0], found[1], enough


def _errors(
    curves: Curves, power: float, law: Law, split: tuple[list[int], int], asked: Asked
) -> tuple[float, float] | None:
    """Return |ln| of misses around the capacity that is to the tested size what the cache is to
    the target: beyond what sampling explains, and all of it. None if too few smaller sizes'
    curves reach it.
    """
    pair = _around(curves, power, law, split, asked)
    if pair is None:
        return None
    predicted, known = pair
    # What is compared scatters, and so does what it was predicted from.
    scatter = float(curves.noise[split[1]] + curves.noise[split[0]].mean())
    allowed = curves.floor * predicted.size + scatter * float(known.sum())
    off = float(np.abs(predicted - known).sum())
    least = max(min(float(predicted.sum()), float(known.sum())), allowed, 1e-9)
    return float(np.log1p(max(0.0, off - allowed) / least)), float(np.log1p(off / least))


def _around(
    curves: Curves, power: float, law: Law, split: tuple[list[int], int], asked: Asked
) -> tuple[Array, Array] | None:
    """Return misses of the tested size around the scaled capacity, predicted and known."""
    train, test = split
    size, holds = float(curves.sizes[test]), float(curves.footprints[test])
    read, write, reached = _at(curves, power, law, train, size=size, footprint=holds)
    scaled = asked.cache_bytes * holds / asked.footprint
    window = (np.abs(np.log2(curves.capacities / scaled)) <= np.log2(WINDOW)) & reached
    if not window.any():
        return None
    return (read + write)[window], (curves.read[test] + curves.write[test])[window]
