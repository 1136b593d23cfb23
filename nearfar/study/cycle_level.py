"""Predictions against the cycle-level core: slowdowns that no ordinary machine can make.

The runs (ChampSim; the same instruction window at slower and slower memory) are shared beside
the repository and may be absent. A prediction uses the base level only: its cycles as near time,
its miss counts, and the device curves of base and of the slower level. What a profile would add,
access classes and accesses, is read off the kernels' source here, per kernel with its reason.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.statistics import Estimate
from nearfar.documents import DeviceProfile, producer
from nearfar.documents.device import (
    BandwidthFigure,
    ChainsFigure,
    LatencyFigure,
    Source,
)
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.interval import outcome
from nearfar.predict.model import DEFAULT_MODEL, MODELS, NAIVE_MODELS
from nearfar.predict.traffic import (
    CHASE,
    COLUMNS,
    HITS,
    INDEPENDENT,
    STORE,
    STORE_STREAM,
    STREAM,
    WRITE_BACK,
    WRITE_BACK_STREAM,
    PhaseTraffic,
)
from nearfar.study.study import SHARED

REFERENCE = SHARED / "reference/cycle-level/cycle-level.json"
CYCLES_PER_NS = 3.0
HIT_CYCLES = 5.0
"""The first-level cache's latency, as the reference's README states it."""
LEVELS = ("x1.5", "x2", "x3", "x4", "bw4")
CONFIGS = ("nopf", "pf")

READ_GB_PER_S = {"bw4": 6.1}
MIXED_GB_PER_S = {"bw4": 4.7}
"""What one core draws, reading and with half writes, as the reference's README states it; at all
other levels 10.5 (of 10-11.5) and 9.3."""

STREAM_LINES_IN_FLIGHT = 48
"""The second-level cache's miss registers, with prefetchers: bounds a stream's bandwidth."""


@dataclass(frozen=True)
class Kernel:
    """What a profile would say of a kernel beside its miss counts."""

    chase: float
    independent: float
    """Shares of the load misses; the rest are streams."""
    accesses: int
    """In the simulated window, counted from the source."""
    stores_stream: bool = False


KERNELS = {
    # One list walk; loads of value and next.
    "chase_arith": Kernel(1.0, 0.0, 3000 * 2),
    # A walk that also loads an object each: two misses a step, of which one is serial.
    "list_obj": Kernel(0.5, 0.5, 3333 * 3),
    # a[ix[i]]: 40,000 gathers and 2,500 lines of the index.
    "gather": Kernel(0.0, 0.93, 40_000 * 2),
    # a[random] ^= r: loads that miss, and the stores that hit behind them.
    "gups": Kernel(0.0, 1.0, 20_000 * 2),
    # Query, two probes on average, value on half: addresses computed from the query.
    "hash_open": Kernel(0.0, 1.0, 52_500),
    # Five nodes a lookup, 8.5 keys and a child in each.
    "btree": Kernel(1.0, 0.0, 126_000),
    # 22 steps a lookup; the address follows from compares, not from a load.
    "bsearch_br": Kernel(0.0, 1.0, 38_300),
    # Two loads, one store.
    "triad": Kernel(0.0, 0.0, 140_000 * 3, stores_stream=True),
    # Which of two streams advances depends on data: no constant stride to see.
    "merge": Kernel(0.0, 1.0, 66_667 * 3, stores_stream=True),
    # x[column] gathered; columns and values streamed.
    "spmv": Kernel(0.0, 0.8, 108_000, stores_stream=True),
}
FITTED = tuple(list(KERNELS)[::2])
"""Every second kernel in the file's order: what constants may be chosen on. The rest is held out.
The chains are the device's curve and `wchain*` its read-write probe: neither is judged."""


@dataclass(frozen=True)
class Case:
    """One prediction beside the truth."""

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
    """Return the reference runs, or say that they are not here."""
    if not reference.is_file():
        raise NearfarError(
            f"the cycle-level runs are not here ({reference.name} is shared beside the "
            "repository, in shared/reference/cycle-level)",
            ExitCode.MACHINE_LACKS,
        )
    found: dict[str, Any] = json.loads(reference.read_text())
    return found


def cases(reference: dict[str, Any], config: str, level: str) -> list[Case]:
    """Predict every judged kernel at one level."""
    near = near_memory(device(reference, config, "base"))
    far = far_memory(device(reference, config, level), near)
    kind = MODELS.get(DEFAULT_MODEL)
    found = []
    for name in KERNELS:
        phase = traffic(reference, config, name)
        runs = reference["runs"][config][name]
        truth = runs[level][0] / runs["base"][0]
        predicted = {
            model: float(MODELS.get(model)(phase, near, far).times_ns(phase.total))
            / phase.near_time_ns.value
            for model in (DEFAULT_MODEL, *NAIVE_MODELS)
        }
        interval = outcome(kind, phase, near, far, kind(phase, near, far)).slowdown
        found.append(Case(name, level, truth, predicted, interval))
    return found


def device(reference: dict[str, Any], config: str, level: str) -> DeviceProfile:
    """Return one level's memory as its curves and the README's bandwidths describe it."""
    curve = reference["device_curve"][config][level]
    had: dict[str, Any] = {"how": "measured", "source": "runs"}
    latency_ns = curve["1"]["ns_per_miss"]
    read = READ_GB_PER_S.get(level, 10.5)
    stream = (
        64.0 / curve["32"]["ns_per_miss"]
        if config == "nopf"
        else min(read, STREAM_LINES_IN_FLIGHT * 64.0 / latency_ns)
    )
    return DeviceProfile(
        producer=producer(),
        name=f"cycle-level-{level}",
        title=f"cycle-level core, {level}",
        technology="emulated",
        sources={"runs": Source(citation="ChampSim runs shared with the project")},
        latency=[
            LatencyFigure(value_ns=latency_ns, **had),
            LatencyFigure(region_bytes=32 << 10, value_ns=HIT_CYCLES / CYCLES_PER_NS, **had),
        ],
        bandwidth=[
            BandwidthFigure(value_gb_per_s=stream, threads=1, **had),
            BandwidthFigure(value_gb_per_s=read, threads=2, **had),
            BandwidthFigure(
                operation="mixed",
                read_share=0.5,
                value_gb_per_s=MIXED_GB_PER_S.get(level, 9.3),
                **had,
            ),
        ],
        chains=[
            ChainsFigure(chains=int(k), value_ns=point["ns_per_miss"], **had)
            for k, point in curve.items()
        ],
    )


def traffic(reference: dict[str, Any], config: str, name: str) -> PhaseTraffic:
    """Return a kernel's traffic: counts of the run without prefetchers, time of `config`'s."""
    fields = {field: i for i, field in enumerate(reference["run_fields"])}
    counted = reference["runs"]["nopf"][name]["base"]
    timed = reference["runs"][config][name]["base"]
    kernel = KERNELS[name]
    loads, stores = counted[fields["llc_load_miss"]], counted[fields["llc_rfo_miss"]]
    row = np.zeros((1, COLUMNS))
    row[0, CHASE] = loads * kernel.chase
    row[0, INDEPENDENT] = loads * kernel.independent
    row[0, STREAM] = loads - row[0, CHASE] - row[0, INDEPENDENT]
    row[0, STORE_STREAM if kernel.stores_stream else STORE] = stores
    written = WRITE_BACK_STREAM if kernel.stores_stream else WRITE_BACK
    row[0, written] = counted[fields["dram_wr"]]
    latency_bound = (row[0, CHASE] + row[0, INDEPENDENT]) / max(loads, 1)
    row[0, HITS] = max(0.0, kernel.accesses - loads - stores) * latency_bound
    near_ns = timed[fields["cycles"]] / CYCLES_PER_NS
    return PhaseTraffic(name, Estimate(near_ns, near_ns, near_ns), 1.0, None, row, 0.0)
