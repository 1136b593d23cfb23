"""Slowdowns of sets: their intervals, their means, and the compared runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nearfar.documents import producer
from nearfar.documents.bench import BenchCell, BenchResult, Durability
from nearfar_bench.experiment import names, read_experiment
from nearfar_bench.kinds.blocks import kind_of_file_system
from nearfar_bench.kinds.intset import Intset
from nearfar_bench.memories import every
from nearfar_bench.slowdowns import geometric_mean_slowdown, slowdown

MINE = ("intset", "intset-disk", "intset-full", "log", "pages", "store", "stream-pool")


def test_a_slowdown_is_a_ratio_of_means_within_its_interval():
    estimate = slowdown([100.0, 110.0, 90.0], [25.0, 24.0, 26.0])
    assert estimate.value == pytest.approx(4.0)
    assert estimate.low < 4.0 < estimate.high
    assert estimate.low >= 90 / 26
    assert estimate.high <= 110 / 24
    single = slowdown([8.0], [2.0])
    assert single.low == single.value == single.high == pytest.approx(4.0)


def test_the_interval_has_its_nominal_coverage():
    random = np.random.default_rng(1)
    inside = 0
    for seed in range(40):
        base, slower = random.normal(100, 10, 10), random.normal(20, 2, 10)
        estimate = slowdown(base.tolist(), slower.tolist(), seed)
        inside += estimate.low <= 5.0 <= estimate.high
    # 95 % of 40 are 38; a bootstrap's interval of ten runs is slightly too narrow.
    assert inside >= 32


def test_the_mean_of_several_slowdowns_is_geometric():
    estimate = geometric_mean_slowdown([([2.0], [1.0]), ([8.0], [1.0])])
    assert estimate.value == pytest.approx(4.0)
    with pytest.raises(ValueError, match="no runs"):
        geometric_mean_slowdown([])


def test_both_baselines_are_reported_for_each_structure():
    def cell(structure: str, memory: str, per_s: float) -> BenchCell:
        return BenchCell(
            arguments={"structure": structure, "memory": memory},
            samples={"operations_per_s": [per_s]},
            figures={},
            durability=Durability(instructions="none", survives="nothing"),
        )

    result = BenchResult(
        producer=producer(["tests"]),
        name="t",
        title="t",
        workload="intset",
        repeats=1,
        matrix={"structure": ["list", "hash"], "memory": ["volatile", "tmpfs,noflush", "tmpfs"]},
        cells=[
            cell("list", "volatile", 12.0),
            cell("list", "tmpfs,noflush", 6.0),
            cell("list", "tmpfs", 3.0),
            cell("hash", "volatile", 90.0),
            cell("hash", "tmpfs,noflush", 20.0),
            cell("hash", "tmpfs", 10.0),
        ],
    )
    first, second, third = Intset().summary(result)
    assert first.startswith("tmpfs,noflush against the volatile set: list 2x")
    assert "list 4x" in second
    assert "hash set 9x" in second
    assert "geometric mean 6x" in second
    assert "without flushes: list 2x" in third
    result.arguments["safety"] = "published"
    assert "do not survive a crash" in Intset().summary(result)[-1]


def test_file_systems_are_named_as_mounted(tmp_path: Path):
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "tmpfs /dev/shm tmpfs rw 0 0\n"
        "/dev/pmem0 /mnt/fast ext4 rw,relatime,dax=always 0 0\n"
        "/dev/pmem1 /mnt/slow xfs rw,relatime 0 0\n"
        "/dev/pmem2 /mnt/a\\040disk xfs rw,dax 0 0\n"
    )
    assert kind_of_file_system("tmpfs,msync", mounts) == "tmpfs"
    assert kind_of_file_system("file:/mnt/fast", mounts) == "ext4 with DAX"
    assert kind_of_file_system("file:/mnt/fast/data", mounts) == "ext4 with DAX"
    assert kind_of_file_system("file:/mnt/slow/data", mounts) == "xfs"
    assert kind_of_file_system("file:/mnt/a disk/data", mounts) == "xfs with DAX"
    assert "file:/mnt/a disk" in every(mounts, tmp_path)
    assert kind_of_file_system("devdax:/dev/dax0.0", mounts) == "device-DAX"


def test_shipped_experiments_have_ten_runs_as_published():
    assert set(MINE) <= set(names())
    assert read_experiment("intset").repeats == 10
    assert read_experiment("intset-disk").arguments["updates"] == "50"
