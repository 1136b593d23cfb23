"""Measurement of recipes, and attribution of their differences from the plain chase."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence

from nearfar.base.estimate import Estimate
from nearfar.base.statistics import difference_estimate, median_estimate
from nearfar.documents.device import ProtocolResult
from nearfar.measure.instrument.verdict import plain_chase
from nearfar.measure.protocols.recipe import RECIPES, CannotSwitchError, ProtocolSetup, Recipe
from nearfar.measure.subject import Subject, SubjectFacts
from nearfar.samples.point import Sample, SamplePoint

ROUNDS = 9
"""Samples of each point: intervals of a median of nine exclude the extremes."""

MIN_ROUNDS = 3
"""Minimum rounds, whatever the time."""

PLAIN = "plain-chase"

Ladder = list[tuple[str, ProtocolSetup]]
"""Setups from the plain chase (cause "") to the recipe, one factor each."""


def run_protocols(
    subject: Subject,
    names: Sequence[str] | None = None,
    *,
    rounds: int = ROUNDS,
    seconds: float = math.inf,
    progress: Callable[[str, float], None] = lambda _what, _share: None,
    sample: Callable[[SamplePoint], Sample] | None = None,
) -> list[ProtocolResult]:
    """Run recipes (default: all) on `subject`, the plain chase first; some 5 s on real memory.

    Steps that recipes share are measured once. Every round measures all points, so that drift is
    common to them. No round begins after `seconds`, but at least `MIN_ROUNDS` are made. `sample`
    replaces ``subject.sample``.
    """
    facts = subject.facts()
    take = sample or subject.sample
    chosen = list(names) if names is not None else RECIPES.names()
    chosen = [PLAIN, *(name for name in chosen if name != PLAIN)]
    recipes = {name: RECIPES.get(name) for name in chosen}
    ladders = {name: ladder(recipe, facts) for name, recipe in recipes.items()}
    rungs = (setup.point for rungs, _ in ladders.values() for _, setup in rungs)
    points = list(dict.fromkeys(rungs))
    taken: dict[SamplePoint, list[float]] = {point: [] for point in points}
    dice = random.Random(1)
    start = time.monotonic()
    for number in range(rounds):
        if number >= MIN_ROUNDS and time.monotonic() - start > seconds:
            break
        for index, point in enumerate(dice.sample(points, len(points))):
            taken[point].append(take(point).value)
            done = (number + (index + 1) / len(points)) / rounds
            progress(f"running {len(recipes)} protocols", done)
    return [_result(name, recipes[name], ladders[name], taken, facts) for name in recipes]


def ladder(recipe: Recipe, facts: SubjectFacts) -> tuple[Ladder, list[str]]:
    """Return the possible setups of the recipe, and which are not and why."""
    setup = ProtocolSetup(plain_chase(facts, "protocol"))
    rungs: Ladder = [("", setup)]
    lacking: list[str] = []
    for step in recipe.steps:
        try:
            changed = step.change(setup, facts)
        except CannotSwitchError as why:
            lacking.append(f"{step.cause} not switched: {why}")
            continue
        if changed != setup:
            rungs.append((step.cause, changed))
            setup = changed
    return rungs, lacking


def _result(
    name: str,
    recipe: Recipe,
    rungs_and_lacks: tuple[Ladder, list[str]],
    taken: Mapping[SamplePoint, list[float]],
    facts: SubjectFacts,
) -> ProtocolResult:
    rungs, lacking = rungs_and_lacks
    causes: dict[str, Estimate] = {}
    for (_, before), (cause, now) in itertools.pairwise(rungs):
        causes[cause] = _difference(before, now, taken, facts)
    last = rungs[-1][1]
    values = _values(last, taken, facts)
    estimate = median_estimate(values)
    value = min(values) if last.best else estimate.value
    notes = [recipe.whose, recipe.differs, *lacking]
    return ProtocolResult(
        name=name,
        value_ns=value,
        low_ns=min(estimate.low, value),
        high_ns=estimate.high,
        attributed={cause: share.value for cause, share in causes.items()},
        attributed_low={cause: share.low for cause, share in causes.items()},
        attributed_high={cause: share.high for cause, share in causes.items()},
        note="; ".join(note for note in notes if note),
    )


def _difference(
    before: ProtocolSetup,
    now: ProtocolSetup,
    taken: Mapping[SamplePoint, list[float]],
    facts: SubjectFacts,
) -> Estimate:
    """Return what one factor adds, ns; the sum is the difference from the plain chase."""
    values = _values(now, taken, facts)
    if now.best and not before.best:
        middle = median_estimate(values)
        least = min(values)
        return Estimate(least - middle.value, least - middle.high, least - middle.low)
    return difference_estimate(values, _values(before, taken, facts))


def _values(
    setup: ProtocolSetup, taken: Mapping[SamplePoint, list[float]], facts: SubjectFacts
) -> list[float]:
    clock_ns = facts.timer_overhead_ns if setup.clock_stays else 0.0
    return [value + clock_ns for value in taken[setup.point]]


def describe(result: ProtocolResult) -> str:
    """Return one line: ``perma-op 429.0 ns = plain chase 377.0 + tlb 27.0 + timer 25.0``.

    A cause whose interval holds 0 is left out of the sum and named at the end.
    """
    plain = result.value_ns - sum(result.attributed.values())
    parts = [f"plain chase {plain:.1f}"]
    noise: list[str] = []
    for cause, value in result.attributed.items():
        low, high = result.attributed_low[cause], result.attributed_high[cause]
        if low <= 0 <= high:
            noise.append(cause)
        else:
            parts.append(f"{cause} {value:.1f} [{low:.1f}, {high:.1f}]")
    line = f"{result.name} {result.value_ns:.1f} ns = {' + '.join(parts)}"
    return f"{line}; within noise: {', '.join(noise)}" if noise else line
