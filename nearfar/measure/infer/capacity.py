"""Capacities of caches and buffers: a coarse latency curve, its levels, then a fine look at each.

Serves chases (reads) and persisted writes alike; which, is the caller's function from region to
point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.measure.infer.levels import (
    FittedLevel,
    LevelsFit,
    Medians,
    best_single,
    find_levels,
    refit,
)
from nearfar.measure.infer.resample import medians, point_noise, resampled_medians
from nearfar.measure.infer.sizes import (
    COARSE_PER_OCTAVE,
    FINE_PER_OCTAVE,
    geometric_gaps,
    neighbours,
    sizes,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.documents.device import BufferFigure
    from nearfar.measure.infer.probe import InferenceProbe
    from nearfar.samples.point import SamplePoint


@dataclass(frozen=True)
class InferredBuffer:
    """A level of the memory itself, with what else is known of it so far."""

    figure: BufferFigure
    capacity: Capacity
    step_ns: float
    """What an access costs more that it misses."""
    beyond_bytes: int
    """Capacity of the next level, or the largest region tested."""


LEAST_POINTS = 8
"""Of a curve: four octaves; fewer show no plateau on both sides of a knee."""

SEEN_BEYOND = 3.0
"""Regions must go so many times beyond a capacity: else nothing says that the rise ends."""

FINE_AROUND = 1.5
"""Fine sizes from so many times below a coarse capacity to so many above: it is known to 1.4."""

PER_OCTAVE_TRIED = 32
"""Capacities tried by the fit: a quarter of the distance of tested sizes."""

INTERVAL = (2.5, 97.5)

SEEN_AGAIN = 20
"""Resamples in which levels are looked for from the start: one that is there is in nearly all."""


IS_TESTED = 0.02
"""A knee so near to a tested size is that size: the fit knows no better, and sizes are round."""

SERVED = (0.7, 0.96)
"""Regions from this to that share of a capacity are served by it, if the level before it is
overflowed wholly."""

MAY_BE_HIDDEN = 0.03
"""Of a latency: what figures are held to."""

OVERFLOWED = ((4.0, 1.6), (1.4, 6.0), (0.0, 16.0))
"""(sharpness at least, times its capacity from which a level serves less than a tenth)."""


@dataclass(frozen=True)
class CapacityCurve:
    """Samples over regions, ascending, and the levels they show."""

    regions: list[int]
    samples: list[NDArray[np.float64]]
    noise: NDArray[np.float64]
    """Relative standard error of each median."""
    fit: LevelsFit


@dataclass(frozen=True)
class Capacity:
    """One level's capacity with its interval."""

    value_bytes: int
    """A tested size where the knee is at one."""
    low_bytes: int
    high_bytes: int
    confidence: float
    served_ns: float
    is_plateau: bool
    """Whether `served_ns` is measured, or hardly depends on the form of the knee before; else it is
    good enough to plan by, and not to be told."""
    step_ns: float
    tested: float
    """Largest ratio of neighbouring tested sizes around it."""


def coarse_curve(
    probe: InferenceProbe, point_at: Callable[[int], SamplePoint], low_bytes: int, high_bytes: int
) -> CapacityCurve | None:
    """Return the curve at two regions an octave with the levels it shows; None: too few points."""
    regions = sizes(low_bytes, high_bytes, COARSE_PER_OCTAVE)
    return _curve(regions, probe.gather([point_at(region) for region in regions]))


def refine(
    probe: InferenceProbe, point_at: Callable[[int], SamplePoint], curve: CapacityCurve
) -> tuple[CapacityCurve, list[Capacity]]:
    """Return the curve with fine sizes around each knee, and the capacities."""
    regions = set(curve.regions)
    largest = max(curve.regions)
    for level in curve.fit.levels:
        around = sizes(
            level.capacity_bytes / FINE_AROUND, level.capacity_bytes * FINE_AROUND, FINE_PER_OCTAVE
        )
        regions |= {size for size in around if size <= largest}
    ordered = sorted(regions)
    finer = _curve(ordered, probe.gather([point_at(region) for region in ordered]))
    if finer is None:
        return curve, []
    finer = replace(finer, fit=_settle(finer, medians(finer.samples)))
    again = [find_levels(seen).levels for seen in _resampled(finer)]
    found = []
    for index, level in enumerate(finer.fit.levels):
        one = _capacity(finer, index)
        there = float(np.mean([_has(levels, level.capacity_bytes) for levels in again]))
        found.append(replace(one, confidence=min(one.confidence, there)))
    return finer, found


def _resampled(curve: CapacityCurve) -> Iterator[Medians]:
    regions = np.array(curve.regions, dtype=float)
    for row in resampled_medians(curve.samples, SEEN_AGAIN):
        yield Medians(regions, row, curve.noise)


def _has(levels: Sequence[FittedLevel], capacity_bytes: float) -> bool:
    ratios = [level.capacity_bytes / capacity_bytes for level in levels]
    return any(1 / FINE_AROUND <= ratio <= FINE_AROUND for ratio in ratios)


def known_level(regions: Sequence[int], samples: Sequence[NDArray[np.float64]]) -> Capacity | None:
    """Return the one level of a curve around a knee that is known to be there; None: no rise."""
    if len(regions) < LEAST_POINTS or not all(map(len, samples)):
        return None
    curve = CapacityCurve(
        list(regions), list(samples), point_noise(samples), LevelsFit((), 0.0, 0.0)
    )
    exact = np.array(regions, dtype=float)
    tried = np.geomspace(exact[1], exact[-2], PER_OCTAVE_TRIED * 2)
    fit = best_single(Medians(exact, medians(samples), curve.noise), tried)
    if fit is None:
        return None
    return _capacity(replace(curve, fit=fit), 0)


def _curve(regions: Sequence[int], samples: Sequence[NDArray[np.float64]]) -> CapacityCurve | None:
    kept = [
        (region, values)
        for region, values in zip(regions, samples, strict=True)
        if len(values) and np.median(values) > 0
    ]
    if len(kept) < LEAST_POINTS:
        return None
    sizes_bytes = [region for region, _ in kept]
    values = [one for _, one in kept]
    noise = point_noise(values)
    fit = find_levels(Medians(np.array(sizes_bytes, dtype=float), medians(values), noise))
    seen = [level for level in fit.levels if level.capacity_bytes * SEEN_BEYOND <= sizes_bytes[-1]]
    return CapacityCurve(sizes_bytes, values, noise, replace(fit, levels=tuple(seen)))


def _settle(curve: CapacityCurve, latency: NDArray[np.float64]) -> LevelsFit:
    """Let each level look for its best place between the tested sizes, twice around."""
    fit = curve.fit
    for _ in range(2):
        for index in range(len(fit.levels)):
            fit = _move(curve, latency, fit, index)
    return fit


def _move(
    curve: CapacityCurve, latency: NDArray[np.float64], fit: LevelsFit, index: int
) -> LevelsFit:
    capacity = fit.levels[index].capacity_bytes
    span = np.arange(-PER_OCTAVE_TRIED // 2, PER_OCTAVE_TRIED // 2 + 1) / PER_OCTAVE_TRIED
    seen = Medians(np.array(curve.regions, dtype=float), latency, curve.noise)
    moved = refit(seen, fit, index, capacity * 2**span)
    return moved if len(moved.levels) == len(fit.levels) else fit


def _served(curve: CapacityCurve, index: int) -> tuple[float, bool]:
    """Return the latency of what level `index` serves, and whether that is known.

    Measured in it, or else what is fitted; which is known only if what the level before may still
    serve there, with the softest knee there is, does not count.
    """
    hidden_ns = 0.0
    level = curve.fit.levels[index]
    low, high = (share * level.capacity_bytes for share in SERVED)
    if index > 0:
        before = curve.fit.levels[index - 1]
        times = next(times for power, times in OVERFLOWED if before.power >= power)
        low = max(low, before.capacity_bytes * times)
        hidden_ns = before.step_ns * min(before.capacity_bytes / high, 1.0)
    inside = [
        values
        for region, values in zip(curve.regions, curve.samples, strict=True)
        if low <= region <= high
    ]
    if inside:
        return float(np.median(np.concatenate(inside))), True
    fitted = curve.fit.served_ns(index)
    return fitted, hidden_ns <= MAY_BE_HIDDEN * fitted


def _capacity(curve: CapacityCurve, index: int) -> Capacity:
    """Return level `index` with its bootstrap interval, at least the tested sizes around it."""
    level = curve.fit.levels[index]
    tested = min(curve.regions, key=lambda size: abs(np.log(size / level.capacity_bytes)))
    place = curve.regions.index(tested)
    around = curve.regions[max(place - 1, 0) : place + 2]
    step = geometric_gaps(around)
    found = [
        _move(curve, row, curve.fit, index).levels[index].capacity_bytes
        for row in resampled_medians(curve.samples)
    ]
    exact = round(level.capacity_bytes / LINE_BYTES) * LINE_BYTES
    value = tested if abs(exact / tested - 1) <= IS_TESTED else max(exact, LINE_BYTES)
    same = [1 / step <= one / value <= step for one in found]
    low, high = (float(end) for end in np.percentile(found, INTERVAL))
    below, above = neighbours(curve.regions, level.capacity_bytes)
    served_ns, is_plateau = _served(curve, index)
    return Capacity(
        value_bytes=value,
        low_bytes=min(round(low), below),
        high_bytes=max(round(high), above),
        confidence=float(np.mean(same)),
        served_ns=served_ns,
        is_plateau=is_plateau,
        step_ns=level.step_ns,
        tested=step,
    )
