"""Whether two figures differ: intervals by bootstrap, p values, their correction, the verdict.

A difference counts if it passes both: its p value, corrected for all that is compared, is below
5 %, and its 95 % interval leaves out no change. With no difference at all, less than 5 % of
comparisons then say that there is one, however many figures they have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.compare.compared_value import Z95, ComparedValue
from nearfar.compare.kind import Pair
from nearfar.documents.comparison import Change, Verdict

ALPHA = 0.05

BLIND = "half the changes of"
"""Begins the note of a figure of which a change of the limit would be missed."""

RESAMPLES = 4000
"""The 95 % ends of a ratio of medians of 20 values move by < 0.1 % of it beyond this."""

FEWEST = 3
"""Repetitions on each side that are judged: of two, Student's test has so few degrees of freedom
that a difference must be of hundreds of standard errors where many figures are compared."""

FEWEST_OF_HALF = 4
"""Below which the halves of a side are not compared: of three and three ranks, the least p is
10 %."""

MOST_REACH = 700.0
"""Of a change's logarithm: its exponential is still a number."""

DRIFT = 0.01
"""p below which the halves of one side's runs are said to differ: 1 of 100 steady ones is."""

Array = NDArray[np.float64]

Correction = Literal["holm", "benjamini-hochberg", "none"]


@dataclass(frozen=True)
class Difference:
    """B against A."""

    change: float | None
    low: float | None
    high: float | None
    p: float | None
    note: str = ""
    unseen: float | None = None
    """Where p is of repetitions: about half the changes of this size would not be found."""


def difference(a: ComparedValue, b: ComparedValue, together: int = 1) -> Difference:
    """Return the relative difference of two figures, its interval, and its p value.

    `together` says of how many p values, this one included, the smallest must hold its own.
    """
    scale = a.value if a.whole is None else a.whole
    change = (b.value - a.value) / abs(scale) if scale else None
    if a.samples and b.samples:
        return _of_samples(a, b, change, together)
    if a.sigma is None or b.sigma is None:
        return Difference(change, None, None, None, a.note or "nothing is known of its spread")
    return _of_errors(a, b, change, scale)


def _of_samples(
    a: ComparedValue, b: ComparedValue, change: float | None, together: int
) -> Difference:
    one, two = np.asarray(a.samples, dtype=float), np.asarray(b.samples, dtype=float)
    if min(len(one), len(two)) < FEWEST:
        few = (
            f"{min(len(one), len(two))} repetitions are too few to tell a change from chance: each "
            f"document needs {FEWEST} or more"
        )
        return Difference(change, None, None, None, few)
    if np.ptp(one) == 0.0 and np.ptp(two) == 0.0:
        return Difference(change, change, change, float(one[0] == two[0]))
    p = p_value(one, two, together)
    if change is None or np.median(one) <= 0:
        return Difference(None, None, None, p)
    low, high = ratio_interval(one, two)
    unseen = _unseen(one, two, together)
    return Difference(change, low - 1.0, high - 1.0, p, _drift(one, two), unseen)


def _unseen(one: Array, two: Array, together: int) -> float | None:
    """Return the change of which Welch's test finds half; ranks find as much within some 5 %."""
    from scipy import stats

    if min(one.min(), two.min()) <= 0.0:
        return None
    found = stats.ttest_ind(np.log(one), np.log(two), equal_var=False)
    error = math.sqrt(sum(np.var(np.log(x), ddof=1) / len(x) for x in (one, two)))
    reach = float(stats.t.isf(ALPHA / max(together, 1) / 2.0, found.df)) * error
    return math.expm1(reach) if math.isfinite(reach) and reach < MOST_REACH else None


def p_value(one: Array, two: Array, together: int) -> float:
    """Return the p value of the rank test, or of Welch's where ranks could never tell.

    Ranks assume least. But of 5 and 5 repetitions their least p is 2 of 252, whatever the
    difference: corrected for 7 figures or more, it is never below 5 %. Which test it is hangs on
    counts alone, never on the values, so each holds what it promises. Logarithms, as what slows a
    machine multiplies: they make a long tail of slow runs short.
    """
    from scipy import stats

    if least_rank_p(len(one), len(two)) * together < ALPHA:
        return float(stats.mannwhitneyu(one, two, alternative="two-sided").pvalue)
    if min(one.min(), two.min()) > 0.0:
        one, two = np.log(one), np.log(two)
    p = float(stats.ttest_ind(one, two, equal_var=False).pvalue)
    return p if math.isfinite(p) else 1.0


def least_rank_p(ones: int, twos: int) -> float:
    """Return the least two-sided p of so many: of one order of all, and its reverse."""
    return 2.0 / math.comb(ones + twos, ones)


def _drift(one: Array, two: Array) -> str:
    """Say which side's runs changed while they were made: their difference may be that."""
    from scipy import stats

    drifted = []
    for name, samples in (("A", one), ("B", two)):
        half = len(samples) // 2
        if (
            half >= FEWEST_OF_HALF
            and stats.mannwhitneyu(samples[:half], samples[-half:]).pvalue < DRIFT
        ):
            drifted.append(name)
    if not drifted:
        return ""
    return f"{' and '.join(drifted)} drifted while it ran: run both in turns"


def ratio_interval(one: Array, two: Array) -> tuple[float, float]:
    """Return the 95 % interval of median(two) / median(one): BCa, else percentile bootstrap."""
    from scipy import stats

    def ratio(x, y, axis=-1):  # type: ignore[no-untyped-def]
        return np.median(y, axis=axis) / np.median(x, axis=axis)

    with np.errstate(all="ignore"):
        for method in ("BCa", "percentile"):
            found = stats.bootstrap(
                (one, two),
                ratio,
                n_resamples=RESAMPLES,
                method=method,
                rng=np.random.default_rng(0),
                vectorized=True,
            ).confidence_interval
            low, high = float(found.low), float(found.high)
            if math.isfinite(low) and math.isfinite(high):
                return low, high
    value = float(np.median(two) / np.median(one))
    return value, value


def _of_errors(
    a: ComparedValue, b: ComparedValue, change: float | None, scale: float
) -> Difference:
    """Difference of values with known errors: normal, or Student's where few runs gave them."""
    from scipy import stats

    assert a.sigma is not None and b.sigma is not None
    sigma = math.hypot(a.sigma, b.sigma)
    apart = b.value - a.value
    if sigma == 0.0:
        same = math.isclose(a.value, b.value, rel_tol=1e-9, abs_tol=1e-12)
        return Difference(change, change, change, 1.0 if same else 0.0)
    degrees = _degrees(a, b)
    if degrees is None:
        reach, p = Z95, float(2.0 * stats.norm.sf(abs(apart) / sigma))
    else:
        reach = float(stats.t.ppf(0.975, degrees))
        p = float(2.0 * stats.t.sf(abs(apart) / sigma, degrees))
    if change is None:
        return Difference(None, None, None, p)
    half = reach * sigma / abs(scale)
    return Difference(change, change - half, change + half, p)


def _degrees(a: ComparedValue, b: ComparedValue) -> float | None:
    """Return those of the side with fewest runs; None: both errors are known well.

    Welch's formula gives more, but takes the error of a median of three for as good as it says.
    """
    runs = [one.repetitions for one in (a, b) if one.repetitions is not None]
    return float(max(min(runs) - 1, 1)) if runs else None


def corrected(values: Sequence[float], correction: Correction) -> list[float]:
    """Return p values corrected for being so many."""
    if not values or correction == "none":
        return list(values)
    if correction == "benjamini-hochberg":
        from scipy import stats

        return [float(value) for value in stats.false_discovery_control(values)]
    order = sorted(range(len(values)), key=lambda i: values[i])
    found = [0.0] * len(values)
    least = 0.0
    for rank, i in enumerate(order):
        # Holm: the k-th smallest is one of so many that may still be chance.
        least = max(least, min(1.0, (len(values) - rank) * values[i]))
        found[i] = least
    return found


def judge(
    pairs: Sequence[Pair], *, limit: float | None, correction: Correction, same_machine: bool
) -> list[Change]:
    """Return every pair's change. Families share the 5 %: together they are wrong so seldom."""
    families = list(dict.fromkeys(_one(pair).family for pair in pairs))
    found: list[Change] = []
    for family in families:
        group = [pair for pair in pairs if _one(pair).family == family]
        share = 1 if correction == "none" else len(families)
        together = (
            1
            if correction == "none"
            else share * sum(_judgeable(pair, same_machine=same_machine) for pair in group)
        )
        differences = [_difference(pair, together, same_machine=same_machine) for pair in group]
        known = [i for i, one in enumerate(differences) if one is not None and one.p is not None]
        ps = [one.p for i in known if (one := differences[i]) is not None and one.p is not None]
        fixed = corrected(ps, correction)
        by_place = {i: min(1.0, p * share) for i, p in zip(known, fixed, strict=True)}
        changes = [
            _change(pair, one, by_place.get(i), limit)
            for i, (pair, one) in enumerate(zip(group, differences, strict=True))
        ]
        found += sorted(changes, key=_interest)
    return found


def _one(pair: Pair) -> ComparedValue:
    figure = pair[0] or pair[1]
    assert figure is not None
    return figure


def _judgeable(pair: Pair, *, same_machine: bool) -> bool:
    """Whether the two will have a p value: the correction is for as many."""
    a, b = pair
    if a is None or b is None or (a.timed and not same_machine):
        return False
    if a.samples and b.samples:
        return min(len(a.samples), len(b.samples)) >= FEWEST
    return a.sigma is not None and b.sigma is not None


def _difference(pair: Pair, together: int, *, same_machine: bool) -> Difference | None:
    a, b = pair
    if a is None or b is None:
        return None
    if a.timed and not same_machine:
        scale = a.value or math.nan
        return Difference((b.value - a.value) / scale, None, None, None, "times of other machines")
    return difference(a, b, together)


def _change(
    pair: Pair, found: Difference | None, p_corrected: float | None, limit: float | None
) -> Change:
    a, b = pair
    one = _one(pair)
    if found is None:
        return Change(
            family=one.family,
            name=one.name,
            unit=one.unit,
            a=None if a is None else a.value,
            b=None if b is None else b.value,
            verdict="only B" if a is None else "only A",
            note=one.note,
        )
    assert a is not None and b is not None
    verdict = _verdict(a, b, found, p_corrected)
    over = verdict == "worse" and limit is not None and _loss(a, b, found) > limit
    return Change(
        family=one.family,
        name=one.name,
        unit=one.unit,
        a=a.value,
        b=b.value,
        change=found.change,
        part=a.whole is not None,
        own_change=(b.value - a.value) / abs(a.value) if a.whole is not None and a.value else None,
        low=found.low,
        high=found.high,
        p=found.p,
        p_corrected=p_corrected,
        verdict=verdict,
        over_limit=over,
        note=found.note or _blind(found, verdict, limit) or one.note,
    )


def _blind(found: Difference, verdict: Verdict, limit: float | None) -> str:
    """Say that a change of the limit would most likely not have been found."""
    if verdict != "same" or limit is None or found.unseen is None or found.unseen <= limit:
        return ""
    return f"{BLIND} {100 * found.unseen:.2g} % would not be found with so few repetitions"


def _verdict(
    a: ComparedValue, b: ComparedValue, found: Difference, p_corrected: float | None
) -> Verdict:
    if p_corrected is None:
        return "not judged"
    inside = found.low is not None and found.high is not None and found.low <= 0.0 <= found.high
    if p_corrected >= ALPHA or inside or a.value == b.value:
        return "same"
    if a.worse == "neither":
        return "changed"
    return "worse" if (b.value > a.value) == (a.worse == "more") else "better"


def _loss(a: ComparedValue, b: ComparedValue, found: Difference) -> float:
    """Return by how much B is worse: what --fail-over is compared with."""
    if a.worse == "less":
        return a.value / b.value - 1.0 if b.value > 0 else math.inf
    return math.inf if found.change is None else found.change


def _interest(change: Change) -> tuple[int, float]:
    order = {"worse": 0, "better": 1, "changed": 1, "only B": 2, "only A": 2}
    return order.get(change.verdict, 3), -abs(change.change or 0.0)
