"""Intervals whose coverage was checked: what `nearfar validate` found, applied to a prediction.

An interval is called calibrated only for the kind of far memory that was validated. Elsewhere it
is uncalibrated: no narrower than where the model was validated, and spanning what the other models
shown say. Without any validation it is what `interval` says, a part of the way to the models that
bracket the default one included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, inf, log
from pathlib import Path

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.documents import DeviceProfile, Prediction, ValidationReport, load
from nearfar.documents.prediction import DevicePrediction, PhasePrediction
from nearfar.documents.validation import Calibration
from nearfar.predict.model import NAIVE_MODELS


def conformity_score(slowdown: Estimate, measured: float) -> float:
    """Return how far a measured slowdown lies outside the predicted interval, as a logarithm.

    Below 0 where it lies inside: how far from the nearer end (conformalised quantile regression,
    Romano, Patterson and Candes, NeurIPS 2019). Multiples of the interval's width were worse: on a
    noisy machine one narrow interval that missed made the wide ones reach to a hundredfold.
    """
    below = log(slowdown.low / measured) if slowdown.low > 0.0 else -inf
    return max(below, log(measured / slowdown.high))


def spread(slowdown: Estimate, margin: float) -> Estimate:
    """Return the interval with both ends moved outwards by a `margin` (logarithm of a ratio).

    Below 0 they move inwards, to the predicted value at most.
    """
    return Estimate(
        slowdown.value,
        min(slowdown.value, slowdown.low / exp(margin)),
        max(slowdown.value, slowdown.high * exp(margin)),
    )


def calibrated(slowdown: Estimate, calibration: Calibration) -> Estimate:
    """Return a predicted slowdown with an interval of `calibration.level` coverage."""
    return spread(slowdown, calibration.margin)


def widened(slowdown: Estimate, others: Iterable[float]) -> Estimate:
    """Return the interval stretched to hold what other models predict; uncalibrated."""
    found = [slowdown.low, slowdown.high, *others]
    return Estimate(slowdown.value, min(found), max(found))


def memory_tier(far: DeviceProfile) -> str:
    """Return the kind of a far memory: its technology, and what a stand-in is made of.

    ``cxl``, ``remote-dram``, ``pmem``; ``dram pages=4k load=store``: slower by page walks and a
    contending core, which is no far memory's way to be slow.
    """
    spec = far.measured.memory_spec if far.measured is not None else ""
    options = [part for part in spec.split(",")[1:] if part.split("=")[0] in ("pages", "load")]
    if far.technology == "dram" or any(part.startswith("load=") for part in options):
        return " ".join([far.technology, *options])
    return far.technology


def calibration_for(
    calibrations: Iterable[Calibration], model: str, far: DeviceProfile, cpu_model: str
) -> Calibration | None:
    """Return the calibration of `model` for this kind of memory on this processor, if any."""
    tier = memory_tier(far)
    for one in calibrations:
        if (one.model, one.tier) == (model, tier) and cpu_model in one.cpu_models:
            return one
    return None


def load_calibrations(path: Path) -> list[Calibration]:
    """Return what a report of `nearfar validate` calibrates; refuses one of too few kernels."""
    found = load(path, ValidationReport).calibrations
    if not found:
        raise NearfarError(
            f"{path} calibrates nothing: too few kernels were validated; validate all of them"
        )
    return found


def with_calibrations(
    prediction: Prediction, fars: Sequence[DeviceProfile], calibrations: Sequence[Calibration]
) -> Prediction:
    """Return a prediction with calibrated intervals, where its far memories are of that kind.

    Elsewhere intervals are widened to hold what the other models shown say, and stay uncalibrated.
    `fars` are the devices predicted, in their order.
    """
    # What intervals of the model had to be widened by elsewhere is the least that is known here.
    asked = max([0.0, *(one.margin for one in calibrations if one.model == prediction.model)])
    devices = []
    for device, far in zip(prediction.devices, fars, strict=True):
        one = calibration_for(calibrations, prediction.model, far, prediction.producer.cpu_model)
        devices.append(
            _calibrated(device, one) if one is not None else _widened(device, far, asked)
        )
    return msgspec.structs.replace(prediction, devices=devices)


def _calibrated(device: DevicePrediction, one: Calibration) -> DevicePrediction:
    return msgspec.structs.replace(
        device,
        phases=[_with_interval(phase, calibrated(phase.slowdown, one)) for phase in device.phases],
        total=_with_interval(device.total, calibrated(device.total.slowdown, one)),
        interval_calibrated=True,
        caveats=[
            *device.caveats,
            f"intervals are of {one.level:.0%}, calibrated on {one.kernels} kernels in "
            f"{one.sessions} session{'s' if one.sessions > 1 else ''} with far memory of this "
            f"kind ({one.tier})",
        ],
    )


def _widened(device: DevicePrediction, far: DeviceProfile, margin: float) -> DevicePrediction:
    def wider(phase: PhasePrediction) -> PhasePrediction:
        others = [other.slowdown for other in phase.models if other.model not in NAIVE_MODELS]
        return _with_interval(phase, widened(spread(phase.slowdown, margin), others))

    return msgspec.structs.replace(
        device,
        phases=[wider(phase) for phase in device.phases],
        total=wider(device.total),
        caveats=[
            *device.caveats,
            f"intervals are not calibrated for this kind of memory ({memory_tier(far)}) on this "
            f"processor: their ends lie {exp(margin) - 1.0:.0%} further out than without "
            "validation, and they span what the models shown say",
        ],
    )


def _with_interval(phase: PhasePrediction, slowdown: Estimate) -> PhasePrediction:
    near_ns = phase.near_time_ns.value
    operations = phase.operations
    time = Estimate(phase.far_time_ns.value, slowdown.low * near_ns, slowdown.high * near_ns)
    per_operation = phase.far_ns_per_operation
    if per_operation is not None and operations:
        per_operation = Estimate(per_operation.value, time.low / operations, time.high / operations)
    return msgspec.structs.replace(
        phase, slowdown=slowdown, far_time_ns=time, far_ns_per_operation=per_operation
    )
