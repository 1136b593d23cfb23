"""Predictions against a cycle-level simulator, which can slow memory more than any machine.

The reference runs (ChampSim; the same instruction window with increasingly slow memory) are in
`reference/`. A prediction uses nearfar's own profile of each kernel with its own counts, the base
level's cycles as near time, and the device curves of the base and the slower level. All kernels of
the runs are judged.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES
from nearfar.devices.cores import completed_core, load_core
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
from nearfar.predict.traffic import PhaseTraffic, misses, write_backs
from nearfar_studies.cycle_profiles import REGION

REFERENCE = Path(__file__).with_name("reference") / "cycle-level.json"
CYCLES_PER_NS = 3.0
HIT_CYCLES = 5.0
"""Latency of the first-level cache, from the reference's README."""
LEVELS = ("x1.5", "x2", "x3", "x4", "bw4")
CONFIGS = ("nopf", "pf")

READ_GB_PER_S = {"bw4": 6.1}
MIXED_GB_PER_S = {"bw4": 4.7}
"""Bandwidth that one core uses for reads and for half writes, from the reference's README; at all
other levels 10.5 (of 10-11.5) and 9.3."""

CORE = "champsim-reference"
"""The simulated core in the library."""

PREFETCHED_GB_PER_S = 10.75
"""Bandwidth of a prefetched stream at base level: the middle of 10-11.5. At the other levels the
stream has as many lines in flight as the last point of the chains curve."""
UNPREFETCHED_LINES = 10.0
"""Lines in flight of a sequential read without prefetchers: a loop with four instructions per 8
bytes has 32 per line, and the README's window holds 320."""

SEEN = (
    "the form of the rules and the constants of the intervals were chosen with all ten kernels of "
    "the shared runs known: their errors are not held-out errors"
)
"""The status of these kernels, which the study and its docs state."""

DEVICE_KERNELS = re.compile(r"w?chain\d+")
"""Runs that give the devices' curves and their read-write probe: they are not judged."""


@dataclass(frozen=True)
class CyclePrediction:
    """One prediction and the true value."""

    kernel: str
    level: str
    truth: float
    predicted: dict[str, float]
    """Slowdown by model."""
    interval: Estimate
    """Interval of the default model's slowdown."""

    @property
    def covered(self) -> bool:
        """Whether the interval contains the true value."""
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


@dataclass(frozen=True)
class CountComparison:
    """Counts of one kernel: the profile's, and those of the core without prefetchers."""

    kernel: str
    misses: float
    true_misses: int
    """Loads and stores that missed the last level."""
    write_backs: float
    true_write_backs: int

    @property
    def error(self) -> float:
        """Relative error of the misses."""
        return self.misses / self.true_misses - 1.0 if self.true_misses else 0.0


def counts(
    reference: dict[str, Any], profiled: Mapping[str, WorkloadProfile]
) -> list[CountComparison]:
    """Compare the counts of every judged kernel."""
    field = {name: place for place, name in enumerate(reference["run_fields"])}
    compared = []
    for name in kernels(reference):
        simulated = reference["runs"]["nopf"][name]["base"]
        (region,) = phases_of(profiled[name], [REGION])
        compared.append(
            CountComparison(
                kernel=name,
                misses=float(misses(region.total)),
                true_misses=simulated[field["llc_load_miss"]] + simulated[field["llc_rfo_miss"]],
                write_backs=float(write_backs(region.total)),
                true_write_backs=simulated[field["dram_wr"]],
            )
        )
    return compared


def cases(
    reference: dict[str, Any], profiled: Mapping[str, WorkloadProfile], config: str, level: str
) -> list[CyclePrediction]:
    """Predict every judged kernel at one level, with every model that can move all data."""
    core = completed_core(load_core(CORE))
    near = near_memory(device(reference, config, "base"), core=core)
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
    """Return one level's memory, from its curves and the README's bandwidths."""
    curve = reference["device_curve"][config][level]
    provenance: dict[str, Any] = {"how": "measured", "source": "runs"}
    latency_ns = curve["1"]["ns_per_miss"]
    read = READ_GB_PER_S.get(level, 10.5)
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
            BandwidthFigure(
                value_gb_per_s=_stream_gb_per_s(curve, config, level), threads=1, **provenance
            ),
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


def _stream_gb_per_s(curve: dict[str, dict[str, float]], config: str, level: str) -> float:
    """Return the bandwidth of one core's sequential read, from the chains and the README alone."""
    if config != "nopf":
        last_point_ns = curve[max(curve, key=int)]["ns_per_miss"]
        return PREFETCHED_GB_PER_S if level == "base" else LINE_BYTES / last_point_ns
    chains = sorted(int(k) for k in curve)
    log_ns = [math.log(curve[str(k)]["ns_per_miss"]) for k in chains]
    return LINE_BYTES / math.exp(
        np.interp(math.log(UNPREFETCHED_LINES), [math.log(k) for k in chains], log_ns)
    )


def traffic(
    reference: dict[str, Any], profiled: WorkloadProfile, config: str, name: str
) -> PhaseTraffic:
    """Return a kernel's traffic: its profile's counts, and the time of `config`'s run."""
    timed = reference["runs"][config][name]["base"]
    (region,) = phases_of(profiled, [REGION])
    near_ns = timed[reference["run_fields"].index("cycles")] / CYCLES_PER_NS
    return replace(
        region, name=name, near_time_ns=Estimate(near_ns, near_ns, near_ns), concurrency=1.0
    )
