"""Intervals whose coverage was checked: what `nearfar validate` found, applied to a prediction.

An interval is called calibrated only for the kind of far memory that was validated. Elsewhere the
models' disagreement is what is known of their error, and the interval spans it, uncalibrated.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, hypot, log

from nearfar.base.statistics import Estimate
from nearfar.documents.device import DeviceProfile
from nearfar.documents.validation import Calibration

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
