"""The default model: the fitted window, or the inversion where no window is plausible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from window_bursts import FAR, FAR_NS, LINES, NEAR, NEAR_NS, phase

from nearfar.predict.interval import far_estimate
from nearfar.predict.model import Perturbation
from nearfar.predict.models.best import BestModel
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.models.window import WindowModel
from nearfar.predict.traffic import PhaseTraffic


def far_ns(kind: type[InversionModel] | type[WindowModel], given: PhaseTraffic) -> float:
    return float(kind(given, NEAR, FAR).times_ns(given.total))


def test_a_window_that_explains_near_time_without_correction_decides():
    given = phase(LINES * NEAR_NS, dependent=True)
    assert far_ns(BestModel, given) == pytest.approx(far_ns(WindowModel, given), rel=0.01)
    assert "its weight is 100%" in BestModel(given, NEAR, FAR).remarks()[0]


@pytest.mark.parametrize("share", [0.3, 3.0])
def test_a_window_that_cannot_explain_near_time_has_no_weight(share: float):
    given = phase(LINES * NEAR_NS * share, dependent=True)
    assert far_ns(BestModel, given) == pytest.approx(far_ns(InversionModel, given), rel=0.01)
    assert "its weight is 0%" in BestModel(given, NEAR, FAR).remarks()[0]


def test_the_transition_between_both_is_continuous():
    shares = np.geomspace(0.4, 2.5, 60)
    givens = [phase(LINES * NEAR_NS * share, dependent=False) for share in shares]
    slowdowns = [far_ns(BestModel, given) / given.near_time_ns.value for given in givens]
    steps = np.abs(np.diff(np.log(slowdowns)))
    assert steps.max() < 0.12


def test_between_both_the_interval_reaches_to_both_sides():
    """The uncertainty of the weights is largest where both count equally."""
    shares = np.geomspace(0.4, 1.0, 20)
    for given in (phase(LINES * NEAR_NS * share, dependent=True) for share in shares):
        model = BestModel(given, NEAR, FAR)
        low, high = model.times_to_spread_ns()
        time_ns = far_ns(BestModel, given)
        assert low < time_ns < high
        estimate = far_estimate(BestModel, given, NEAR, FAR, model).far_time_ns
        assert estimate.low < time_ns < estimate.high


def test_without_bursts_it_is_the_inversion():
    given = replace(phase(LINES * NEAR_NS, dependent=True), bursts=None)
    assert (
        far_ns(BestModel, given) == far_ns(InversionModel, given) == pytest.approx(LINES * FAR_NS)
    )
    assert BestModel(given, NEAR, FAR).remarks() == []


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0, 1.2, 2.5])
@pytest.mark.parametrize("dependent", [True, False])
def test_moving_a_part_lies_between_moving_nothing_and_everything(share: float, dependent: bool):
    given = phase(LINES * NEAR_NS * share, dependent=dependent)
    times = BestModel(given, NEAR, FAR).times_ns(np.outer(np.linspace(0.0, 1.0, 11), given.total))
    assert times[0] == pytest.approx(given.near_time_ns.value)
    assert np.all(np.diff(times) > 0.0)


def test_a_perturbed_input_moves_window_and_inversion_alike():
    given = phase(LINES * NEAR_NS, dependent=True)
    slower = BestModel(given, NEAR, FAR, Perturbation(far_latency=1.1))
    assert float(slower.times_ns(given.total)) == pytest.approx(1.1 * LINES * FAR_NS, rel=0.02)


def test_assumptions_of_the_inversion_alone_do_not_move_a_window_that_decides():
    given = phase(LINES * NEAR_NS, dependent=True)
    without_hits = BestModel(given, NEAR, FAR, Perturbation(parallelism="classes"))
    assert float(without_hits.times_ns(given.total)) == pytest.approx(
        far_ns(BestModel, given), rel=0.02
    )
