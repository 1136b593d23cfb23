"""Growth of latency with drawn bandwidth, and the factor at which both are consistent.

A higher latency lengthens time, so that the program draws less bandwidth, which lowers latency. The
loaded factor (loaded over idle latency) that a curve returns therefore falls as the assumed factor
rises. Both are equal at one factor only, between 1 and the curve's value for 1. The distance from
any assumed factor to this solution is at most that to the curve's value, which bounds the error.
The solver uses false position, and halves the interval every third step. For many placements at
once it takes as many steps as the slowest placement needs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from nearfar.devices.curves import plain_curves
from nearfar.devices.load_order import rising_load
from nearfar.documents.device import LoadedLatencyCurve
from nearfar.predict.traffic import Array

TOLERANCE = 1e-7
"""Error at which the solver stops, over the range of factors: far below a curve's own error."""

MAX_STEPS = 50
"""Steps of the solver. A third of them halve the range: enough for `TOLERANCE` by themselves."""

MIN_QUOTIENT = 1e-300
"""Smallest divisor; keeps 0 / 0 finite."""

INTERPOLATION_POINTS = 65
"""Points of a curve interpolated between two others: more than any measured curve has."""


def interpolate(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return y at `x` by linear interpolation, an end's value beyond it; `xs` never falls.

    Equals np.interp, in a tenth of its time for one number.
    """
    at = bisect_right(xs, x)
    if at == 0:
        return ys[0]
    if at == len(xs):
        return ys[-1]
    before = xs[at - 1]
    return ys[at - 1] + (ys[at] - ys[at - 1]) * (x - before) / (xs[at] - before)


@dataclass(frozen=True)
class LoadedFactor:
    """Loaded over idle latency by drawn bandwidth; never falling."""

    bandwidths_gb_per_s: Array
    factors: Array
    _points: tuple[list[float], list[float]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        points = (self.bandwidths_gb_per_s.tolist(), self.factors.tolist())
        object.__setattr__(self, "_points", points)

    @staticmethod
    def of(curve: LoadedLatencyCurve, share: float = 1.0) -> LoadedFactor:
        """Return the rising part of a curve: up to the greatest bandwidth, dips filled.

        `share` of the latency grows, the rest stays. Past saturation, a measured curve may fold
        back to lower bandwidths; the branch of lower latency is used.
        """
        points = np.asarray(rising_load(curve.points), dtype=float)
        points = points[: int(points[:, 0].argmax()) + 1]
        points = points[np.argsort(points[:, 0], kind="stable")]
        latency = np.maximum.accumulate(points[:, 1])
        return LoadedFactor(points[:, 0], 1.0 + (latency / latency[0] - 1.0) * share)

    def at(self, bandwidth_gb_per_s: Array | float) -> Array:
        """Return the factor at a drawn bandwidth; beyond the curve's end, the last factor."""
        return np.asarray(np.interp(bandwidth_gb_per_s, self.bandwidths_gb_per_s, self.factors))

    def at_one(self, bandwidth_gb_per_s: float) -> float:
        """Return the factor at one drawn bandwidth: as `at`, but faster."""
        return interpolate(bandwidth_gb_per_s, *self._points)

    @property
    def end_gb_per_s(self) -> float:
        """Bandwidth at the curve's end."""
        return float(self.bandwidths_gb_per_s[-1])

    @property
    def greatest(self) -> float:
        """Factor at saturation."""
        return float(self.factors[-1])


def interpolated_load(first: LoadedFactor, second: LoadedFactor, weight: float) -> LoadedFactor:
    """Return the curve between those of two read shares; `weight` (0..1) is that of `second`.

    Curves with more writes end at lower bandwidths. So the ends are interpolated, and the factors
    at equal shares of these ends.
    """
    shares = np.linspace(0.0, 1.0, INTERPOLATION_POINTS)
    factors = [curve.at(shares * curve.end_gb_per_s) for curve in (first, second)]
    end = (1.0 - weight) * first.end_gb_per_s + weight * second.end_gb_per_s
    return LoadedFactor(shares * end, (1.0 - weight) * factors[0] + weight * factors[1])


def load_at_read_share(
    curves: Sequence[LoadedLatencyCurve], read_share: float, latency_share: float
) -> LoadedFactor | None:
    """Return the loaded factor of a memory at a read share, from its curves; None without one.

    `latency_share` of the latency grows with load.
    """
    curves = plain_curves([curve for curve in curves if len(curve.points) > 1])
    if not curves:
        return None
    less = [curve for curve in curves if curve.read_share <= read_share]
    more = [curve for curve in curves if curve.read_share >= read_share]
    below = max(less or curves, key=lambda curve: (bool(less), -abs(curve.read_share - read_share)))
    above = max(more or curves, key=lambda curve: (bool(more), -abs(curve.read_share - read_share)))
    lower = LoadedFactor.of(below, latency_share)
    if below.read_share == above.read_share:
        mixed = lower
    else:
        weight = (read_share - below.read_share) / (above.read_share - below.read_share)
        upper = LoadedFactor.of(above, latency_share)
        mixed = interpolated_load(lower, upper, weight) if weight < 1.0 else upper
        mixed = lower if weight <= 0.0 else mixed
    reads = max(curves, key=lambda curve: curve.read_share)
    if read_share >= reads.read_share:
        return mixed
    return _raised_to_reads(mixed, LoadedFactor.of(reads, latency_share), read_share)


def _raised_to_reads(mixed: LoadedFactor, reads: LoadedFactor, read_share: float) -> LoadedFactor:
    """Return the curve of mixed traffic, raised to the curve of its reads alone.

    Writes never make reads faster; where measured curves show this, it is noise.
    """
    drawn = reads.bandwidths_gb_per_s / max(read_share, 1e-9)
    # np.union1d would import numpy.ma, which takes longer than most predictions.
    at = np.array(sorted({*mixed.bandwidths_gb_per_s.tolist(), *drawn.tolist()}))
    at = at[at <= mixed.end_gb_per_s]
    return LoadedFactor(at, np.maximum(mixed.at(at), reads.at(at * read_share)))


def settled_factor(loaded: Callable[[float], float], greatest: float) -> float:
    """Return the factor, 1..`greatest`, at which `loaded` returns its argument."""
    tolerance = TOLERANCE * (greatest - 1.0)
    low, over = 1.0, loaded(1.0) - 1.0
    if over <= tolerance:
        return low
    factor = high = low + over
    under = loaded(high) - high
    for step in range(MAX_STEPS):
        halve = step % 3 == 2
        factor = (low + high) / 2 if halve else low + (high - low) * over / (over - under)
        error = loaded(factor) - factor
        if abs(error) <= tolerance:
            break
        if error > 0.0:
            low, over = factor, error
        else:
            high, under = factor, error
    return factor


def settled_factors(
    loaded: Callable[[Array], Array], greatest: float, shape: tuple[int, ...]
) -> Array:
    """Return the factors as `settled_factor` does, for many placements at once."""
    tolerance = TOLERANCE * (greatest - 1.0)
    low = np.ones(shape)
    over = loaded(low) - low
    if np.max(over, initial=0.0) <= tolerance:
        return low
    factors = high = low + over
    under = loaded(high) - high
    for step in range(MAX_STEPS):
        halve = step % 3 == 2
        weight = 0.5 if halve else over / np.maximum(over - under, MIN_QUOTIENT)
        factors = low + (high - low) * weight
        error = loaded(factors) - factors
        if np.max(np.abs(error), initial=0.0) <= tolerance:
            break
        above = error > 0.0
        low, over = np.where(above, factors, low), np.where(above, error, over)
        high, under = np.where(above, high, factors), np.where(above, under, error)
    return np.asarray(factors)


def settled_each(loaded: Callable[[Array], Array], greatest: Array) -> Array:
    """Return what `settled_factor` returns for each of many curves, with these greatest factors.

    Unlike in `settled_factors`, each stops by itself: its factor does not depend on the others.
    """
    tolerance = TOLERANCE * (greatest - 1.0)
    low = np.ones(len(greatest))
    over = loaded(low) - low
    unsettled = over > tolerance
    if not unsettled.any():
        return low
    high = low + over
    factors = np.where(unsettled, high, low)
    under = loaded(high) - high
    for step in range(MAX_STEPS):
        halve = step % 3 == 2
        weight = 0.5 if halve else over / np.maximum(over - under, MIN_QUOTIENT)
        factors = np.where(unsettled, low + (high - low) * weight, factors)
        error = loaded(factors) - factors
        unsettled &= np.abs(error) > tolerance
        if not unsettled.any():
            break
        above = error > 0.0
        low, over = np.where(above, factors, low), np.where(above, error, over)
        high, under = np.where(above, high, factors), np.where(above, under, error)
    return factors
