"""A persistent program is built, profiled and predicted for other memories.

The log is the workload whose flushes can be counted by hand.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.documents import Prediction, WorkloadProfile, load
from nearfar_bench.memories import TMPFS, find_memory

ROOT = Path(__file__).parents[3]
NATIVE = ROOT / "companions/bench/native"
CORE = NATIVE / "bench"
RECORDS = 20_000

pytestmark = [
    pytest.mark.timing,
    pytest.mark.long,
    pytest.mark.skipif(
        not Path("/usr/include/libpmemobj.h").exists(), reason="libpmemobj-dev is not here"
    ),
]


def nearfar(*words: object) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nearfar", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env=find_memory("tmpfs").environment(),
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.timing
def test_a_logs_flushes_become_time_on_optane_and_on_an_ssd(tmp_path: Path) -> None:
    program, near = tmp_path / "nearfar-bench", tmp_path / "near.json"
    sources = [path for path in CORE.glob("*.cpp") if path.stem != "count_preload"]
    options = ["-O2", "-std=c++20", "-pthread", "-DNEARFAR_HAVE_PMEM"]
    options += [
        f"-I{NATIVE}",
        f"-I{ROOT / 'native'}",
        f"-I{ROOT / 'include'}",
        "-lpmemobj",
        "-lpmem",
    ]
    nearfar("c++", *sources, *(CORE / "log").glob("*.cpp"), *options, "-o", program)
    nearfar("measure", "dram", "--quick", "--quiet", "--accept-noise", "-o", near)

    profile = tmp_path / "profile.json"
    pool = TMPFS / f"{tmp_path.name}-{tmp_path.parent.name}-log"
    run = ["log", f"operations={RECORDS}", "record=96", "memory=pool", f"pool={pool}"]
    nearfar("profile", "--repetitions", "1", "-q", "-o", profile, "--", program, "run", *run)
    timed = next(p for p in load(profile, WorkloadProfile).phases if p.name == "timed")
    flushes, fences, streamed = (
        sum(getattr(row.traffic, name) for row in timed.objects)
        for name in ("flushes", "fences", "nt_store_bytes")
    )
    # Each record is copied and drained, then its tail's line flushed and fenced: two fences.
    assert fences == pytest.approx(2 * RECORDS, rel=0.01)
    # 96 bytes after a head of 32 are two lines, more often three; the tail is one.
    assert 2 * RECORDS < flushes + streamed / 64 < 4.2 * RECORDS

    prediction = tmp_path / "prediction.json"
    fars = ("--far", "optane-200", "--far", "ssd-dc-s4600")
    nearfar("predict", profile, "--near", near, *fars, "--models", "all", "-q", "-o", prediction)
    optane, ssd = (
        next(phase for phase in device.phases if phase.phase == "timed")
        for device in load(prediction, Prediction).devices
    )
    assert optane.far_time_ns.value < 1e4 * RECORDS
    # At least two syncs of 52 us per record.
    assert ssd.far_time_ns.value > 2 * 52_000 * 0.9 * RECORDS
    assert ssd.far_time_ns.low <= ssd.far_time_ns.value <= ssd.far_time_ns.high
