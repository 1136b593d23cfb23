"""The samples that device curves are made of."""

from __future__ import annotations

from collections import deque
from typing import cast

from nearfar.measure.subject import OpenedMemory
from nearfar.measure.surfaces import SurfacePlan
from nearfar.memories.spec import MemorySpec
from nearfar.samples.point import Sample, SamplePoint
from nearfar.validate.core_pairing import CorePairings
from nearfar.validate.curves import STALL_RATIO, MemoryCurves

READ = SamplePoint(figure="bandwidth", kernel="read", page_bytes=4096, region_bytes=1 << 20)


def curves(by_pairing: dict[int, list[float]]) -> MemoryCurves:
    made = MemoryCurves(
        cast(OpenedMemory, None),
        cast(SurfacePlan, None),
        MemorySpec(kind="dram"),
        {"bandwidth": [READ]},
        CorePairings(None),
    )
    for pairing, values in by_pairing.items():
        made._samples[pairing] = {READ: deque(Sample(value, 0.0, None, False) for value in values)}
    return made


def values(sampled: MemoryCurves, pairing: int) -> list[float]:
    return [sample.value for sample in sampled.samples(pairing)[READ]]


def test_samples_of_a_stalled_memory_do_not_count() -> None:
    assert values(curves({0: [1.8, 29.0, 30.0, 2.0]}), 0) == [29.0, 30.0]


def test_another_pairing_shows_which_samples_are_stalled() -> None:
    assert values(curves({0: [1.8, 20.0], 1: [30.0]}), 0) == [20.0]


def test_where_all_samples_are_slow_all_count() -> None:
    assert values(curves({0: [1.8, 2.0], 1: [30.0]}), 0) == [1.8, 2.0]


def test_a_pairing_at_half_speed_is_not_stalled() -> None:
    assert STALL_RATIO > 2.0
    assert values(curves({0: [15.0, 14.0], 1: [30.0]}), 0) == [15.0, 14.0]


def test_a_chase_over_everything_and_a_single_chain_are_one_figure() -> None:
    whole, part = 4 << 20, 1 << 20
    chains = [SamplePoint("chains", "chains", 4096, whole, chains=count) for count in (1, 2)]
    chases = [SamplePoint("latency", "chase", 4096, region) for region in (part, whole)]
    sampled = curves({})
    sampled.points = {"idle": chases, "chains": chains}
    sampled._samples[0] = {
        point: deque([Sample(value, 0.0, None, False)])
        for value, point in enumerate([*chains, *chases])
    }
    joined = {
        point: [sample.value for sample in samples] for point, samples in sampled._joined(0).items()
    }
    assert sorted(joined[chains[0]]) == sorted(joined[chases[1]]) == [0.0, 3.0]
    assert (joined[chains[1]], joined[chases[0]]) == ([1.0], [2.0])
    # Each has its own noise floor.
    assert all(len(samples) == 1 for samples in sampled.samples(0).values())
