"""The window model on bursts whose times follow by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from window_bursts import FAR, FAR_NS, LINES, NEAR, NEAR_NS, PARALLELISM, phase

from nearfar.predict.derive import far_memory
from nearfar.predict.model import ModelLacksError, Perturbation
from nearfar.predict.models import window
from nearfar.predict.models.window import WindowModel
from nearfar.predict.traffic import PhaseTraffic


def far_ns(given: PhaseTraffic, doubt: Perturbation | None = None) -> float:
    model = WindowModel(given, NEAR, FAR, doubt or Perturbation())
    return float(model.times_ns(given.total))


def test_a_chase_slows_down_as_latency_does():
    chase = phase(LINES * NEAR_NS, dependent=True)
    assert far_ns(chase) == pytest.approx(LINES * FAR_NS, rel=0.02)
    assert WindowModel(chase, NEAR, FAR).effective_parallelism() == pytest.approx(1.0, rel=0.02)
    assert WindowModel(chase, NEAR, FAR).remarks() == []


def test_independent_misses_overlap_as_far_as_the_chains_curve_says():
    gather = phase(LINES * NEAR_NS / PARALLELISM, dependent=False)
    assert far_ns(gather) == pytest.approx(LINES * FAR_NS / PARALLELISM, rel=0.05)


def test_time_that_the_window_does_not_know_stays():
    added = LINES * (FAR_NS - NEAR_NS)
    slow = phase(3 * LINES * NEAR_NS, dependent=True)
    assert far_ns(slow) == pytest.approx(3 * LINES * NEAR_NS + added, rel=0.02)
    assert "0.33 times the measured" in WindowModel(slow, NEAR, FAR).remarks()[0]


def test_where_the_window_waits_more_than_the_program_added_time_is_in_proportion():
    fast = phase(0.5 * LINES * NEAR_NS, dependent=True)
    assert far_ns(fast) == pytest.approx(0.5 * LINES * FAR_NS, rel=0.02)
    # The other way is a doubt: the interval reaches further the less the window fits.
    other = far_ns(fast, Perturbation(parallelism="classes"))
    assert other == pytest.approx(LINES * (0.5 * NEAR_NS + FAR_NS - NEAR_NS), rel=0.02)


def test_half_of_the_lines_far_add_half():
    chase = phase(LINES * NEAR_NS, dependent=True)
    model = WindowModel(chase, NEAR, FAR)
    none, half, whole = model.times_ns(np.outer([0.0, 0.5, 1.0], chase.total)).tolist()
    assert none == LINES * NEAR_NS
    assert half == pytest.approx((none + whole) / 2)


def test_near_memory_as_far_memory_changes_nothing():
    chase = phase(LINES * NEAR_NS, dependent=True)
    same = far_memory(NEAR.device, NEAR)
    assert float(WindowModel(chase, NEAR, same).times_ns(chase.total)) == LINES * NEAR_NS


def test_without_bursts_or_with_few_misses_it_names_the_missing_input():
    chase = phase(LINES * NEAR_NS, dependent=True)
    with pytest.raises(ModelLacksError, match="--bursts"):
        WindowModel(replace(chase, bursts=None), NEAR, FAR)
    assert chase.bursts is not None
    chase.bursts.bursts.accesses[0].misses = [0.01]
    with pytest.raises(ModelLacksError, match="there are 10"):
        WindowModel(chase, NEAR, FAR)


def test_a_phase_without_misses_takes_its_near_time():
    nothing = phase(1000.0, dependent=True, lines=0.0)
    assert far_ns(nothing) == 1000.0


def test_bursts_that_end_before_a_bus_is_full_make_no_memory_quick(
    monkeypatch: pytest.MonkeyPatch,
):
    per_miss_ns = {id(NEAR): 2.0, id(FAR): 1.0}
    monkeypatch.setattr(window, "_per_miss_ns", lambda _, memory, *__: per_miss_ns[id(memory)])
    given = phase(LINES * 2.0, dependent=True)
    assert far_ns(given) >= LINES * 2.0 * min(window._ratios(NEAR, FAR))
