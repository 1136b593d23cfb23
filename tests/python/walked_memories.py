"""Memories measured with small and with large pages, and phases that wait for them."""

from __future__ import annotations

import msgspec
import numpy as np
import samples

from nearfar.base.estimate import Estimate
from nearfar.documents import DeviceProfile
from nearfar.documents.device import ChainsFigure, LatencyFigure
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.model import MODELS
from nearfar.predict.traffic import (
    CHASE,
    COLUMNS,
    PhaseMissCurve,
    PhaseTraffic,
)

HAD = {"how": "measured", "source": "here"}
HUGE, SMALL, MIB = 2 << 20, 4096, 1 << 20
MISSES = 1e6


def device(
    name: str, latency_ns: dict[int, float], chains_ns: dict[int, float], load: str = "none"
) -> DeviceProfile:
    """Return a device with latencies by region and chains by page size."""
    regions = [
        LatencyFigure(
            operation="read", pattern="random", region_bytes=region, value_ns=value, **HAD
        )
        for region, value in latency_ns.items()
    ]
    return msgspec.structs.replace(
        samples.device(name),
        latency=regions,
        chains=[
            ChainsFigure(chains=k, page_bytes=page, value_ns=ns / k, **HAD)
            for page, ns in chains_ns.items()
            for k in (1, 2, 4, 8)
        ],
        measured=samples.measured_here(f"dram,load={load}" if load != "none" else "dram"),
    )


NEAR = device("near", {MIB // 2: 5.0, 3 * MIB: 15.0, 128 * MIB: 150.0}, {HUGE: 150.0})


def far(third_ns: float = 15.0, load: str = "store") -> DeviceProfile:
    regions = {MIB // 2: 5.0, 3 * MIB: third_ns, 128 * MIB: 350.0}
    return device("far", regions, {HUGE: 200.0, SMALL: 350.0}, load)


def chase(walks_per_miss: float | None = 1.0, curve: PhaseMissCurve | None = None) -> PhaseTraffic:
    lines = np.zeros((1, COLUMNS))
    lines[0, CHASE] = MISSES
    ns = MISSES * 150.0
    return PhaseTraffic(
        "p", Estimate(ns, ns, ns), 1.0, None, lines, 0.0, walks_per_miss=walks_per_miss, curve=curve
    )


def slowdown(phase: PhaseTraffic, there: DeviceProfile, name: str = "inversion") -> float:
    near = near_memory(NEAR, HUGE)
    model = MODELS.get(name)(phase, near, far_memory(there, near, page_bytes=SMALL))
    return float(model.times_ns(phase.total)) / phase.near_time_ns.value


def by_regions(walks_ns: dict[int, float]) -> DeviceProfile:
    """Return far memory whose chases over some regions were measured with both page sizes."""
    there = far()
    latency = [
        LatencyFigure(
            operation="read",
            pattern="random",
            region_bytes=region,
            page_bytes=page,
            value_ns=200.0 + walk_ns * (page == SMALL),
            **HAD,
        )
        for region, walk_ns in walks_ns.items()
        for page in (SMALL, HUGE)
    ]
    return msgspec.structs.replace(there, latency=latency)


WALKS_NS = {32 * MIB: 30.0, 64 * MIB: 75.0, 128 * MIB: 150.0}
