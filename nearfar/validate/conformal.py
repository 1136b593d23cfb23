"""Conformal intervals over groups: from the errors on other kernels, with a guarantee.

A score says how far a measurement is from its prediction, in units of a scale known before. Where
kernels are exchangeable (none was chosen for its error), the score of a new kernel is as likely to
have any rank among them: the quantile below holds it with the probability asked for, whatever
the distribution. Results of one kernel, from several sessions, are one group: they
resemble each other, so a group counts as one (hierarchical conformal prediction, Dunn, Wasserman
and Ramdas, JASA 2023).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf

LEVEL = 0.9
"""Coverage aimed at."""


def fewest_groups(level: float = LEVEL) -> int:
    """Return how many groups a finite interval needs: 9 for 90 %."""
    groups = 1
    while groups / (groups + 1) < level - 1e-12:
        groups += 1
    return groups


def grouped_quantile(scores: Sequence[float], groups: Sequence[str], level: float = LEVEL) -> float:
    """Return the score that one of a new group exceeds with probability 1 - `level` at most.

    Every group weighs the same, the new one among them (its score counts as infinite). Infinite
    where the groups are too few.
    """
    sizes = Counter(groups)
    share = 1.0 / (len(sizes) + 1)
    reached = 0.0
    for score, group in sorted(zip(scores, groups, strict=True)):
        reached += share / sizes[group]
        if reached >= level - 1e-12:
            return score
    return inf


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
