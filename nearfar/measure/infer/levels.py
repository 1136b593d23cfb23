"""Find the levels in a latency curve: change points, then the sum of miss curves that explains it.

Pure: regions and latencies in, levels out. Change-point detection (ruptures, on log latency over
log region) says whether there is any change beyond noise and where levels may end; among those
places, levels are added one by one as long as the curve is explained much better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.measure.infer.miss_curves import POWERS, power_misses

MIN_STEP_SHARE = 0.06
"""Relative rise of latency that makes a level: less is noise on shared machines."""

MODEL_ERROR = 0.01
"""Relative error of the model itself: set hashing and page walks change the form of real curves."""

MIN_GAIN = 12.0
"""Chi-square that another level must win, in units of log(points)."""

CAPACITIES_PER_STEP = 8
"""Capacities tried between two tested sizes."""

MIN_LEVEL_RATIO = 3.0
"""Ratio of capacities below which two levels are one: their knees cannot be distinguished."""

MAX_LEVELS = 6
"""Three or four caches before the memory, two or three buffers in it."""


@dataclass(frozen=True)
class Medians:
    """A latency curve: ns over regions in bytes, ascending."""

    regions: NDArray[np.float64]
    latency: NDArray[np.float64]
    noise: float | NDArray[np.float64]
    """Relative standard error of the latencies, one for all or one each."""

    def sigma(self) -> NDArray[np.float64]:
        """Return the standard error of each latency, ns."""
        return np.asarray(np.maximum(self.noise, MODEL_ERROR) * self.latency)


@dataclass(frozen=True)
class FittedLevel:
    """One level as a curve shows it."""

    capacity_bytes: float
    power: float
    """Sharpness of its knee, see `power_misses`."""
    step_ns: float
    """Additional ns of an access that misses."""


@dataclass(frozen=True)
class LevelsFit:
    """Levels, nearest first, and the latency before all of them."""

    levels: tuple[FittedLevel, ...]
    first_ns: float
    chi_square: float

    def latency(self, regions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the levels predict, ns."""
        total = np.full(len(regions), self.first_ns)
        for level in self.levels:
            total += level.step_ns * power_misses(regions / level.capacity_bytes, level.power)
        return total

    def served_ns(self, index: int) -> float:
        """Return the latency of an access that level `index` serves."""
        return self.first_ns + sum(level.step_ns for level in self.levels[:index])


def change_points(latency: NDArray[np.float64], noise: float) -> list[int]:
    """Return the indices before which log latency changes beyond noise, ascending."""
    if len(latency) < 3:
        return []
    import ruptures

    signal = np.log(latency).reshape(-1, 1)
    # Twice the usual penalty of a change of mean, 2 sigma^2 log n. A later fit repairs a missed
    # change, but a false change in a flat curve becomes a buffer that does not exist.
    penalty = 4 * max(noise, MODEL_ERROR) ** 2 * np.log(len(latency))
    changes = ruptures.Pelt(model="l2", min_size=1, jump=1).fit(signal).predict(pen=penalty)
    return [int(index) for index in changes[:-1]]


def find_levels(curve: Medians) -> LevelsFit:
    """Return the levels that a curve shows."""
    best = _solve(curve, [])
    changes = change_points(curve.latency, float(np.median(curve.noise)))
    if not changes:
        return best
    candidates = _capacities_to_try(curve.regions, changes)
    while len(best.levels) < MAX_LEVELS:
        extended = _with_one_more(curve, best, candidates)
        gain = best.chi_square - extended.chi_square
        if gain < MIN_GAIN * np.log(len(curve.regions)):
            break
        best = extended
    return _prune(curve, best)


def refit(curve: Medians, fit: LevelsFit, index: int, capacities: NDArray[np.float64]) -> LevelsFit:
    """Return `fit` with level `index` moved to the best of `capacities`, all steps refitted."""
    others = [level for place, level in enumerate(fit.levels) if place != index]
    fitted = _best_extra(curve, others, capacities)
    return fitted if fitted is not None else fit


def best_single(curve: Medians, capacities: NDArray[np.float64]) -> LevelsFit | None:
    """Return the best fit of one level at any of `capacities`; None: latency does not rise."""
    return _best_extra(curve, [], capacities)


def _capacities_to_try(regions: NDArray[np.float64], changes: list[int]) -> NDArray[np.float64]:
    """Return capacities to try: from two sizes before each change to one after, and between."""
    inside = np.zeros(len(regions) - 1, dtype=bool)
    for index in changes:
        inside[max(index - 2, 0) : index + 1] = True
    places: set[float] = set()
    for place in np.nonzero(inside)[0]:
        between = np.geomspace(regions[place], regions[place + 1], CAPACITIES_PER_STEP + 1)
        places |= {float(size) for size in between if regions[0] < size < regions[-1]}
    return np.array(sorted(places))


def _with_one_more(
    curve: Medians,
    fit: LevelsFit,
    candidates: NDArray[np.float64],
) -> LevelsFit:
    """Return the best fit with one more level; then refit each level's capacity, twice."""
    extended = _best_extra(curve, list(fit.levels), candidates)
    if extended is None:
        return fit
    for _ in range(2):
        for index in range(len(extended.levels)):
            others = [level for place, level in enumerate(extended.levels) if place != index]
            better = _best_extra(curve, others, candidates)
            if better is not None and better.chi_square < extended.chi_square:
                extended = better
    return extended


def _best_extra(
    curve: Medians,
    levels: list[FittedLevel],
    capacities: NDArray[np.float64],
) -> LevelsFit | None:
    """Return the best fit of `levels` and one more at any of `capacities`, of any sharpness."""
    if len(capacities) == 0:
        return None
    regions, latency, sigma = curve.regions, curve.latency, curve.sigma()
    apart = capacities[_are_apart(capacities, levels)]
    if len(apart) == 0:
        return None
    powers = np.tile(POWERS, len(apart))
    places = np.repeat(apart, len(POWERS))
    extra = 1.0 - np.maximum(regions / places[:, None], 1.0) ** -powers[:, None]
    fixed = [np.ones(len(regions))]
    fixed += [power_misses(regions / level.capacity_bytes, level.power) for level in levels]
    base = np.stack(fixed) / sigma
    target = latency / sigma
    design = np.concatenate(
        [np.broadcast_to(base, (len(places), *base.shape)), (extra / sigma)[:, None, :]], axis=1
    )
    gram = design @ design.transpose(0, 2, 1)
    # A tiny diagonal keeps the matrix regular if two columns are equal.
    gram += np.eye(gram.shape[1]) * 1e-9 * np.trace(gram, axis1=1, axis2=2)[:, None, None]
    solved = np.linalg.solve(gram, (design @ target)[:, :, None])[:, :, 0]
    errors = ((np.einsum("tk,tkn->tn", solved, design) - target) ** 2).sum(axis=1)
    errors[(solved < 0).any(axis=1)] = np.inf
    best = int(np.argmin(errors))
    if not np.isfinite(errors[best]):
        return None
    chosen = [*levels, FittedLevel(float(places[best]), float(powers[best]), 0.0)]
    steps = solved[best, 1:]
    moved = [
        FittedLevel(level.capacity_bytes, level.power, float(step))
        for level, step in zip(chosen, steps, strict=True)
    ]
    moved.sort(key=lambda level: level.capacity_bytes)
    return LevelsFit(tuple(moved), float(solved[best, 0]), float(errors[best]))


def _are_apart(capacities: NDArray[np.float64], levels: list[FittedLevel]) -> NDArray[np.bool_]:
    apart = np.ones(len(capacities), dtype=bool)
    for level in levels:
        ratio = capacities / level.capacity_bytes
        apart &= np.maximum(ratio, 1 / ratio) >= MIN_LEVEL_RATIO
    return apart


def _solve(
    curve: Medians,
    levels: list[FittedLevel],
) -> LevelsFit:
    """Fit the steps of levels whose places are given."""
    from scipy.optimize import nnls

    regions, latency, sigma = curve.regions, curve.latency, curve.sigma()
    columns = [np.ones(len(regions))]
    columns += [power_misses(regions / level.capacity_bytes, level.power) for level in levels]
    solved, residual = nnls(np.stack(columns, axis=1) / sigma[:, None], latency / sigma)
    fitted = tuple(
        FittedLevel(level.capacity_bytes, level.power, float(step))
        for level, step in zip(levels, solved[1:], strict=True)
    )
    return LevelsFit(fitted, float(solved[0]), float(residual**2))


def _prune(
    curve: Medians,
    fit: LevelsFit,
) -> LevelsFit:
    """Drop levels whose step is insignificant, smallest first."""
    while fit.levels:
        shares = [
            level.step_ns / max(fit.served_ns(index), 1e-9)
            for index, level in enumerate(fit.levels)
        ]
        least = int(np.argmin(shares))
        if shares[least] >= MIN_STEP_SHARE:
            break
        kept = [level for index, level in enumerate(fit.levels) if index != least]
        fit = _solve(curve, kept)
    return fit
