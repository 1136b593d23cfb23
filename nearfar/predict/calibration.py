"""Intervals whose coverage was checked: what `nearfar validate` found, applied to a prediction.

An interval is called calibrated only for the kind of far memory that was validated. Elsewhere it
is uncalibrated: no narrower than where the model was validated, and spanning what the other models
shown say. Without any validation it is what `interval` says, a part of the way to the models that
bracket the default one included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Scale:
    """How far off a prediction may be, as logarithms of ratios, each side for itself.

    Sides differ: a program that hides its misses can be much slower than predicted, hardly faster.
    On the cycle-level core intervals scaled so cost a fifth less than with both sides' mean.
    """

    down: float
    up: float


def scale_of(slowdown: Estimate) -> Scale:
    """Return the half-widths that a calibration's factor multiplies."""
    if slowdown.low <= 0.0:
        return Scale(LEAST_SCALE, LEAST_SCALE)
    return Scale(
        hypot(log(slowdown.value / slowdown.low), LEAST_SCALE),
        hypot(log(slowdown.high / slowdown.value), LEAST_SCALE),
    )


def score_of(slowdown: Estimate, measured: float) -> float:
    """Return how many scales a measured slowdown is from the predicted one."""
    scale, apart = scale_of(slowdown), log(measured / slowdown.value)
    return apart / scale.up if apart >= 0.0 else -apart / scale.down


def spread(slowdown: Estimate, factor: float) -> Estimate:
    """Return the interval of `factor` scales around a predicted slowdown."""
    scale = scale_of(slowdown)
    return Estimate(
        slowdown.value,
        slowdown.value / exp(factor * scale.down),
        slowdown.value * exp(factor * scale.up),
    )


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
    # What intervals of the model had to be widened by elsewhere is the least that is known here.
    asked = max([1.0, *(one.factor for one in calibrations if one.model == prediction.model)])
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


def _widened(device: DevicePrediction, far: DeviceProfile, factor: float) -> DevicePrediction:
    def wider(phase: PhasePrediction) -> PhasePrediction:
        others = [other.slowdown for other in phase.models if other.model not in NAIVE_MODELS]
        return _with_interval(phase, widened(spread(phase.slowdown, factor), others))

    return msgspec.structs.replace(
        device,
        phases=[wider(phase) for phase in device.phases],
        total=wider(device.total),
        caveats=[
            *device.caveats,
            f"intervals are not calibrated for this kind of memory ({tier_of(far)}) on this "
            f"processor: they are {factor:.2g} times as wide as without validation, and span what "
            "the models shown say",
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
