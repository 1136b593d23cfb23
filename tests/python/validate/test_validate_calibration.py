"""Calibrated intervals of a prediction apply only to the validated kind of memory."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import samples
import validation_results as made

from nearfar.api import predict
from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.documents import DeviceProfile, Prediction, save
from nearfar.documents.processor import cpu_model
from nearfar.predict.calibration import (
    calibration_for,
    conformity_score,
    load_calibrations,
    memory_tier,
    spread,
    widened,
    with_calibrations,
)
from nearfar.validate.report import pooled


def far_device() -> DeviceProfile:
    return samples.device(name="far", latency_ns=300.0)


def prediction(far: DeviceProfile) -> Prediction:
    return predict(
        profile=samples.workload(),
        near=samples.device(),
        far=[far],
        model="inversion",
        models=["xmem"],
    )


def test_a_score_and_a_spread_are_inverse() -> None:
    slowdown = Estimate(2.0, 1.8, 2.3)
    for margin in (-0.05, 0.0, 0.5, 3.0):
        wide = spread(slowdown, margin)
        assert conformity_score(slowdown, wide.high) == pytest.approx(margin)
        assert conformity_score(slowdown, wide.low) == pytest.approx(margin)


def test_ends_move_inwards_at_most_to_the_value() -> None:
    assert spread(Estimate(2.0, 1.8, 2.3), -1.0) == Estimate(2.0, 2.0, 2.0)


def test_an_interval_from_zero_misses_nothing_below() -> None:
    assert conformity_score(Estimate(2.0, 0.0, 3.0), 0.001) < 0.0


def test_other_models_only_widen() -> None:
    assert widened(Estimate(2.0, 1.8, 2.2), [1.9]) == Estimate(2.0, 1.8, 2.2)
    assert widened(Estimate(2.0, 1.8, 2.2), [1.5, 2.5]) == Estimate(2.0, 1.5, 2.5)


def test_only_the_tier_of_a_validated_memory_is_calibrated() -> None:
    far = far_device()
    results = [
        msgspec.structs.replace(each, models={"inversion": each.models["good"]})
        for each in made.several()
    ]
    report = pooled([made.session(tier=memory_tier(far), cpu_model=cpu_model())], results)
    (calibration,) = report.calibrations
    assert (calibration.kernels, calibration.level) == (12, 0.9)
    before = prediction(far)
    after = with_calibrations(before, [far], report.calibrations)
    assert after.devices[0].interval_calibrated
    total = after.devices[0].total
    assert total.slowdown == spread(before.devices[0].total.slowdown, calibration.margin)
    assert total.far_time_ns.high == pytest.approx(total.slowdown.high * total.near_time_ns.value)
    assert any("calibrated on 12 kernels" in text for text in after.devices[0].caveats)


@pytest.mark.parametrize("other", ["tier", "model", "cpu"])
def test_elsewhere_the_interval_contains_the_other_models(other: str) -> None:
    far = far_device()
    session = made.session(
        tier="elsewhere" if other == "tier" else memory_tier(far),
        cpu_model="another" if other == "cpu" else cpu_model(),
    )
    name = "xmem" if other == "model" else "inversion"
    results = [
        msgspec.structs.replace(each, models={name: each.models["good"]}) for each in made.several()
    ]
    report = pooled([session], results)
    assert calibration_for(report.calibrations, "inversion", far, cpu_model()) is None
    before = prediction(far)
    after = with_calibrations(before, [far], report.calibrations).devices[0]
    assert not after.interval_calibrated
    xmem = next(each for each in after.total.models if each.model == "xmem")
    assert after.total.slowdown.low <= xmem.slowdown <= after.total.slowdown.high
    assert after.total.slowdown.low <= before.devices[0].total.slowdown.low


def test_a_report_of_few_kernels_calibrates_nothing(tmp_path: Path) -> None:
    save(pooled([made.session()], made.several(5)), tmp_path / "few.json")
    with pytest.raises(NearfarError, match="too few kernels"):
        load_calibrations(tmp_path / "few.json")
