"""Capacities of caches and buffers: a coarse latency curve, its levels, then fine sizes at each.

The caller's function from region to point decides whether reads or persisted writes are measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearfar.base.units import LINE_BYTES
from nearfar.documents.device import BufferFigure, Operation
from nearfar.measure.infer.findings import MEASURED_HERE
from nearfar.measure.infer.levels import (
    FittedLevel,
    LevelsFit,
    Medians,
    best_single,
    find_levels,
    refit,
)
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.resample import medians, point_noise, resampled_medians
from nearfar.measure.infer.sizes import (
    COARSE_PER_OCTAVE,
    FINE_PER_OCTAVE,
    geometric_gaps,
    neighbours,
    sizes,
)
from nearfar.samples.point import SamplePoint


@dataclass(frozen=True)
class InferredBuffer:
    """A level of the memory itself, with everything known of it so far."""

    figure: BufferFigure
    capacity: Capacity
    step_ns: float
    """Additional ns of an access that misses."""
    beyond_bytes: int
    """Capacity of the next level, or the largest region tested."""


MIN_POINTS = 8
"""Points of a curve, four octaves: fewer show no plateau on both sides of a knee."""

MIN_REGION_RATIO = 3.0
"""Ratio of the largest region to a capacity: with less nothing shows that the rise ends."""

FINE_RATIO = 1.5
"""Range of fine sizes below and above a coarse capacity, which is known to a factor of 1.4."""

TRIED_PER_OCTAVE = 32
"""Capacities tried by the fit: a quarter of the distance of tested sizes."""

INTERVAL = (2.5, 97.5)

LEVEL_RESAMPLES = 20
"""Resamples in which levels are searched again: a real one is in nearly all."""


TESTED_TOLERANCE = 0.02
"""Relative distance within which a knee is at a tested size: the fit is no better."""

SERVED_SHARES = (0.7, 0.96)
"""Shares of a capacity between which regions are served by it, once the level before overflows."""

MAX_HIDDEN_SHARE = 0.03
"""Share of a latency that may be hidden: figures must be right to this."""

OVERFLOW_RATIOS = ((4.0, 1.6), (1.4, 6.0), (0.0, 16.0))
"""(Minimum sharpness of a knee, ratio to the capacity beyond which its level serves less than a
tenth of accesses)."""


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
    """Whether `served_ns` is measured, or hardly depends on the level before. If not, it is good
    enough only for planning further points."""
    step_ns: float
    tested: float
    """Largest ratio of neighbouring tested sizes around it."""

    def figure(self, name: str, evidence: str, operation: Operation = "read") -> BufferFigure:
        """Return the capacity as a buffer called `name`, which `operation` showed."""
        return BufferFigure(
            name=name,
            capacity_bytes=self.value_bytes,
            capacity_low_bytes=self.low_bytes,
            capacity_high_bytes=self.high_bytes,
            operation=operation,
            latency_ns=self.served_ns if self.is_plateau else None,
            confidence=self.confidence,
            evidence=evidence,
            **MEASURED_HERE,
        )


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
            level.capacity_bytes / FINE_RATIO, level.capacity_bytes * FINE_RATIO, FINE_PER_OCTAVE
        )
        regions |= {size for size in around if size <= largest}
    ordered = sorted(regions)
    finer = _curve(ordered, probe.gather([point_at(region) for region in ordered]))
    if finer is None:
        return curve, []
    finer = replace(finer, fit=_refine_capacities(finer, medians(finer.samples)))
    again = [find_levels(seen).levels for seen in _resampled(finer)]
    capacities = []
    for index, level in enumerate(finer.fit.levels):
        capacity = _capacity(finer, index)
        share = float(np.mean([_has_level(levels, level.capacity_bytes) for levels in again]))
        capacities.append(replace(capacity, confidence=min(capacity.confidence, share)))
    return finer, capacities


def _resampled(curve: CapacityCurve) -> Iterator[Medians]:
    regions = np.array(curve.regions, dtype=float)
    for row in resampled_medians(curve.samples, LEVEL_RESAMPLES):
        yield Medians(regions, row, curve.noise)


def _has_level(levels: Sequence[FittedLevel], capacity_bytes: float) -> bool:
    ratios = [level.capacity_bytes / capacity_bytes for level in levels]
    return any(1 / FINE_RATIO <= ratio <= FINE_RATIO for ratio in ratios)


def known_level(regions: Sequence[int], samples: Sequence[NDArray[np.float64]]) -> Capacity | None:
    """Return the single level of a curve around a known knee; None: no rise."""
    if len(regions) < MIN_POINTS or not all(map(len, samples)):
        return None
    curve = CapacityCurve(
        list(regions), list(samples), point_noise(samples), LevelsFit((), 0.0, 0.0)
    )
    exact = np.array(regions, dtype=float)
    tried = np.geomspace(exact[1], exact[-2], TRIED_PER_OCTAVE * 2)
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
    if len(kept) < MIN_POINTS:
        return None
    sizes_bytes = [region for region, _ in kept]
    values = [value for _, value in kept]
    noise = point_noise(values)
    fit = find_levels(Medians(np.array(sizes_bytes, dtype=float), medians(values), noise))
    seen = [
        level for level in fit.levels if level.capacity_bytes * MIN_REGION_RATIO <= sizes_bytes[-1]
    ]
    return CapacityCurve(sizes_bytes, values, noise, replace(fit, levels=tuple(seen)))


def _refine_capacities(curve: CapacityCurve, latency: NDArray[np.float64]) -> LevelsFit:
    """Move each level to its best capacity between the tested sizes, twice."""
    fit = curve.fit
    for _ in range(2):
        for index in range(len(fit.levels)):
            fit = _move_level(curve, latency, fit, index)
    return fit


def _move_level(
    curve: CapacityCurve, latency: NDArray[np.float64], fit: LevelsFit, index: int
) -> LevelsFit:
    capacity = fit.levels[index].capacity_bytes
    span = np.arange(-TRIED_PER_OCTAVE // 2, TRIED_PER_OCTAVE // 2 + 1) / TRIED_PER_OCTAVE
    seen = Medians(np.array(curve.regions, dtype=float), latency, curve.noise)
    moved = refit(seen, fit, index, capacity * 2**span)
    return moved if len(moved.levels) == len(fit.levels) else fit


def _served_ns(curve: CapacityCurve, index: int) -> tuple[float, bool]:
    """Return the latency of accesses that level `index` serves, ns, and whether it is reliable.

    The latency is measured if regions lie within the level, else fitted. A fitted latency is
    reliable only if the level before serves hardly any access there, even with the softest knee.
    """
    hidden_ns = 0.0
    level = curve.fit.levels[index]
    low, high = (share * level.capacity_bytes for share in SERVED_SHARES)
    if index > 0:
        before = curve.fit.levels[index - 1]
        times = next(times for power, times in OVERFLOW_RATIOS if before.power >= power)
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
    return fitted, hidden_ns <= MAX_HIDDEN_SHARE * fitted


def _capacity(curve: CapacityCurve, index: int) -> Capacity:
    """Return level `index` with its bootstrap interval, at least the tested sizes around it."""
    level = curve.fit.levels[index]
    tested = min(curve.regions, key=lambda size: abs(np.log(size / level.capacity_bytes)))
    place = curve.regions.index(tested)
    around = curve.regions[max(place - 1, 0) : place + 2]
    step = geometric_gaps(around)
    estimates = [
        _move_level(curve, row, curve.fit, index).levels[index].capacity_bytes
        for row in resampled_medians(curve.samples)
    ]
    exact = round(level.capacity_bytes / LINE_BYTES) * LINE_BYTES
    value = tested if abs(exact / tested - 1) <= TESTED_TOLERANCE else max(exact, LINE_BYTES)
    same = [1 / step <= estimate / value <= step for estimate in estimates]
    low, high = (float(end) for end in np.percentile(estimates, INTERVAL))
    below, above = neighbours(curve.regions, level.capacity_bytes)
    served_ns, is_plateau = _served_ns(curve, index)
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
