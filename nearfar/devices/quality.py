"""Quality of a measurement: noise floors, clock drift, contention, and the errors they cause.

A figure has at least the error of the A/A floor of its kind, which is the difference of the two
halves of one measurement. 1 + drift is the machine's fastest over its slowest speed during the
measurement. A program's near time is measured at another time, at some speed in this range: the
error relative to the geometric middle is at most sqrt(1 + drift) - 1.
Contention is not an error of its own: if it disturbs the measurement, floor and drift grow.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, sqrt

from nearfar.documents.device import DeviceProfile, MeasuredContext

LATENCY_KINDS = ("latency", "chains")
BANDWIDTH_KIND = "bandwidth"
THREADS_KIND = "bandwidth-threads"
"""Kinds of points that give the figures of a prediction; bandwidths of one core, and of several."""

MAX_ERROR = 0.5
"""Error beyond which `nearfar measure` refuses. For a program that only waits, an error of this
size about doubles the interval on the tenth of the library's devices where it matters most (1.8
times by latency, 2.5 by bandwidth; a test computes it): beyond it, noise would decide the width."""

SEVERAL = 1.5
"""Mean number of running threads from which the bandwidth of several cores is the limit."""

FLOOR_KEY = "noise_floor_"
"""Prefix of a kind's floor in the environment of older documents."""


@dataclass(frozen=True)
class MeasurementQuality:
    """Noise of one measurement; shares of 1."""

    latency_floor: float
    """A/A floor of latencies and chains, the greater of both."""
    bandwidth_floor: float
    """A/A floor of the bandwidths of one core."""
    threads_floor: float
    """A/A floor of the bandwidths of several cores."""
    clock_drift: float
    """0 where it was not watched."""
    contention: float
    """0 where it is not known."""
    cache_range: tuple[float, float] = (1.0, 1.0)
    """Ends of the last-level cache that a core gets, over the size that is assumed."""

    @property
    def floor(self) -> float:
        """The greatest floor of the figures that every prediction uses."""
        return max(self.latency_floor, self.bandwidth_floor)

    def bandwidth_error(self, threads: float) -> float:
        """Return the error of the bandwidths of a program with so many running threads."""
        return self.bandwidth_floor if threads < SEVERAL else self.threads_floor

    @property
    def drift_error(self) -> float:
        """Error between figures and times measured at another moment."""
        return sqrt(1.0 + self.clock_drift) - 1.0

    @property
    def error(self) -> float:
        """Relative error of results from these figures and a time of another moment."""
        return hypot(self.floor, self.drift_error)


QUIET = MeasurementQuality(0.0, 0.0, 0.0, 0.0, 0.0)
"""Quality of published figures, whose errors depend only on their kind."""


def quality_of(device: DeviceProfile) -> MeasurementQuality:
    """Return the quality of a measured device; `QUIET` for a published one."""
    context = device.measured
    if context is None:
        return QUIET
    floors = context.noise_floors or {
        key.removeprefix(FLOOR_KEY): _number(text)
        for key, text in context.environment.items()
        if key.startswith(FLOOR_KEY)
    }
    ends, size = context.effective_llc_range, context.effective_llc_bytes
    of_threads = THREADS_KIND if THREADS_KIND in floors else BANDWIDTH_KIND
    return MeasurementQuality(
        _greatest(context, floors, LATENCY_KINDS),
        _greatest(context, floors, (BANDWIDTH_KIND,)),
        _greatest(context, floors, (of_threads,)),
        _known(context.clock_drift, context, "frequency_drift"),
        _known(context.contention, context, "cpu_pressure"),
        (ends[0] / size, ends[1] / size) if ends is not None and size else (1.0, 1.0),
    )


def _greatest(context: MeasuredContext, floors: dict[str, float], kinds: tuple[str, ...]) -> float:
    """Return the greatest floor of `kinds`; if none is known, the floor of all points."""
    known = [floors[kind] for kind in kinds if kind in floors]
    return max(known) if known else context.noise_floor


def _known(value: float | None, context: MeasuredContext, key: str) -> float:
    """Return `value`; older documents have it in their environment, under `key`."""
    return value if value is not None else _number(context.environment.get(key, ""))


def _number(text: str) -> float:
    """Return a number of at least 0; 0 for text that is no number, such as "unknown"."""
    try:
        return max(0.0, float(text))
    except ValueError:
        return 0.0
