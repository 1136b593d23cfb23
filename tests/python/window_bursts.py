"""Made-up bursts of one loop, and two memories, with times known by calculation."""

from __future__ import annotations

import numpy as np
import samples

from nearfar.base.estimate import Estimate
from nearfar.documents.bursts import Block, Burst, BurstAccess, Bursts, Code, PhaseBursts
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.traffic import CHASE, COLUMNS, INDEPENDENT, PhaseTraffic, RecordedBursts

LINES = 10_000.0
NEAR_NS, FAR_NS = 90.0, 270.0
PARALLELISM = 10.0

NEAR = near_memory(samples.device("near", NEAR_NS, read_gb_per_s=100.0, write_gb_per_s=100.0))
FAR = far_memory(samples.device("far", FAR_NS, read_gb_per_s=100.0, write_gb_per_s=100.0), NEAR)


def many_bursts(phases: tuple[str, ...], count: int = 32, loads: int = 1000) -> Bursts:
    """Return `count` bursts for each phase of a loop of three instructions, one a missing load."""
    loop = [Code(address=[1], defs=[2], access=0), Code(uses=[2], defs=[3]), Code()]
    return Bursts(
        code=loop,
        blocks=[Block(first=0, count=3, begin=0, end=12)],
        accesses=[BurstAccess(function="f", bytes=8, misses=[1.0] * len(phases))],
        phases=[
            PhaseBursts(
                phase=name,
                instructions=3.0 * count * loads,
                objects=[],
                mispredictions_per_1000=0.0,
                bursts=[
                    Burst(
                        thread=0,
                        at=3 * loads * number,
                        blocks=[0] * loads,
                        gaps=[0, *[3] * (loads - 1)],
                        lines=[3 * (number * loads + line) for line in range(loads)],
                        offsets=[0] * loads,
                        depends=[0] * loads,
                    )
                    for number in range(count)
                ],
            )
            for name in phases
        ],
    )


def phase(near_ns: float, *, dependent: bool, lines: float = LINES) -> PhaseTraffic:
    """Return a phase of a loop of a load and two other instructions; each load misses."""
    code = [Code(address=[1], defs=[1 if dependent else 2], access=0), Code(), Code()]
    bursts = Bursts(
        code=code,
        blocks=[Block(first=0, count=3, begin=0, end=12)],
        accesses=[BurstAccess(function="f", bytes=8, misses=[1.0])],
        phases=[
            PhaseBursts(
                phase="-",
                instructions=3 * lines,
                objects=[],
                mispredictions_per_1000=0.0,
                bursts=[
                    Burst(
                        thread=0,
                        at=0,
                        blocks=[0] * 1000,
                        gaps=[0, *[3] * 999],
                        lines=[3 * line for line in range(1000)],
                        offsets=[0] * 1000,
                        depends=[0] * 1000,
                    )
                ],
            )
        ],
    )
    objects = np.zeros((1, COLUMNS))
    objects[0, CHASE if dependent else INDEPENDENT] = lines
    return PhaseTraffic(
        name="-",
        near_time_ns=Estimate(near_ns, near_ns, near_ns),
        concurrency=1.0,
        operations=None,
        objects=objects,
        sampling_error=0.0,
        bursts=RecordedBursts(bursts, 0),
    )
