"""The limit of noise: beyond it a measurement is refused, with the way to a quieter one."""

from __future__ import annotations

import math
import shlex

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.devices.quality import (
    BANDWIDTH_KIND,
    LATENCY_KINDS,
    MAX_ERROR,
    MeasurementQuality,
    quality_of,
)
from nearfar.documents import DeviceProfile
from nearfar.measure.figures import Samples, halves_differ_by, noise_floors
from nearfar.samples.point import SamplePoint

USED_KINDS = {*LATENCY_KINDS, BANDWIDTH_KIND}

LENGTHS = ("--seconds", "--repetitions")
"""Options, with a value, of how long a measurement takes."""


def is_noisy(samples: Samples) -> bool:
    """Return whether the floors alone exceed the limit."""
    floors = noise_floors(samples)
    return max((floors[kind] for kind in USED_KINDS & floors.keys()), default=0.0) > MAX_ERROR


def disputed(samples: Samples) -> list[SamplePoint]:
    """Return the points whose halves of samples differ by more than half of the limit."""
    differences = {point: halves_differ_by(taken) for point, taken in samples.items()}
    return [point for point, by in differences.items() if by is not None and by > MAX_ERROR / 2]


def refuse_noise(device: DeviceProfile, spent_s: float, *, resumable: bool) -> None:
    """Raise NearfarError where noise exceeds the limit for what predictions use.

    `resumable`: whether samples are kept, so that the same command can go on.
    """
    context, quality = device.measured, quality_of(device)
    if context is None or not USED_KINDS & context.noise_floors.keys():
        return
    if context.repetitions == 0:  # no surface: a prediction can use none of it
        return
    verdict = beyond_limit(quality)
    if not verdict:
        return
    seconds = needed_s(quality, max(spent_s, context.seconds))
    if seconds is None:
        again = f"measure again at a quieter time, about {_minutes(context.seconds)}"
    else:
        longer = _resume_command(device.producer.command, seconds) if resumable else ""
        again = f"take more rounds, {_minutes(seconds)} in all, with "
        again += f"`{longer}`" if longer else f"--seconds {seconds:.0f}"
    raise NearfarError(
        f"{context.memory_spec} was {verdict}: {again}; or "
        f"take it as it is with {'--resume ' if resumable else ''}--accept-noise, which makes "
        "intervals wider",
        ExitCode.MACHINE_LACKS,
    )


def noise_verdict(device: DeviceProfile) -> str:
    """Return why a profile should not be used, in a sentence; empty: noise is within the limit."""
    verdict = beyond_limit(quality_of(device))
    return verdict and f"do not use this profile: it was {verdict}"


def noise_unmeasured(device: DeviceProfile) -> str:
    """Return that a measurement has no measure of noise, and how to get one; empty: it has one."""
    context = device.measured
    if context is None or context.repetitions or context.noise_floors:
        return ""
    return (
        "noise was not measured, because no surface was: measure one too, such as with "
        "--only idle,inference"
    )


def beyond_limit(quality: MeasurementQuality) -> str:
    """Return "measured with ...", the noise and the limit; empty: noise is within the limit."""
    return "" if quality.error <= MAX_ERROR else f"measured with {_noise(quality)}"


def _noise(quality: MeasurementQuality) -> str:
    """Return the noise in words, without drift and contention where they are 0 or not known."""
    parts = [f"a noise floor of {quality.floor:.0%}"]
    if quality.clock_drift:
        parts.append(f"clock drift of {quality.clock_drift:.0%}")
    if quality.contention:
        parts.append(f"contention for {quality.contention:.0%} of the time")
    noise = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return f"{noise}, an error of {quality.error:.0%} where {MAX_ERROR:.0%} is the limit"


def needed_s(quality: MeasurementQuality, seconds: float) -> float | None:
    """Return the total time, s, after which the floor meets the limit if noise does not change.

    Medians of independent samples narrow with the square root of their number. None if drift alone
    exceeds the limit, because more rounds do not reduce drift.
    """
    if quality.drift_error >= MAX_ERROR:
        return None
    allowed = math.sqrt(MAX_ERROR**2 - quality.drift_error**2)
    return 10.0 * math.ceil(seconds * max(quality.floor / allowed, 1.0) ** 2 / 10.0)


def _minutes(seconds: float) -> str:
    return f"{max(1, round(seconds / 60))} min"


def _resume_command(command: str, seconds: float) -> str:
    """Return the command line that resumes the measurement until `seconds` are spent in total.

    Empty if `command` is not one of `nearfar measure`.
    """
    if not command.startswith("nearfar measure"):
        return ""
    words: list[str] = []
    dropped = False
    for word in shlex.split(command):
        if not dropped and word.partition("=")[0] not in (*LENGTHS, "--resume"):
            words.append(word)
        dropped = word in LENGTHS
    return shlex.join([*words, "--resume", "--seconds", f"{seconds:.0f}"])
