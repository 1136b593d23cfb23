"""The real subject: every kind of point on small memory; relations only, no absolute times."""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from nearfar import _measure
from nearfar.measure.environment import StolenTime
from nearfar.measure.sampler import Sampler
from nearfar.measure.warm_up import WARM_UP_ACCESSES
from nearfar.memories.topology import detect
from nearfar.samples.point import SamplePoint

CPUS = detect().cpus[:2]
LARGEST = 4 << 20
PAGE = 4096


@pytest.fixture(scope="module")
def sampler() -> Sampler:
    mapped: list[int] = []

    def more(page_bytes: int, size_bytes: int) -> _measure.Memory:
        mapped.append(size_bytes)
        return _measure.Memory.anonymous(size_bytes, "4k")

    made = Sampler(
        chased={PAGE: more(PAGE, LARGEST)},
        buffer_bytes=LARGEST,
        map_more=more,
        cpus=CPUS,
        llc_bytes=1 << 20,
    )
    made.mapped = mapped  # type: ignore[attr-defined]
    return made


def point(kernel: str, **changes: object) -> SamplePoint:
    return replace(SamplePoint("latency", kernel, PAGE, LARGEST), **changes)


def test_facts_are_those_of_its_memory(sampler: Sampler) -> None:
    facts = sampler.facts()
    assert facts.page_sizes == (PAGE,)
    assert (facts.largest_bytes, facts.buffer_bytes) == (LARGEST, LARGEST)
    assert facts.threads == len(CPUS)
    assert {"chase", "read", "mixed", "persist-store"} <= facts.kernels
    assert facts.timer_overhead_ns >= 0
    assert facts.timer_resolution_ns > 0


@pytest.mark.parametrize("each", [False, True])
def test_a_time_that_is_all_overhead_is_the_clocks_resolution(
    sampler: Sampler, monkeypatch: pytest.MonkeyPatch, each: bool
) -> None:
    nothing_left = {"ns": 0.0, "loops_ns": 1e6, "warm_up_passes": 1, "switches": 0}
    timing = SimpleNamespace(**nothing_left, disturbed=False, beside=[])
    monkeypatch.setattr(_measure, "time_alone", lambda *_: timing)
    monkeypatch.setattr(_measure, "time_each", lambda *_: (np.zeros(9, np.float32), timing))
    sample = sampler.sample(point("chase", each=each))
    assert sample.value == pytest.approx(sampler.facts().timer_resolution_ns)
    assert not each or sample.each_ns.min() == sample.value  # type: ignore[union-attr]


@pytest.mark.parametrize("kernel", [one.name for one in _measure.kernels()])
def test_every_kernel_that_runs_here_can_be_sampled(sampler: Sampler, kernel: str) -> None:
    if kernel not in sampler.facts().kernels:
        with pytest.raises(ValueError, match="cannot run here"):
            sampler.sample(point(kernel))
        return
    sample = sampler.sample(point(kernel, accesses=500))
    assert sample.value > 0
    assert sample.drawn_gb_per_s == 0


@pytest.mark.parametrize(
    "kernel", [one.name for one in _measure.kernels() if one.can_time_each and not one.missing()]
)
def test_single_accesses_come_in_order_and_number(sampler: Sampler, kernel: str) -> None:
    sample = sampler.sample(point(kernel, each=True, accesses=300, rest_ns=100.0))
    assert sample.each_ns is not None
    assert (sample.each_ns.dtype, sample.each_ns.shape) == (np.float32, (300,))
    assert (sample.each_ns >= 0).all()
    assert sample.each_ns.min() <= sample.value <= sample.each_ns.max()


@pytest.mark.timing
@pytest.mark.parametrize("kernel", ["persist-clflush", "persist-nt-store"])
def test_a_timed_persist_ends_after_its_fence(sampler: Sampler, kernel: str) -> None:
    """Single persists cannot overlap, so each takes at least its time in a long run."""
    size = sampler.facts().largest_bytes
    point = SamplePoint("persist", kernel, sampler.facts().page_sizes[0], size, accesses=20_000)
    pairs = [
        (sampler.sample(point).value, sampler.sample(replace(point, each=True)).value)
        for _ in range(7)
    ]
    assert statistics.median(each / stretch for stretch, each in pairs) > 0.7


def test_a_kernel_whose_accesses_cannot_be_timed_is_refused(sampler: Sampler) -> None:
    with pytest.raises(ValueError, match="cannot be timed one by one"):
        sampler.sample(point("read", each=True))


@pytest.mark.parametrize(
    "shape",
    [
        {"access_bytes": 256},
        {"access_bytes": 4096},
        {"stride_bytes": 4096},
        {"window_bytes": 64 << 10},
        {"region_bytes": 16 << 10},
    ],
)
@pytest.mark.parametrize("kernel", ["chase", "read-random", "persist-store"])
def test_shapes_are_sampled(sampler: Sampler, kernel: str, shape: dict[str, int]) -> None:
    assert sampler.sample(point(kernel, **shape)).value > 0


@pytest.mark.timing
def test_sequential_blocks_are_faster_than_random_lines(sampler: Sampler) -> None:
    lines = min(sampler.sample(point("chase")).value for _ in range(3))
    blocks = min(sampler.sample(point("chase", access_bytes=4096)).value for _ in range(3))
    assert blocks < lines


@pytest.mark.skipif(len(CPUS) < 2, reason="a generator takes a second CPU")
@pytest.mark.parametrize("timed", ["chase", "persist-store"])
def test_generators_of_any_share_draw_bandwidth(sampler: Sampler, timed: str) -> None:
    loaded = point(timed, generator="mixed", pause_ns=0.0, each=True, accesses=20_000)
    for share in (1.0, 0.5, 0.0):
        assert sampler.sample(replace(loaded, read_share=share)).drawn_gb_per_s > 0
    unloaded = replace(loaded, pause_ns=None)
    assert sampler.sample(unloaded).drawn_gb_per_s == 0


@pytest.mark.skipif(len(CPUS) < 2, reason="two threads take two CPUs")
def test_several_threads_give_gb_per_s_of_any_kernel(sampler: Sampler) -> None:
    for kernel in ("read", "mixed", "chase", "persist-store"):
        assert sampler.sample(point(kernel, threads=2)).value > 0
    with pytest.raises(ValueError, match="there are 2 CPUs"):
        sampler.sample(point("read", threads=3))


def test_impossible_points_are_refused(sampler: Sampler) -> None:
    with pytest.raises(ValueError, match="beyond the largest"):
        sampler.sample(point("chase", region_bytes=2 * LARGEST))
    with pytest.raises(ValueError, match="no memory with pages of"):
        sampler.sample(point("chase", page_bytes=1 << 30))
    with pytest.raises(ValueError, match="does not exist"):
        sampler.sample(point("chasse"))
    with pytest.raises(ValueError, match="read share"):
        sampler.sample(point("mixed", read_share=1.01))


def test_memory_is_bounded_for_any_number_of_sampled_regions(sampler: Sampler) -> None:
    for shift in range(6):
        for kernel in ("persist-store", "chase", "read"):
            sampler.sample(point(kernel, region_bytes=LARGEST >> shift, accesses=100))
    held = [each.size_bytes for each in (*sampler.chased.values(), *sampler._stored.values())]
    assert sum(held) + sampler._buffer.size_bytes <= 3 * LARGEST


def test_regions_are_linked_once_while_they_are_kept(sampler: Sampler) -> None:
    memory = next(iter(sampler.chased.values()))
    sampler.sample(point("chase", region_bytes=1 << 20, accesses=100))
    assert memory.link(1 << 20) is False
    before = sampler.loops_s
    sampler.sample(point("chase", region_bytes=1 << 20, accesses=100))
    assert sampler.loops_s > before


@pytest.mark.parametrize("isa", _measure.isas())
def test_every_instruction_set_can_be_forced(sampler: Sampler, isa: str) -> None:
    sampler.use_isa(isa)
    try:
        assert sampler.sample(point("read")).value > 0
        assert ("nt-store" in sampler.facts().kernels) == (isa != "scalar")
    finally:
        sampler.use_isa("")


@pytest.mark.timing
def test_stolen_time_is_seen_on_a_virtual_machine(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "sys").mkdir()
    stat = tmp_path / "proc/stat"
    now = 0.0

    def write(first: int, second: int) -> None:
        lines = [
            f"{name}  1 2 3 4 5 6 7 {n} 0 0" for name, n in (("cpu0", first), ("cpu1", second))
        ]
        stat.write_text("\n".join([f"cpu  1 2 3 4 5 6 7 {first + second} 0 0", *lines, "intr 1\n"]))

    (tmp_path / "proc/cpuinfo").write_text("flags\t\t: fpu hypervisor\n")
    write(8, 8)
    watch = StolenTime((1,), tmp_path, lambda: now)
    now = 0.02
    assert not watch.matters()
    write(20, 8)  # of a CPU that does not measure
    now = 0.04
    assert not watch.matters()
    write(20, 9)  # 10 ms of 20
    now = 0.06
    assert watch.matters()
    write(20, 10)  # 10 ms of 1 s
    now = 1.06
    assert not watch.matters()
    (tmp_path / "proc/cpuinfo").write_text("flags\t\t: fpu\n")
    real = StolenTime((1,), tmp_path, lambda: now)
    write(20, 99)
    now = 1.08
    assert not real.matters()


@pytest.mark.timing
def test_rests_between_accesses_are_neither_timed_nor_counted(sampler: Sampler) -> None:
    busy = sampler.sample(point("chase", accesses=200))
    rested = sampler.sample(point("chase", accesses=200, rest_ns=50_000.0))
    assert rested.each_ns is None
    assert rested.value < busy.value + 10_000


def test_a_large_region_that_no_cache_keeps_is_warmed_up_in_full_once() -> None:
    made = Sampler({PAGE: _measure.Memory.anonymous(PAGE, "4k")}, PAGE, None, CPUS, 1 << 30)  # type: ignore[arg-type]
    kept, uncached = (point("chase", region_bytes=size) for size in (32 << 20, 64 << 20))
    beyond = point("chase", region_bytes=3 << 29)  # larger than the last level
    full, _ = made._warm_up(uncached)
    assert made._warm_up(beyond)[0] > WARM_UP_ACCESSES
    made._warming.note_passes(kept, 3)  # only the second pass was faster than the one before
    made._warming.note_passes(uncached, 2)
    made._warming.note_passes(kept, 3)
    made._warming.note_passes(kept, 2)  # it was still warm
    assert made._warm_up(kept) == (12 * (32 << 20) // 64, (32 << 20) // 64)
    assert made._warm_up(uncached) == (WARM_UP_ACCESSES, 0)
    assert made._warm_up(beyond) == (WARM_UP_ACCESSES, 0)
    assert full > WARM_UP_ACCESSES
