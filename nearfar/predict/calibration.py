"""Intervals whose coverage was checked: what `nearfar validate` found, applied to a prediction.

An interval is called calibrated only for the kind of far memory that was validated. Elsewhere the
models' disagreement is what is known of their error, and the interval spans it, uncalibrated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, hypot, log
from pathlib import Path

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.statistics import Estimate
from nearfar.documents import DeviceProfile, Prediction, ValidationReport, load
from nearfar.documents.prediction import DevicePrediction, PhasePrediction
from nearfar.documents.validation import Calibration
from nearfar.predict.model import NAIVE_MODELS

LEAST_SCALE = 0.03
"""Least relative half-width an interval is scaled from: medians of idle runs minutes apart moved
by 6 %, so no prediction is surer than half of that."""


def scale_of(slowdown: Estimate) -> float:
    """Return the half-width, of the logarithm, that a calibration's factor multiplies."""
    own = 0.0
    if slowdown.low > 0.0:
        own = (log(slowdown.high) - log(slowdown.low)) / 2
    return hypot(own, LEAST_SCALE)


def score_of(slowdown: Estimate, measured: float) -> float:
    """Return how many scales a measured slowdown is from the predicted one."""
    return abs(log(measured / slowdown.value)) / scale_of(slowdown)


def spread(slowdown: Estimate, factor: float) -> Estimate:
    """Return the interval of `factor` scales around a predicted slowdown."""
    ratio = exp(factor * scale_of(slowdown))
    return Estimate(slowdown.value, slowdown.value / ratio, slowdown.value * ratio)


def calibrated(slowdown: Estimate, calibration: Calibration) -> Estimate:
    """Return a predicted slowdown with an interval of `calibration.level` coverage."""
    return spread(slowdown, calibration.factor)


def widened(slowdown: Estimate, others: Iterable[float]) -> Estimate:
    """Return the interval stretched to hold what other models predict; uncalibrated."""
    found = [slowdown.low, slowdown.high, *others]
    return Estimate(slowdown.value, min(found), max(found))


def tier_of(far: DeviceProfile) -> str:
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
    tier = tier_of(far)
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
    devices = []
    for device, far in zip(prediction.devices, fars, strict=True):
        one = calibration_for(calibrations, prediction.model, far, prediction.producer.cpu_model)
        devices.append(_calibrated(device, one) if one is not None else _widened(device, far))
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


def _widened(device: DevicePrediction, far: DeviceProfile) -> DevicePrediction:
    def wider(phase: PhasePrediction) -> PhasePrediction:
        others = [other.slowdown for other in phase.models if other.model not in NAIVE_MODELS]
        return _with_interval(phase, widened(phase.slowdown, others))

    return msgspec.structs.replace(
        device,
        phases=[wider(phase) for phase in device.phases],
        total=wider(device.total),
        caveats=[
            *device.caveats,
            f"intervals are not calibrated for this kind of memory ({tier_of(far)}) on this "
            "processor: they span what the models shown say",
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
