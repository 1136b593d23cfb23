"""Conformal intervals over groups: from the errors on other kernels, with a guarantee.

A score says how far a measurement lies outside what was predicted; below zero, inside. Where
kernels are exchangeable (none was chosen for its error), the score of a new kernel is as likely to
have any rank among them: the ceil((n + 1) level)-th smallest of n holds it with the probability
asked for, whatever the distribution.

Results of one kernel, from several sessions or at several slowdowns, are one group: they resemble
each other. One result drawn of every group is exchangeable again (subsampling once: Dunn,
Wasserman and Ramdas, JASA 2023), but the answer would hang on the draw. Taken is the median of the
answers over all draws, which is worked out and not drawn. Where every group has one result, that
is the ordinary quantile and its guarantee; elsewhere the guarantee is of the single draw, and on
made-up groups the median held up to 3 % more than that. The quantile of all scores together, each
group weighing the same, has a guarantee too, and is needlessly wide: of ten kernels it is the
greatest score of all, which holds 98 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf

import numpy as np

LEVEL = 0.9
"""Coverage aimed at."""

MEDIAN = 0.5
"""Of the answers over all draws."""

ROUNDING = 1e-9
"""Of products of small fractions, such as (9 + 1) 0.9: far below any share of a draw."""


def fewest_groups(level: float = LEVEL) -> int:
    """Return how many groups a finite interval needs: 9 for 90 %."""
    groups = 1
    while groups / (groups + 1) < level - 1e-12:
        groups += 1
    return groups


def grouped_quantile(scores: Sequence[float], groups: Sequence[str], level: float = LEVEL) -> float:
    """Return the score that one of a new group exceeds with probability 1 - `level`, or nearly.

    Every group weighs the same. Infinite where the groups are too few.
    """
    of_group: dict[str, list[float]] = {}
    for score, group in zip(scores, groups, strict=True):
        of_group.setdefault(group, []).append(score)
    rank = ceil((len(of_group) + 1) * level - ROUNDING)
    if rank > len(of_group):
        return inf
    candidates = np.unique(np.asarray(scores, dtype=float))
    # below[i, k]: probability that k of the scores drawn, one a group, are at most candidate i.
    below = np.zeros((len(candidates), len(of_group) + 1))
    below[:, 0] = 1.0
    for members in of_group.values():
        share = np.searchsorted(np.sort(members), candidates, side="right") / len(members)
        below[:, 1:] = below[:, 1:] * (1.0 - share)[:, None] + below[:, :-1] * share[:, None]
        below[:, 0] *= 1.0 - share
    enough = below[:, rank:].sum(axis=1) >= MEDIAN - ROUNDING
    return float(candidates[int(enough.argmax())])


def leave_group_out(
    scores: Sequence[float], groups: Sequence[str], level: float = LEVEL
) -> list[float]:
    """Return for every result the quantile of all other groups' scores."""
    without: dict[str, float] = {}
    for group in dict.fromkeys(groups):
        kept = [(s, g) for s, g in zip(scores, groups, strict=True) if g != group]
        without[group] = grouped_quantile([s for s, _ in kept], [g for _, g in kept], level)
    return [without[group] for group in groups]


def interval_score(low: float, high: float, value: float, level: float = LEVEL) -> float:
    """Return Winkler's score: the width, and for a miss its distance times 2 / (1 - level)."""
    missed = max(low - value, value - high, 0.0)
    return high - low + 2.0 / (1.0 - level) * missed
