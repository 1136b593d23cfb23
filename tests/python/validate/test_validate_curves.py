"""Which samples device curves are made of."""

from __future__ import annotations

from collections import deque
from typing import cast

from nearfar.measure.opened import Opened
from nearfar.measure.spec import MemorySpec
from nearfar.measure.subject import Point, Sample
from nearfar.measure.surfaces import Plan
from nearfar.validate.curves import STALLED, Curves
from nearfar.validate.placement import Placement

READ = Point(figure="bandwidth", kernel="read", page_bytes=4096, region_bytes=1 << 20)


def curves(by_placement: dict[int, list[float]]) -> Curves:
    found = Curves(
        cast(Opened, None),
        cast(Plan, None),
        MemorySpec(kind="dram"),
        {"bandwidth": [READ]},
        Placement(None),
    )
    for placement, values in by_placement.items():
        found._kept[placement] = {READ: deque(Sample(one, 0.0, None, False) for one in values)}
    return found


def values(found: Curves, placement: int) -> list[float]:
    return [one.value for one in found.samples(placement)[READ]]


def test_samples_of_a_stalled_memory_do_not_count() -> None:
    assert values(curves({0: [1.8, 29.0, 30.0, 2.0]}), 0) == [29.0, 30.0]


def test_another_placement_says_what_is_stalled() -> None:
    assert values(curves({0: [1.8, 20.0], 1: [30.0]}), 0) == [20.0]


def test_where_all_samples_are_slow_all_count() -> None:
    assert values(curves({0: [1.8, 2.0], 1: [30.0]}), 0) == [1.8, 2.0]


def test_a_placement_half_as_quick_is_no_stall() -> None:
    assert STALLED > 2.0
    assert values(curves({0: [15.0, 14.0], 1: [30.0]}), 0) == [15.0, 14.0]


def test_a_chase_over_the_whole_and_one_chain_are_one_figure() -> None:
    whole, part = 4 << 20, 1 << 20
    chains = [Point("chains", "chains", 4096, whole, chains=count) for count in (1, 2)]
    chases = [Point("latency", "chase", 4096, region) for region in (part, whole)]
    found = curves({})
    found.points = {"idle": chases, "chains": chains}
    found._kept[0] = {
        point: deque([Sample(value, 0.0, None, False)])
        for value, point in enumerate([*chains, *chases])
    }
    taken = {point: [one.value for one in samples] for point, samples in found._joined(0).items()}
    assert sorted(taken[chains[0]]) == sorted(taken[chases[1]]) == [0.0, 3.0]
    assert (taken[chains[1]], taken[chases[0]]) == ([1.0], [2.0])
    # What is said of noise is of each by itself.
    assert all(len(samples) == 1 for samples in found.samples(0).values())
