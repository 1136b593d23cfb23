"""Noise of the measurements behind a prediction, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nearfar.base.estimate import Estimate
from nearfar.devices.quality import QUIET, MeasurementQuality, quality_of
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.noise import MeasurementNoise
from nearfar.predict.interval import MODEL_ERROR, FarEstimate
from nearfar.predict.traffic import PhaseTraffic

MIN_WIDENING = 1.01
"""Ratio of interval widths, with and without noise, from which the sentence names it."""


def measurement_noise(
    workload: WorkloadProfile,
    phases: Sequence[PhaseTraffic],
    near: DeviceProfile,
    fars: Sequence[DeviceProfile],
    estimates: Iterable[Sequence[FarEstimate]],
) -> MeasurementNoise | None:
    """Return the noise of the measurements; None where each is below the model's own error.

    `estimates` has those of all phases, for each far memory.
    """
    device = max((near, *fars), key=lambda device: quality_of(device).error)
    quality = quality_of(device)
    time = _spread([phase.near_time_ns for phase in phases])
    runs = _repetitions(workload, phases)
    if max(quality.error, time) <= MODEL_ERROR:
        return None
    estimates = list(estimates)
    widening = max((_widening(phases, each) for each in estimates), default=1.0)
    effect = _effect(widening)
    if time > MODEL_ERROR:
        spread = max((_spread([e.far_time_ns for e in each]) for each in estimates), default=time)
        effect = f"{effect}, and those of far times reach +-{spread:.0%}"
    role = "near" if device is near else "far"
    parts = [] if quality == QUIET else [f"{role} memory {device.name} was {_measured(quality)}"]
    if time > MODEL_ERROR and runs == 0:
        parts.append(f"near time is predicted, within +-{time:.0%}")
    elif time > MODEL_ERROR:
        parts.append(f"near time varied by +-{time:.0%} over {runs} repetitions")
    elif runs == 1:
        parts.append("near time was measured once, so its spread is not known")
    return MeasurementNoise(
        memory=device.name,
        noise_floor=quality.floor,
        clock_drift=quality.clock_drift,
        contention=quality.contention,
        near_time=time,
        widening=widening,
        sentence=f"{'; '.join(parts)}: {effect}; {_remedy(device, quality, time, runs)}",
    )


def _measured(quality: MeasurementQuality) -> str:
    floors = {"latency": quality.latency_floor, "bandwidth": quality.bandwidth_floor}
    each = ", ".join(f"{name} {floor:.0%}" for name, floor in floors.items())
    return (
        f"measured with a noise floor of {quality.floor:.0%} ({each}), clock drift of "
        f"{quality.clock_drift:.0%} and contention for {quality.contention:.0%} of the time"
    )


def _effect(widening: float) -> str:
    if widening < MIN_WIDENING:
        return "the intervals of slowdowns are hardly wider for that"
    return (
        f"the intervals of slowdowns are up to {widening:.2f} times as wide as after quiet "
        "measurements"
    )


def _remedy(device: DeviceProfile, quality: MeasurementQuality, time: float, runs: int) -> str:
    context = device.measured
    if runs == 0 and quality.error < time:
        return "give the near time measured there (--near-time)"
    if context is None or quality.error < time:
        return "profile again on a quieter machine"
    minutes = max(1, round(context.seconds / 60))
    return f"measure {device.name} again at a quieter time (about {minutes} min)"


def _spread(times: Sequence[Estimate]) -> float:
    """Return the relative half-width of the sum of all phases' times."""
    total = sum(time.value for time in times)
    return sum(time.high - time.low for time in times) / 2.0 / total if total > 0.0 else 0.0


def _repetitions(workload: WorkloadProfile, phases: Sequence[PhaseTraffic]) -> int:
    """Return the smallest number of repetitions of any phase's near time; 0: not measured."""
    names = {phase.name for phase in phases}
    counts = [phase.near_repetitions for phase in workload.phases if phase.name in names]
    return min(counts, default=0)


def _widening(phases: Sequence[PhaseTraffic], estimates: Sequence[FarEstimate]) -> float:
    """Return the width of the whole run's interval with noise over the width without noise."""
    with_noise = without = 0.0
    for phase, estimate in zip(phases, estimates, strict=True):
        near_ns, quiet = phase.near_time_ns.value, estimate.quiet_slowdown
        with_noise += near_ns * (estimate.slowdown.high - estimate.slowdown.low)
        without += near_ns * (quiet.high - quiet.low)
    return with_noise / without if without > 0.0 else 1.0
