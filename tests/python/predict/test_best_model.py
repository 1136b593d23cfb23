"""The default model: the inversion, with bursts its mean with the window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from window_bursts import FAR, FAR_NS, LINES, NEAR, NEAR_NS, phase

from nearfar.predict.interval import far_estimate
from nearfar.predict.model import Perturbation
from nearfar.predict.models.best import BestModel
from nearfar.predict.models.inversion import InversionModel
from nearfar.predict.models.window import TRUSTED, WindowModel
from nearfar.predict.traffic import PhaseTraffic


def far_ns(kind: type[InversionModel] | type[WindowModel], given: PhaseTraffic) -> float:
    return float(kind(given, NEAR, FAR).times_ns(given.total))


@pytest.mark.parametrize("share", [0.8, 1.0, 1.3])
def test_a_window_that_takes_near_time_is_in_the_mean_and_the_interval_holds_both(share: float):
    given = phase(LINES * NEAR_NS / share, dependent=True)
    model = BestModel(given, NEAR, FAR)
    both = [far_ns(kind, given) for kind in (InversionModel, WindowModel)]
    assert both[0] != both[1]
    assert far_ns(BestModel, given) == pytest.approx(np.sqrt(both[0] * both[1]))
    assert "geometric mean" in model.remarks()[0]
    found = far_estimate(BestModel, given, NEAR, FAR, model)
    for estimate, scale in ((found.far_time_ns, 1.0), (found.slowdown, given.near_time_ns.value)):
        assert estimate.low * scale <= min(both)
        assert max(both) <= estimate.high * scale


@pytest.mark.parametrize("share", [TRUSTED[0] / 1.1, TRUSTED[1] * 1.1])
def test_a_window_that_takes_another_time_is_left_out_and_that_is_reported(share: float):
    given = phase(LINES * NEAR_NS / share, dependent=True)
    # The window takes LINES * NEAR_NS: `share` of near time.
    assert WindowModel(given, NEAR, FAR).simulated_over_near == pytest.approx(share, rel=0.02)
    assert far_ns(BestModel, given) == far_ns(InversionModel, given)
    assert "left out" in BestModel(given, NEAR, FAR).remarks()[0]


def test_without_bursts_it_is_the_inversion():
    given = replace(phase(LINES * NEAR_NS, dependent=True), bursts=None)
    assert (
        far_ns(BestModel, given) == far_ns(InversionModel, given) == pytest.approx(LINES * FAR_NS)
    )
    assert BestModel(given, NEAR, FAR).remarks() == []


def test_moving_nothing_changes_nothing_and_doubts_keep_the_rule():
    given = phase(LINES * NEAR_NS, dependent=False)
    model = BestModel(given, NEAR, FAR)
    none, half, whole = model.times_ns(np.outer([0.0, 0.5, 1.0], given.total)).tolist()
    assert none == pytest.approx(given.near_time_ns.value)
    assert none < half < whole
    edge = phase(LINES * NEAR_NS / (TRUSTED[1] * 0.98), dependent=True)
    # At this near time alone the window would be left out.
    perturbed = BestModel(edge, NEAR, FAR, Perturbation(near_time=0.9))
    assert perturbed.times_to_cover_ns() != []
