"""Sharing between two memories, on the NVDIMM thesis' figures and on made-up machines."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import msgspec
import pytest

from nearfar.base.estimate import Estimate
from nearfar.documents.machine import JointLimit, Split
from nearfar.measure.joint import (
    CopyRun,
    JointEffort,
    decide,
    joint_limit,
    measure_joint,
    runs,
)
from nearfar.memories.joint_bandwidth import joint_bandwidth

THESIS_DRAM = [13.1, 24.6, 35.1, 45.3, 52.1, 55.5, 57.9, 59.7, 61.8, 63.5, 64.6, 65.5, 66.1, 66.3,
               66.4, 66.4]  # fmt: skip
THESIS_NVM = [6.5, 12.6, 18.3, 24.0, 29.6, 35.4, 37.6, 45.4, 48.4, 53.0, 56.7, 58.5, 59.9, 62.7,
              50.6, 66.0]  # fmt: skip
"""S. Gunnar, master's thesis on NVDIMM-N, Oslo 2021: STREAM copy of 1 to 16 threads, tables 4 and
5, GB/s."""

THESIS_SPLITS = [
    (64.2, 3.29), (60.9, 6.60), (57.6, 10.1), (54.5, 13.6), (51.1, 17.1), (47.7, 20.7),
    (43.8, 22.4), (40.5, 27.4), (36.7, 30.8), (32.7, 34.5), (28.2, 37.7), (23.8, 42.0),
    (17.6, 44.1), (12.8, 48.6), (6.83, 51.8),
]  # fmt: skip
"""Figure 2, columns 1-20: DRAM->DRAM by 15 to 1 threads next to NVM->NVM by 1 to 15."""


def about(value: float, width: float = 0.01) -> Estimate:
    return Estimate(value, value * (1 - width), value * (1 + width))


def thesis_samples() -> dict[CopyRun, list[tuple[float, ...]]]:
    rng = random.Random(5)

    def five(*rates: float) -> list[tuple[float, ...]]:
        return [tuple(rate * rng.gauss(1, 0.01) for rate in rates) for _ in range(5)]

    samples: dict[CopyRun, list[tuple[float, ...]]] = {}
    for copy, rates in (("A->A", THESIS_DRAM), ("B->B", THESIS_NVM)):
        samples |= {((copy, n),): five(rate) for n, rate in enumerate(rates, 1)}
    for n, rates_of in enumerate(THESIS_SPLITS, 1):
        samples[("A->A", 16 - n), ("B->B", n)] = five(*rates_of)
    return samples


def test_the_thesis_memories_limit_each_other() -> None:
    """ "No increase in transfer speed": 65 to 70 GB/s, where separately they add up to over 100."""
    limit = joint_limit(("dram", "nvdimm"), thesis_samples())
    assert limit.shared
    assert "slow each other" in limit.note
    assert limit.together_gb_per_s == pytest.approx(68.4, rel=0.03)
    assert limit.low_gb_per_s is not None
    assert limit.high_gb_per_s is not None
    assert limit.low_gb_per_s <= limit.together_gb_per_s <= limit.high_gb_per_s
    assert limit.alone_gb_per_s == pytest.approx((66.4, 66.0), rel=0.03)
    assert len(limit.splits) == 15


def test_the_thesis_limit_gives_65_to_70_at_every_split() -> None:
    limit = joint_limit(("dram", "nvdimm"), thesis_samples())
    for n in range(1, 13):
        # Threads of each side request their bandwidth without competition.
        given = sum(joint_bandwidth(limit, THESIS_DRAM[15 - n], THESIS_NVM[n - 1]))
        assert 64 <= given <= 70.5, n
    for a, b in THESIS_SPLITS:
        assert joint_bandwidth(limit, 1.03 * a, 1.03 * b) == pytest.approx((a, b), rel=0.04)


def test_a_published_limit_without_splits_holds_at_every_proportion() -> None:
    """Figures 4, 7 and 10 combined: 65 to 70 GB/s."""
    limit = JointLimit(
        memories=("dram", "nvdimm"),
        alone_gb_per_s=(66.4, 66.0),
        together_gb_per_s=67.5,
        shared=True,
        how="published",
    )
    for share in range(11):
        given = joint_bandwidth(limit, 100 - 10 * share, 10 * share)
        assert 65 <= sum(given) <= 70


def test_small_demand_is_met_and_excess_demand_is_cut_alike() -> None:
    limit = joint_limit(("dram", "nvdimm"), thesis_samples())
    assert joint_bandwidth(limit, 10, 5) == (10, 5)
    assert joint_bandwidth(limit, 0, 0) == (0, 0)
    assert joint_bandwidth(limit, 500, 0)[0] == pytest.approx(66.4, rel=0.02)
    a, b = joint_bandwidth(limit, 60, 30)
    assert a / b == pytest.approx(2)
    with pytest.raises(ValueError, match="negative"):
        joint_bandwidth(limit, -1, 0)


def test_independent_memories_give_each_its_full_bandwidth() -> None:
    limit = JointLimit(
        memories=("dram", "node:1"),
        alone_gb_per_s=(60, 20),
        together_gb_per_s=78,
        shared=False,
        splits=[Split(copies=("A->A", "B->B"), threads=(8, 8), gb_per_s=(59, 19))],
    )
    assert joint_bandwidth(limit, 100, 100) == (60, 20)


@dataclass
class MadeUpMachine:
    """Simulates threads with a fixed demand on memories with one channel or two."""

    threads: int = 8
    thread_gb_per_s: float = 10.0
    channel_gb_per_s: float = 40.0
    one_channel: bool = True
    noise: float = 0.01
    dice: random.Random = field(default_factory=lambda: random.Random(3))
    asked: list[CopyRun] = field(default_factory=list)

    def together(self, run: CopyRun) -> tuple[float, ...]:
        self.asked.append(run)
        demands = [n * self.thread_gb_per_s for _, n in run]
        channels = {"A": 0.0, "B": 0.0}
        for (copy, _), demand in zip(run, demands, strict=True):
            for end in copy.split("->"):
                channels["A" if self.one_channel else end] += demand / 2
        slowest = max(load / self.channel_gb_per_s for load in channels.values())
        scale = 1 / max(slowest, 1.0)
        return tuple(demand * scale * self.dice.gauss(1, self.noise) for demand in demands)


def measured(machine: MadeUpMachine, *, one_memory: bool = False) -> JointLimit:
    return measure_joint(machine, ("a", "b"), JointEffort(1e9, rounds=6), one_memory=one_memory)


def test_one_channel_is_shared_and_two_are_not() -> None:
    assert measured(MadeUpMachine()).shared
    apart = measured(MadeUpMachine(one_channel=False))
    assert not apart.shared
    assert apart.together_gb_per_s > max(apart.alone_gb_per_s)
    assert "more than either memory gives" in apart.note


def test_too_few_cores_to_fill_a_memory_show_nothing() -> None:
    few = MadeUpMachine(threads=2, one_channel=False)
    limit = measured(few)
    assert not limit.shared
    assert limit.note.startswith("not seen: the cores set the limit")


def test_two_regions_of_one_memory_share_it_even_with_few_cores() -> None:
    limit = measured(MadeUpMachine(threads=2), one_memory=True)
    assert limit.shared
    assert "both are in one memory" in limit.note


def test_a_single_thread_competes_with_nobody() -> None:
    limit = measured(MadeUpMachine(threads=1))
    assert (limit.shared, limit.splits) == (False, [])
    assert "need two threads" in limit.note
    assert measured(MadeUpMachine(threads=1), one_memory=True).shared


def test_a_shortfall_within_noise_or_of_the_mesh_is_no_sharing() -> None:
    alone = {("A->A", 1): about(20), ("B->B", 1): about(20)}
    run = (("A->A", 1), ("B->B", 1))
    assert decide(alone, {run: about(30)})[0]
    assert not decide(alone, {run: about(30, 0.5)})[0]  # an interval of 15 to 45
    assert not decide(alone, {run: about(37.5)})[0]  # 6 % of the mesh
    assert decide(alone, {run: about(35)})[0]


def test_every_split_of_the_three_pairs_and_every_copy_alone_is_run() -> None:
    wanted = runs(16)
    assert len([run for run in wanted if len(run) == 2]) == 45
    assert len([run for run in wanted if len(run) == 1]) == 32
    assert all(sum(n for _, n in run) == 16 for run in wanted if len(run) == 2)


def test_time_ends_it_but_not_before_three_rounds() -> None:
    machine = MadeUpMachine(threads=2)
    ticks = iter(range(1000))
    told: list[float] = []
    measure_joint(
        machine,
        ("a", "b"),
        JointEffort(0.0, clock=lambda: float(next(ticks))),
        progress=lambda _what, share: told.append(share),
    )
    assert len(machine.asked) == 3 * len(runs(2))
    assert told == sorted(told)


def test_the_limit_is_a_document() -> None:
    limit = measured(MadeUpMachine())
    assert msgspec.json.decode(msgspec.json.encode(limit), type=JointLimit) == limit
