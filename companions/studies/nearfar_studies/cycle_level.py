"""Predictions against the cycle-level core: slowdowns that no ordinary machine can make.

The runs (ChampSim; the same instruction window at slower and slower memory) are in `reference/`.
A prediction uses nearfar's own profile of each kernel, the base
level's cycles as near time, and the device curves of base and of the slower level. The kernels
judged are those of the runs, whichever they are; the profile counts a whole region, of which the
runs simulate a window: counts are scaled by the misses without prefetchers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nearfar.base.estimate import Estimate
from nearfar.documents import DeviceProfile, WorkloadProfile, producer
from nearfar.documents.device import (
    BandwidthFigure,
    ChainsFigure,
    LatencyFigure,
    Source,
)
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.interval import far_estimate
from nearfar.predict.model import DEFAULT_MODEL, MODELS, usable_models
from nearfar.predict.phases import phases_of
from nearfar.predict.traffic import PhaseTraffic, misses
from nearfar_studies.cycle_profiles import REGION

REFERENCE = Path(__file__).with_name("reference") / "cycle-level.json"
CYCLES_PER_NS = 3.0
HIT_CYCLES = 5.0
"""The first-level cache's latency, as the reference's README states it."""
LEVELS = ("x1.5", "x2", "x3", "x4", "bw4")
CONFIGS = ("nopf", "pf")

READ_GB_PER_S = {"bw4": 6.1}
MIXED_GB_PER_S = {"bw4": 4.7}
"""Bandwidth that one core draws, reading and with half writes, as the reference's README states it;
at all other levels 10.5 (of 10-11.5) and 9.3."""

DEVICE_KERNELS = re.compile(r"w?chain\d+")
"""The runs that are the devices' curves and their read-write probe: they are not judged."""


@dataclass(frozen=True)
class CyclePrediction:
    """One prediction and the truth."""

    kernel: str
    level: str
    truth: float
    predicted: dict[str, float]
    """Slowdown by model."""
    interval: Estimate
    """The default model's, of the slowdown."""

    @property
    def covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.interval.low <= self.truth <= self.interval.high

    def error(self, model: str) -> float:
        """Relative error of the slowdown."""
        return self.predicted[model] / self.truth - 1.0


def load(reference: Path = REFERENCE) -> dict[str, Any]:
    """Return the reference runs."""
    runs: dict[str, Any] = json.loads(reference.read_text())
    return runs


def kernels(reference: dict[str, Any]) -> list[str]:
    """Return the judged kernels, in the file's order."""
    return [name for name in reference["runs"]["nopf"] if not DEVICE_KERNELS.fullmatch(name)]


def fitted(reference: dict[str, Any]) -> list[str]:
    """Return every second kernel: what constants may be chosen on. The rest is held out."""
    return kernels(reference)[::2]


def cases(
    reference: dict[str, Any], profiled: Mapping[str, WorkloadProfile], config: str, level: str
) -> list[CyclePrediction]:
    """Predict every judged kernel at one level, with every model that can and moves all."""
    near = near_memory(device(reference, config, "base"))
    far = far_memory(device(reference, config, level), near)
    kind = MODELS.get(DEFAULT_MODEL)
    predictions = []
    for name in kernels(reference):
        phase = traffic(reference, profiled[name], config, name)
        runs = reference["runs"][config][name]
        truth = runs[level][0] / runs["base"][0]
        predicted = {
            model.name: float(model.times_ns(phase.total)) / phase.near_time_ns.value
            for model in usable_models(MODELS.names(), phase, near, far)[0]
            if model.everything_far
        }
        interval = far_estimate(kind, phase, near, far, kind(phase, near, far)).slowdown
        predictions.append(CyclePrediction(name, level, truth, predicted, interval))
    return predictions


def device(reference: dict[str, Any], config: str, level: str) -> DeviceProfile:
    """Return one level's memory as its curves and the README's bandwidths describe it."""
    curve = reference["device_curve"][config][level]
    provenance: dict[str, Any] = {"how": "measured", "source": "runs"}
    latency_ns = curve["1"]["ns_per_miss"]
    read = READ_GB_PER_S.get(level, 10.5)
    stream = reference["bandwidth_read_write_GBps"][config][level]["sum"][0]
    return DeviceProfile(
        producer=producer(),
        name=f"cycle-level-{level}",
        title=f"cycle-level core, {level}",
        technology="emulated",
        sources={"runs": Source(citation="ChampSim runs shared with the project")},
        latency=[
            LatencyFigure(value_ns=latency_ns, **provenance),
            LatencyFigure(region_bytes=32 << 10, value_ns=HIT_CYCLES / CYCLES_PER_NS, **provenance),
        ],
        bandwidth=[
            BandwidthFigure(value_gb_per_s=stream, threads=1, **provenance),
            BandwidthFigure(value_gb_per_s=read, threads=2, **provenance),
            BandwidthFigure(
                operation="mixed",
                read_share=0.5,
                value_gb_per_s=MIXED_GB_PER_S.get(level, 9.3),
                **provenance,
            ),
        ],
        chains=[
            ChainsFigure(chains=int(k), value_ns=point["ns_per_miss"], **provenance)
            for k, point in curve.items()
        ],
    )


def traffic(
    reference: dict[str, Any], profiled: WorkloadProfile, config: str, name: str
) -> PhaseTraffic:
    """Return a kernel's traffic: its profile's, scaled to the window; the time of `config`'s."""
    fields = {field: i for i, field in enumerate(reference["run_fields"])}
    counted = reference["runs"]["nopf"][name]["base"]
    timed = reference["runs"][config][name]["base"]
    (region,) = phases_of(profiled, [REGION])
    window = counted[fields["llc_load_miss"]] + counted[fields["llc_rfo_miss"]]
    region_misses = float(misses(region.total))
    near_ns = timed[fields["cycles"]] / CYCLES_PER_NS
    return replace(
        region,
        name=name,
        near_time_ns=Estimate(near_ns, near_ns, near_ns),
        concurrency=1.0,
        objects=region.objects * (window / region_misses if region_misses else 0.0),
    )
