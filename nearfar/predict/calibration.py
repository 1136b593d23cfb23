"""Intervals with measured coverage: the results of `nearfar validate`, applied to a prediction.

An interval is called calibrated only for the kind of far memory that was validated. For other kinds
it is uncalibrated: widened by the largest margin that any validated kind needs, and to cover the
other models shown. Without any validation it is the interval of `interval`, which includes part of
the way to the models that bracket the default one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, inf, log
from pathlib import Path

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.base.units import format_count
from nearfar.documents import DeviceProfile, Prediction, ValidationReport, load
from nearfar.documents.prediction import DevicePrediction, PhasePrediction
from nearfar.documents.validation import Calibration
from nearfar.predict.model import NAIVE_MODELS


def conformity_score(slowdown: Estimate, measured: float) -> float:
    """Return how far a measured slowdown lies outside the predicted interval, as a logarithm.

    The score is negative inside the interval: the distance from the nearer end (conformalised
    quantile regression, Romano, Patterson and Candes, NeurIPS 2019). Scores in multiples of the
    interval's width were worse: on a noisy machine, one narrow interval that missed widened wide
    intervals a hundredfold.
    """
    below = log(slowdown.low / measured) if slowdown.low > 0.0 else -inf
    return max(below, log(measured / slowdown.high))


def spread(slowdown: Estimate, margin: float) -> Estimate:
    """Return the interval with both ends moved outwards by a `margin` (logarithm of a ratio).

    A negative margin moves them inwards, to the predicted value at most.
    """
    return Estimate(
        slowdown.value,
        min(slowdown.value, slowdown.low / exp(margin)),
        max(slowdown.value, slowdown.high * exp(margin)),
    )


def widened(slowdown: Estimate, others: Iterable[float]) -> Estimate:
    """Return the interval widened to cover what other models predict."""
    ends = [slowdown.low, slowdown.high, *others]
    return Estimate(slowdown.value, min(ends), max(ends))


def memory_tier(far: DeviceProfile) -> str:
    """Return the kind of a far memory: its technology, and what emulates it.

    ``cxl``, ``remote-dram``, ``pmem``; ``dram pages=4k load=store``: slowed down by page walks and
    a contending core, which is not how far memory is slow.
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
    for calibration in calibrations:
        same = (calibration.model, calibration.tier) == (model, tier)
        if same and cpu_model in calibration.cpu_models:
            return calibration
    return None


def load_calibrations(path: Path) -> list[Calibration]:
    """Return the calibrations in a report of `nearfar validate`.

    Raises NearfarError for a report with too few kernels.
    """
    calibrations = load(path, ValidationReport).calibrations
    if not calibrations:
        raise NearfarError(
            f"{path} calibrates nothing: too few kernels were validated; validate all of them"
        )
    return calibrations


def with_calibrations(
    prediction: Prediction, fars: Sequence[DeviceProfile], calibrations: Sequence[Calibration]
) -> Prediction:
    """Return a prediction with calibrated intervals for far memories of a validated kind.

    Other intervals are widened to cover the other models shown, and stay uncalibrated. `fars` are
    the predicted devices, in their order.
    """
    # The margin that the model needed elsewhere is the minimum here.
    margins = [entry.margin for entry in calibrations if entry.model == prediction.model]
    margin = max([0.0, *margins])
    cpu_model = prediction.producer.cpu_model
    devices = []
    for device, far in zip(prediction.devices, fars, strict=True):
        calibration = calibration_for(calibrations, prediction.model, far, cpu_model)
        devices.append(
            _calibrated(device, calibration)
            if calibration is not None
            else _widened(device, far, margin)
        )
    return msgspec.structs.replace(prediction, devices=devices)


def _calibrated(device: DevicePrediction, calibration: Calibration) -> DevicePrediction:
    def with_margin(phase: PhasePrediction) -> PhasePrediction:
        return _with_interval(phase, spread(phase.slowdown, calibration.margin))

    return msgspec.structs.replace(
        device,
        phases=[with_margin(phase) for phase in device.phases],
        total=with_margin(device.total),
        interval_calibrated=True,
        caveats=[
            *device.caveats,
            f"intervals cover {calibration.level:.0%}, calibrated on {calibration.kernels} kernels "
            f"in {format_count(calibration.sessions, 'session')} with far "
            f"memory of this kind ({calibration.tier})",
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
            "validation, and they span the models shown",
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
