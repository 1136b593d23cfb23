"""Several runs of a size are averaged, which narrows the uncertainty of sampling."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from made_profiles import made

from nearfar.base.estimate import Estimate
from nearfar.documents import WorkloadProfile
from nearfar.profile.scaling.extrapolate import extrapolate

SIZES = (2e4, 4e4, 8e4, 1.6e5)
TARGET = 6.4e5
RATE = 64
REPEATS = 8
SCATTER = 0.15
"""Scatter of misses and accesses between runs, as with a few dozen sampled lines."""


def scattered(n: float, chance: random.Random) -> WorkloadProfile:
    """Return a profile with the scatter of one line in 64: all counts have a common factor."""
    profile = made(n)
    off = chance.lognormvariate(0.0, SCATTER)
    row = profile.phases[0].objects[0]
    assert row.curve is not None
    row.traffic.accesses *= off
    row.traffic.read_misses = row.traffic.read_misses.times(off)
    row.curve.read = [count * off for count in row.curve.read]
    return msgspec.structs.replace(
        profile, sampling=msgspec.structs.replace(profile.sampling, rate=RATE)
    )


def misses(profiles: list[WorkloadProfile]) -> Estimate:
    names = [f"{at}.json" for at in range(len(profiles))]
    result = extrapolate(profiles, names, {"n": TARGET}, force=True)
    assert result.extrapolation is not None
    assert result.extrapolation.sizes == list(SIZES)
    assert len(result.extrapolation.profiles) == len(profiles)
    return next(q.estimate for q in result.extrapolation.quantities if q.quantity == "misses")


def test_means_of_runs_are_more_accurate_and_have_narrower_intervals() -> None:
    chance = random.Random(7)
    true = made(TARGET).phases[0].objects[0].traffic.misses()
    trials = 8
    error = {1: 0.0, REPEATS: 0.0}
    width = {1: 0.0, REPEATS: 0.0}
    for _ in range(trials):
        runs = [scattered(n, chance) for n in SIZES for _ in range(REPEATS)]
        for count in error:
            some = [run for at, run in enumerate(runs) if at % REPEATS < count]
            result = misses(some)
            error[count] += abs(result.value / true - 1) / trials
            width[count] += (result.high - result.low) / true / trials
    # The mean of eight scatters by a third of a single run.
    assert error[REPEATS] < 0.7 * error[1]
    assert width[REPEATS] < 0.9 * width[1]


def test_a_single_size_may_be_repeated() -> None:
    once = [made(n) for n in SIZES]
    assert misses([*once, made(SIZES[0])]).value == pytest.approx(misses(once).value, rel=1e-6)
