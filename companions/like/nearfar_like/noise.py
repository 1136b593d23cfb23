"""How much the values of a run vary, and what the machine did meanwhile: the last line of a run.

Limit and figures are those of `nearfar measure`: A/A noise floor, clock drift, contention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from nearfar.devices.quality import BANDWIDTH_KIND, MAX_ERROR, MeasurementQuality
from nearfar.measure.figures import MAX_HALF_WIDTH, noise_floors
from nearfar.measure.instrument import InstrumentWatch
from nearfar.measure.quiet import beyond_limit
from nearfar.samples.point import Sample, SamplePoint
from nearfar_like.repeat import summed

UNITS = {"ns": "ns", "mb_per_s": "MB/s", "gb_per_s": "GB/s"}
"""Units as printed, by the end of a field's name."""


@dataclass(frozen=True)
class ValueInterval:
    """A printed value with its 95 % interval, all in `unit`."""

    what: str
    """Name of the value, in lower case: scripts search the output for the tool's own names."""
    unit: str
    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the interval over the value."""
        return (self.high - self.low) / 2 / self.value if self.value > 0 else 0.0


@dataclass
class RunNoise:
    """The values of a run with their samples, and a watch on the machine where there is one."""

    simulated: str = ""
    """Name of the model that is measured; empty: this machine."""
    longer: str = ""
    """Option of the tool that takes more samples, such as ``-t SECONDS``."""
    watch: InstrumentWatch | None = None
    """Watch on the CPUs that measure; None: not watched."""
    _taken: dict[SamplePoint, list[Sample]] = field(default_factory=dict, init=False)
    _widest: ValueInterval | None = field(default=None, init=False)
    _measurements: int = field(default=0, init=False)

    def next(self) -> None:
        """Time the clock once before a measurement; takes 1 to 3 ms."""
        self._measurements += 1
        if self.watch is not None:
            self.watch.round(self._measurements)

    def samples(self, kind: Literal["latency", "bandwidth"], values: Sequence[float]) -> None:
        """Keep the samples of a value, in order."""
        if len(values) > 1 and min(values) > 0:
            point = SamplePoint(kind, "", 0, region_bytes=len(self._taken))
            self._taken[point] = [Sample(value) for value in values]

    def interval(self, what: str, estimate: Mapping[str, Any], unit: str) -> None:
        """Keep the interval of a printed value; `unit` ends the keys of `estimate`."""
        if estimate["samples"] < 2:
            return
        ends = (float(estimate[f"{end}_{unit}"]) for end in ("value", "low", "high"))
        made = ValueInterval(what.lower().replace("_", " "), UNITS[unit], *ends)
        if self._widest is None or made.half_width > self._widest.half_width:
            self._widest = made

    def value(self, what: str, values: Sequence[float], unit: str) -> None:
        """Keep the samples of a printed value, their median and its interval."""
        self.samples("latency" if unit == "ns" else "bandwidth", values)
        self.interval(what, summed(values, unit), unit)

    def fields(self) -> dict[str, Any]:
        """Return the noise until now for JSON; shares are of 1. ``text`` says it in a sentence."""
        facts = self._facts()
        drift, contention = (_number(facts, key) for key in ("frequency_drift", "cpu_pressure"))
        floors = noise_floors(self._taken)
        latency, bandwidth = (floors.get(kind, 0.0) for kind in ("latency", BANDWIDTH_KIND))
        quality = MeasurementQuality(latency, bandwidth, bandwidth, drift or 0.0, contention or 0.0)
        widest = self._widest
        made = {
            "simulated": bool(self.simulated),
            "noise_floors": floors,
            "clock_drift": drift,
            "contention": contention,
            "error": quality.error,
            "limit": MAX_ERROR,
            "beyond_limit": not self.simulated and quality.error > MAX_ERROR,
            "widest": widest and {
                "what": widest.what,
                "unit": widest.unit,
                "value": widest.value,
                "low": widest.low,
                "high": widest.high,
                "half_width": widest.half_width,
            },
        }  # fmt: skip
        return made | {"text": self._text(quality, drift, contention)}

    def _facts(self) -> dict[str, str]:
        verdicts = self.watch.verdicts() if self.watch is not None else []
        return {key: text for verdict in verdicts for key, text in verdict.facts.items()}

    def _text(
        self, quality: MeasurementQuality, drift: float | None, contention: float | None
    ) -> str:
        widest = self._widest
        if self.simulated:
            of_model = "" if widest is None else f", by +-{widest.half_width:.1%} at most"
            return (
                f"noise: values vary as {self.simulated} says{of_model}; the noise of this machine "
                "does not change them"
            )
        again = "measure again at a quieter time"
        if quality.drift_error < MAX_ERROR:  # more samples do not reduce drift
            again += f", or take more samples ({self.longer})"
        if verdict := beyond_limit(quality):
            return f"do not use these values: they were {verdict}: {again}"
        machine = f"clock drift {_share(drift)}, contention {_share(contention)}"
        if widest is None:
            return f"noise was not measured: every value is one sample; {machine}"
        noise = f"A/A noise floor {quality.floor:.1%}, {machine}"
        if widest.half_width <= MAX_HALF_WIDTH:
            return f"noise: 95% intervals are +-{widest.half_width:.1%} or less; {noise}"
        return (
            f"noise: the 95% interval of {widest.what} is +-{widest.half_width:.1%} "
            f"({widest.low:.1f} to {widest.high:.1f} {widest.unit}); {noise}: {again}"
        )


def _number(facts: Mapping[str, str], key: str) -> float | None:
    text = facts.get(key, "unknown")
    return None if text == "unknown" else float(text)


def _share(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.0%}"
