"""The window model on bursts with known times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from window_bursts import FAR, FAR_NS, LINES, NEAR, NEAR_NS, PARALLELISM, phase

from nearfar.predict.derive import far_memory
from nearfar.predict.memory import MemoryCosts, scaled_memory
from nearfar.predict.model import ModelLacksError
from nearfar.predict.models import window
from nearfar.predict.models.best import BestModel
from nearfar.predict.models.window import WindowModel
from nearfar.predict.traffic import PhaseTraffic
from nearfar.predict.window_fit import WindowSimulation


def far_ns(given: PhaseTraffic) -> float:
    return float(WindowModel(given, NEAR, FAR).times_ns(given.total))


def test_a_chase_slows_down_like_latency():
    chase = phase(LINES * NEAR_NS, dependent=True)
    assert far_ns(chase) == pytest.approx(LINES * FAR_NS, rel=0.02)
    model = WindowModel(chase, NEAR, FAR)
    assert model.effective_parallelism() == pytest.approx(1.0, rel=0.02)
    assert model.fit is not None and model.fit.distance < 0.2
    assert "1.00 times after it was fitted" in model.remarks()[0]


def test_independent_misses_overlap_as_the_chains_curve_shows():
    gather = phase(LINES * NEAR_NS / PARALLELISM, dependent=False)
    assert far_ns(gather) == pytest.approx(LINES * FAR_NS / PARALLELISM, rel=0.05)


@pytest.mark.parametrize("share", [0.9, 0.95, 1.05, 1.2])
def test_plausible_unknowns_explain_near_time(share: float):
    given = phase(share * LINES * NEAR_NS, dependent=True)
    fit = WindowModel(given, NEAR, FAR).fit
    assert fit is not None
    assert fit.near_ns == pytest.approx(fit.measured_ns, rel=0.02)
    assert fit.plain_ns == pytest.approx(NEAR_NS, rel=0.02)
    assert 0.0 < fit.distance < 6.0


def test_a_less_plausible_fit_has_a_smaller_weight():
    shares = (1.0, 1.1, 1.3, 2.0)
    fits = [WindowModel(phase(s * LINES * NEAR_NS, dependent=True), NEAR, FAR).fit for s in shares]
    weights = [fit.weight for fit in fits if fit is not None]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > 0.99 and weights[-1] < 0.01


def test_time_that_no_unknown_explains_stays():
    added = LINES * (FAR_NS - NEAR_NS)
    slow = phase(3 * LINES * NEAR_NS, dependent=True)
    assert far_ns(slow) == pytest.approx(3 * LINES * NEAR_NS + added, rel=0.3)
    assert "0.33 times near time" in WindowModel(slow, NEAR, FAR).remarks()[0]


def test_where_the_window_waits_longer_than_the_program_added_time_is_proportional():
    fast = phase(0.5 * LINES * NEAR_NS, dependent=True)
    assert far_ns(fast) == pytest.approx(0.5 * LINES * FAR_NS, rel=0.02)


@pytest.mark.parametrize("dependent", [True, False])
@pytest.mark.parametrize("what", ["latency", "bandwidth"])
@pytest.mark.parametrize("kind", [WindowModel, BestModel])
def test_slower_memory_is_never_faster(
    kind: type[WindowModel] | type[BestModel], what: str, dependent: bool
):
    given = phase(LINES * NEAR_NS / (1.0 if dependent else PARALLELISM), dependent=dependent)
    factors = np.geomspace(1.0, 300.0, 60)
    slower = [
        scaled_memory(FAR, **{what: factor if what == "latency" else 1.0 / factor})
        for factor in factors
    ]
    times = np.array([float(kind(given, NEAR, far).times_ns(given.total)) for far in slower])
    assert np.all(np.diff(times) >= -1e-3 * times[:-1])
    # Lines of a chase are too far apart for the bus to matter.
    assert times[-1] > 1.5 * times[0] or (what == "bandwidth" and dependent)


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


def test_bursts_that_end_before_a_bus_is_full_make_no_memory_faster(
    monkeypatch: pytest.MonkeyPatch,
):
    given = phase(LINES * 2.0, dependent=True)

    def per_miss_ns(_: WindowSimulation, memory: MemoryCosts, *__: object) -> float:
        return 1.0 if memory is FAR else 2.0

    monkeypatch.setattr(WindowSimulation, "per_miss_ns", per_miss_ns)
    assert far_ns(given) >= LINES * 2.0 * min(window._ratios(NEAR, FAR))
