"""Periods among events, and stalls among timed writes, with outliers as on real machines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_examples import examples

from nearfar.measure.infer import stalls as stalls_module
from nearfar.measure.infer.findings import Findings
from nearfar.measure.infer.periods import find_comb, find_period
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.stall_events import find_kinds, recurring_at
from nearfar.measure.model import ModelSubject
from nearfar.samples.point import Sample


@examples(80)
@given(seed=st.integers(0, 10**6), count=st.integers(5, 60))
def test_random_events_have_no_period(seed, count):
    positions = np.sort(np.random.default_rng(seed).uniform(0, 1e6, count))
    assert find_period(positions) is None


@examples(40)
@given(
    seed=st.integers(0, 10**6),
    period=st.floats(1000, 20_000),
    jitter=st.floats(0, 0.005),
    strays=st.integers(0, 3),
)
def test_a_period_is_found_among_outliers(seed, period, jitter, strays):
    rng = np.random.default_rng(seed)
    events = np.arange(1, 16) * period + rng.normal(0, jitter * period, 15)
    result = find_period(np.sort(np.concatenate([events, rng.uniform(0, 15 * period, strays)])))
    assert result is not None
    assert result.value == pytest.approx(period, rel=0.03)


def test_a_period_of_which_most_events_are_missing():
    rng = np.random.default_rng(1)
    teeth = np.sort(rng.choice(400, 60, replace=False)) * 7800.0 + rng.normal(0, 50, 60)
    comb = find_comb(teeth, 6000, 9000)
    assert comb is not None
    assert comb.period == pytest.approx(7800, rel=0.002)
    assert find_comb(np.sort(rng.uniform(0, 3e6, 60)), 6000, 9000) is None


def quiet(count=200_000, seed=4):
    """Return writes of 100 ns with random tails and interrupts, without stalls."""
    rng = np.random.default_rng(seed)
    each = 100 * np.exp(0.03 * rng.standard_normal(count))
    tail = rng.random(count) < 2e-3
    each[tail] += 60 * (1 + rng.pareto(2.5, tail.sum()))
    interrupts = rng.integers(0, count, 30)
    each[interrupts] += 2000 * (1 + rng.pareto(2.5, 30))
    return each


@pytest.mark.parametrize("seed", range(6))
def test_tails_and_interrupts_are_not_taken_for_stalls(seed):
    assert find_kinds(quiet(seed=seed), 0.0) == []


@pytest.mark.parametrize(("period", "length"), [(14_000, 60_000), (2500, 5000), (9490, 49_000)])
def test_wear_recurs_by_writes(period, length):
    each = quiet()
    stalled = each[period - 1 :: period]
    stalled += length * np.random.default_rng(2).uniform(0.9, 1.1, len(stalled))
    (kind, *_) = find_kinds(each, 0.0)
    assert kind.by_writes is not None
    assert kind.by_writes.value == pytest.approx(period, rel=0.01)
    assert np.median(kind.lengths_ns) == pytest.approx(length, rel=0.1)
    again = recurring_at(each, length)
    assert again is not None
    assert again.value == pytest.approx(period, rel=0.01)


def test_errors_of_times_add_up_from_tooth_to_tooth():
    ends = np.cumsum(30_000 + 600 * np.random.default_rng(3).standard_normal(2000))
    comb = find_comb(ends, 20_000, 50_000)
    assert comb is not None
    assert comb.period == pytest.approx(30_000, abs=4 * comb.error)
    assert comb.error < 60


def test_refresh_recurs_by_time_and_in_addition_to_wear():
    each = quiet()
    each[7999::8000] += 50_000
    period, length, due = 200_000.0, 3000.0, 200_000.0
    now = 0.0
    for index, time in enumerate(each):
        if now >= due:
            each[index] += length
            due += period * (1 + (now - due) // period)
        now += each[index] if each[index] != time else time
    kinds = find_kinds(each, 0.0)
    lengths = sorted(float(np.median(kind.lengths_ns)) for kind in kinds)
    assert lengths == pytest.approx([3000, 50_000], rel=0.1)
    refresh = min(kinds, key=lambda kind: float(np.median(kind.lengths_ns)))
    assert refresh.by_time is not None
    assert refresh.by_time.value == pytest.approx(period, rel=0.03)


class Stalled:
    """Subject whose first rows are stalled every 20 us, and whose rested rows are `rested`."""

    def __init__(self, rested):
        self.rested = rested
        self.now = 0.0
        self.written = 0

    def facts(self):
        return ModelSubject("cxl-e3s-x8").facts()

    def sample(self, point):
        if point.rest_ns > 0:
            return Sample(100.0, each_ns=self.rested)
        each = quiet(point.accesses)
        if point.kernel == "overwrite":
            each[199::200] += 4000
            self.written += 1
        return Sample(100.0, each_ns=each.astype(np.float32))

    def clock(self):
        """Return seconds: time runs out with the second row."""
        return 0.0 if self.written < 2 else 100.0


@pytest.mark.parametrize("times", [[], [np.nan] * 100, [np.inf] * 100, [1.0, np.nan]])
def test_rows_without_usable_times_show_nothing(times):
    each = np.array(times, dtype=np.float32)
    assert find_kinds(each.astype(float), 0.0) == []
    findings = Findings()
    stalls_module.infer_stalls(InferenceProbe(Stalled(each), 60.0, 6), findings)
    assert findings.stalls == []
    assert "too few rows with rests" in findings.not_seen["stalls"]


def test_time_that_runs_out_before_the_rests_is_said():
    findings, subject = Findings(), Stalled(None)
    stalls_module.infer_stalls(InferenceProbe(subject, 60.0, 6, subject.clock), findings)
    assert findings.not_seen["stalls"] == "time ran out"
