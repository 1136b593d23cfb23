"""Conformal intervals over groups, from the errors on other kernels, with guaranteed coverage.

A score is the distance of a measurement from the predicted interval, negative inside the interval.
If kernels are exchangeable (none was chosen for its error), the score of a new kernel has any rank
among the others with the same probability. So it is at most the ceil((n + 1) level)-th smallest of
n scores with probability `level`, whatever the distribution.

Results of one kernel, from several sessions or at several slowdowns, resemble each other and form
one group. If one result is drawn from every group, the drawn results are exchangeable (subsampling
once: Dunn, Wasserman and Ramdas, JASA 2023), but the quantile depends on the draw. This module
computes the exact median of the quantiles over all draws. If every group has one result, this is
the ordinary quantile with its guarantee. Otherwise the guarantee is that of a single draw; on
synthetic groups, the median covered up to 3 % more. The quantile of all scores together, with the
same weight for each group, has a guarantee too, but is needlessly wide: for ten kernels it is the
largest score, which covers 98 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf

import numpy as np

LEVEL = 0.9
"""Target coverage of an interval."""

MEDIAN = 0.5
"""Quantile over all draws that is used."""

MAX_ROUNDING = 1e-9
"""Rounding error of products such as (9 + 1) 0.9, far below the share of any draw."""


def min_groups(level: float = LEVEL) -> int:
    """Return how many groups a finite interval needs: 9 for 90 %."""
    groups = 1
    while groups / (groups + 1) < level - 1e-12:
        groups += 1
    return groups


def grouped_quantile(scores: Sequence[float], groups: Sequence[str], level: float = LEVEL) -> float:
    """Return the score that a new group's result exceeds with a probability of about 1 - `level`.

    Every group has the same weight. The result is infinite if there are too few groups.
    """
    of_group: dict[str, list[float]] = {}
    for score, group in zip(scores, groups, strict=True):
        of_group.setdefault(group, []).append(score)
    rank = ceil((len(of_group) + 1) * level - MAX_ROUNDING)
    if rank > len(of_group):
        return inf
    candidates = np.unique(np.asarray(scores, dtype=float))
    # below[i, k]: probability that k of the scores drawn, one per group, are at most candidate i.
    below = np.zeros((len(candidates), len(of_group) + 1))
    below[:, 0] = 1.0
    for members in of_group.values():
        share = np.searchsorted(np.sort(members), candidates, side="right") / len(members)
        below[:, 1:] = below[:, 1:] * (1.0 - share)[:, None] + below[:, :-1] * share[:, None]
        below[:, 0] *= 1.0 - share
    enough = below[:, rank:].sum(axis=1) >= MEDIAN - MAX_ROUNDING
    return float(candidates[int(enough.argmax())])


def leave_group_out(
    scores: Sequence[float], groups: Sequence[str], level: float = LEVEL
) -> list[float]:
    """Return for every result the quantile of the scores of all other groups."""
    without: dict[str, float] = {}
    for group in dict.fromkeys(groups):
        others = [(s, g) for s, g in zip(scores, groups, strict=True) if g != group]
        without[group] = grouped_quantile([s for s, _ in others], [g for _, g in others], level)
    return [without[group] for group in groups]


def interval_score(low: float, high: float, value: float, level: float = LEVEL) -> float:
    """Return Winkler's score: width plus, for a value outside, its distance * 2 / (1 - level)."""
    missed = max(low - value, value - high, 0.0)
    return high - low + 2.0 / (1.0 - level) * missed
