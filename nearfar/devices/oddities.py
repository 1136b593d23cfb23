"""Oddities of real bandwidth-latency curves, which are reported and never smoothed away."""

from __future__ import annotations

from collections.abc import Sequence

Point = tuple[float, float]

DIP_SHARE = 0.02
"""Fall of latency under rising load above which it is a dip. Flat parts of published curves scatter
by about 1 % (Mess' Skylake files repeat idle points within 0.8 %)."""

FOLD_SHARE = 0.005
"""Fall of bandwidth under rising load, over the best, above which it is a fold-back. Published
repeats of a saturated point lie within 0.3 %."""


def detect_oddities(points: Sequence[Point]) -> list[str]:
    """Return one sentence for each oddity of `points`, (bandwidth GB/s, latency ns) by load."""
    return [*_below_zero(points), *_constant(points), *_dips(points), *_folds(points)]


def odd_indices(points: Sequence[Point]) -> set[int]:
    """Return the indices of the points that form oddities; thinning must keep these points."""
    keep: set[int] = set()
    lowest = min(range(len(points)), key=lambda index: points[index][0], default=0)
    if points and points[lowest][0] < 0:
        keep.add(lowest)
    for before, lowest in _dip_spans(points):
        keep |= {before, lowest}
    fold = _fold(points)
    if fold is not None:
        keep |= set(fold)
    return keep


def _below_zero(points: Sequence[Point]) -> list[str]:
    lowest = min((bandwidth for bandwidth, _ in points), default=0.0)
    if lowest >= 0:
        return []
    return [f"bandwidth below zero at idle ({lowest:.3g} GB/s): residue of the counters' zero"]


def _constant(points: Sequence[Point]) -> list[str]:
    bandwidths = {bandwidth for bandwidth, _ in points}
    if len(points) < 2 or len(bandwidths) > 1:
        return []
    return [f"all {len(points)} points are at one bandwidth ({bandwidths.pop():.3g} GB/s)"]


def _dips(points: Sequence[Point]) -> list[str]:
    return [
        f"dip at {points[low][0]:.5g} GB/s: {points[low][1]:.4g} ns "
        f"after {points[high][1]:.4g} ns at {points[high][0]:.5g} GB/s"
        for high, low in _dip_spans(points)
    ]


def _dip_spans(points: Sequence[Point]) -> list[tuple[int, int]]:
    """Return (index of the maximum before the dip, index of its minimum) of each dip, by load."""
    spans: list[tuple[int, int]] = []
    high, low = 0, None
    for index in range(1, len(points)):
        latency = points[index][1]
        if latency >= points[high][1]:
            if low is not None:
                spans.append((high, low))
            high, low = index, None
        elif latency < points[high][1] * (1 - DIP_SHARE) and (
            low is None or latency < points[low][1]
        ):
            low = index
    if low is not None:
        spans.append((high, low))
    return spans


def _folds(points: Sequence[Point]) -> list[str]:
    fold = _fold(points)
    if fold is None:
        return []
    best, end = fold
    return [f"folds back past {points[best][0]:.5g} GB/s to {points[end][0]:.5g} GB/s"]


def _fold(points: Sequence[Point]) -> tuple[int, int] | None:
    """Return the indices of the maximum bandwidth and of the minimum after it; None: no fold."""
    if not points:
        return None
    best = max(range(len(points)), key=lambda index: points[index][0])
    end = min(range(best, len(points)), key=lambda index: points[index][0])
    fell = points[best][0] - points[end][0]
    return (best, end) if fell > FOLD_SHARE * abs(points[best][0]) else None
