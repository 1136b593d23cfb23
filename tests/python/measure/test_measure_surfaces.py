"""Surfaces: the points that they request, and the figures from made-up samples."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from nearfar.base.errors import NearfarError
from nearfar.measure.subject import SubjectFacts
from nearfar.measure.surfaces import SURFACES, SurfacePlan, all_surfaces
from nearfar.measure.surfaces._drive import mixture, traffic_per_payload, traffic_share
from nearfar.measure.surfaces.bandwidth import KERNELS as BANDWIDTH
from nearfar.measure.surfaces.chains import CHAINS
from nearfar.measure.surfaces.writes import INSTRUCTIONS
from nearfar.samples.point import Sample, SamplePoint

GENERAL = {"chase", "chase-sequential", "chains", "read-strided", "write-strided"}
MIXED = {name + ending for name in ("mixed", "mixed-nt") for ending in ("", "-random")}

FACTS = SubjectFacts(
    page_sizes=(2 << 20, 4096),
    largest_bytes=256 << 20,
    buffer_bytes=256 << 20,
    threads=4,
    kernels=frozenset(GENERAL | MIXED | set(BANDWIDTH) | set(INSTRUCTIONS)),
    llc_bytes=32 << 20,
    timer_overhead_ns=20.0,
    timer_resolution_ns=1.0,
)


def plan(*, quick: bool = True, **changes) -> SurfacePlan:
    return SurfacePlan(replace(FACTS, **changes), quick)


PEAK_GB_PER_S, BURST_NS = 6.0, 2500.0


def take(point: SamplePoint) -> Sample:
    """Return a sample of a DIMM: generators of 0.8 GB/s, together at most 6, under a 64 B chase."""
    assert point.pause_ns is not None
    demand = GENERATORS * 2048 / (point.pause_ns + BURST_NS)
    return Sample(400.0, min(demand, PEAK_GB_PER_S) + 64 / 400.0)


GENERATORS = 23


def scouted(chosen: SurfacePlan, names: tuple[str, ...] = (), sample=take) -> SurfacePlan:
    for each in all_surfaces(names).values():
        chosen = each.scout(chosen, sample)
    return chosen


@pytest.mark.parametrize("quick", [True, False])
def test_points_are_distinct_and_within_the_subjects_abilities(quick: bool) -> None:
    chosen = scouted(plan(quick=quick))
    results = [point for each in all_surfaces().values() for point in each.points(chosen)]
    assert len(set(results)) == len(results)
    for point in results:
        assert point.kernel in FACTS.kernels
        assert point.region_bytes <= FACTS.largest_bytes
        assert point.threads <= FACTS.threads
        assert point.page_bytes in FACTS.page_sizes
        assert not point.generator or point.generator in FACTS.kernels


def test_the_full_list_has_all_required_points() -> None:
    chosen = scouted(plan(quick=False))
    points = {name: item.points(chosen) for name, item in all_surfaces().items()}
    assert {point.chains for point in points["chains"]} == set(CHAINS) == {*CHAINS, 1, 32}
    assert {point.kernel for point in points["writes"]} >= set(INSTRUCTIONS)
    shares = {
        traffic_share(point.kernel, point.read_share)
        for point in points["mixture"]
        if point.read_share is not None
    }
    assert shares == {step / 10 for step in range(11)}
    of_few_reads = [p for p in points["mixture"] if traffic_share(p.kernel, p.read_share) < 0.5]
    assert {p.kernel.removesuffix("-random") for p in of_few_reads} == {"mixed-nt"}
    sizes = {point.access_bytes for point in points["bandwidth"]}
    assert sizes == {64, 128, 256, 512, 1024, 4096, 16384}
    assert {point.threads for point in points["bandwidth"]} == {1, 2, 4}
    assert all(point.each for point in points["loaded-writes"])
    timed = {replace(p, each=False, accesses=0) for p in points["loaded"] if p.each}
    assert timed == {p for p in points["loaded"] if not p.each}, "a tail for every load"


def test_the_short_list_has_what_predictions_need() -> None:
    chosen = plan()
    points = [point for each in all_surfaces().values() for point in each.points(chosen)]
    for page_bytes in FACTS.page_sizes:
        assert [p.chains for p in points if p.kernel == "chains" and p.page_bytes == page_bytes]
        smallest = min(p.region_bytes for p in points if p.kernel == "chase")
        assert smallest <= 32 << 10
    pairs = {(p.kernel, p.threads) for p in points if p.figure == "bandwidth"}
    for kernel in ("read", "read-random", "write", "nt-store", "nt-store-random"):
        assert {(kernel, 1), (kernel, 4)} <= pairs


def test_one_thread_and_missing_kernels_are_left_out_and_reported() -> None:
    alone = scouted(plan(threads=1))
    assert SURFACES.get("loaded").points(alone) == []
    assert "second CPU" in SURFACES.get("loaded").lacking(alone)
    bare = scouted(plan(kernels=frozenset({"chase", "read"})))
    points = [point for each in all_surfaces().values() for point in each.points(bare)]
    assert {point.kernel for point in points} == {"chase", "read"}
    assert {p.generator for p in points if p.generator} == {"read"}, "the plain kernel stands in"
    assert "nt-store" in SURFACES.get("bandwidth").lacking(bare)
    assert "clwb" in SURFACES.get("writes").lacking(bare)


def test_an_unknown_surface_suggests_the_nearest() -> None:
    with pytest.raises(NearfarError, match="did you mean 'bandwidth'"):
        all_surfaces(["bandwith"])


@pytest.mark.parametrize("share", [-0.01, 1.01])
def test_a_read_share_above_1_is_refused(share: float) -> None:
    with pytest.raises(NearfarError, match="between 0 % and 100 %"):
        mixture(share)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.49, 0.5, 0.667, 0.9, 1.0])
def test_shares_of_traffic_and_of_lines_are_inverse_functions(share: float) -> None:
    chosen = mixture(share)
    assert traffic_share(chosen.kernel, chosen.line_share) == pytest.approx(share, abs=1e-4)
    # Lines that cross the bus are loaded, stored, or read for ownership.
    stored = 1 - chosen.line_share
    owned = 0.0 if chosen.kernel == "mixed-nt" else stored
    traffic = traffic_per_payload(chosen.kernel, chosen.line_share)
    assert traffic == pytest.approx(chosen.line_share + stored + owned)
    assert (chosen.line_share + owned) / traffic == pytest.approx(share, abs=1e-4)


def test_mixes_have_the_read_shares_of_all_traffic() -> None:
    samples = {
        point: [Sample(3.0)] * 6 for point in SURFACES.get("mixture").points(plan(quick=False))
    }
    result = SURFACES.get("mixture").figures(samples, plan(quick=False)).bandwidth
    by_share = {item.read_share: item for item in result if item.pattern == "sequential"}
    # 3 GB/s of payload: nt-stores move as much, stores of whole lines twice as much, loads as much.
    for share, traffic in ((0.0, 3.0), (0.4, 3.0), (0.5, 6.0), (0.8, 3.75), (1.0, 3.0)):
        figure = by_share[share]
        assert figure.value_gb_per_s == pytest.approx(traffic)
        assert figure.low_gb_per_s == figure.high_gb_per_s == pytest.approx(traffic)
        assert figure.note.startswith("all traffic: ")
        assert ("each read before" in figure.note) == (share in (0.5, 0.8))


def test_idle_figures_name_the_largest_region_of_the_largest_pages() -> None:
    points = SURFACES.get("idle").points(plan())
    samples = {
        point: [Sample(float(point.region_bytes + point.page_bytes))] * 4 for point in points
    }
    result = SURFACES.get("idle").figures(samples, plan()).latency
    whole = [each for each in result if each.region_bytes is None]
    assert {each.pattern for each in whole} == {"random", "sequential"}
    assert {each.value_ns for each in whole} == {(256 << 20) + (2 << 20)}
    assert {each.stride_bytes for each in result if each.pattern == "strided"} == {256}


@pytest.mark.parametrize("largest_bytes", [128 << 20, 256 << 20])
def test_fast_writes_go_to_one_cache_and_to_memory(largest_bytes: int) -> None:
    points = SURFACES.get("writes").points(plan(largest_bytes=largest_bytes))
    held, whole = sorted({point.region_bytes for point in points})
    # A first-level cache of 32 KiB rarely holds exactly all of it.
    assert 32 << 10 < held <= 128 << 10
    assert whole == largest_bytes


def test_writes_are_named_by_their_instruction() -> None:
    points = SURFACES.get("writes").points(plan())
    samples = {point: [Sample(150.0)] * 4 for point in points}
    result = SURFACES.get("writes").figures(samples, plan()).latency
    assert {each.instruction for each in result} == {text for text, _ in INSTRUCTIONS.values()}
    assert all(each.operation != "read" for each in result)
    assert {each.region_bytes for each in result} >= {None, 256 << 20}


def test_bandwidth_has_each_count_the_best_and_lines_separate_from_larger_accesses() -> None:
    samples = {
        SamplePoint("bandwidth", "read", 4096, 1 << 28, threads=threads): [Sample(value)] * 4
        for threads, value in ((1, 10.0), (2, 19.0), (4, 18.0))
    }
    random = SamplePoint("bandwidth", "read-random", 4096, 1 << 28, threads=4)
    samples[random] = [Sample(5.0)] * 4
    samples[replace(random, access_bytes=4096)] = [Sample(15.0)] * 4
    result = SURFACES.get("bandwidth").figures(samples, plan()).bandwidth
    assert [
        (each.threads, each.value_gb_per_s) for each in result if each.pattern == "sequential"
    ] == [
        (1, 10.0),
        (2, 19.0),
        (4, 18.0),
        (None, 19.0),
    ]
    best = [each for each in result if each.pattern == "random" and each.threads is None]
    assert [(each.access_bytes, each.value_gb_per_s) for each in best] == [(64, 5.0)]


@pytest.mark.parametrize(("quick", "least"), [(True, 3), (False, 6)])
@pytest.mark.parametrize("threads", [2, 8, GENERATORS + 1, 257])
@pytest.mark.parametrize("name", ["loaded", "loaded-writes"])
def test_loads_cover_the_curve_of_any_memory(
    quick: bool, least: int, threads: int, name: str
) -> None:
    def drawn(point: SamplePoint) -> float:
        demand = (threads - 1) * 2048 / (point.pause_ns + BURST_NS)
        return min(demand, PEAK_GB_PER_S)

    chosen = scouted(
        plan(quick=quick, threads=threads), (name,), lambda p: Sample(400.0, drawn(p) + 0.16)
    )
    points = [p for p in SURFACES.get(name).points(chosen) if p.pause_ns is not None]
    peak = max(drawn(point) for point in points)
    assert peak == pytest.approx(min((threads - 1) * 2048 / BURST_NS, PEAK_GB_PER_S))
    for share in {point.read_share for point in points}:
        loads = sorted({drawn(point) / peak for point in points if point.read_share == share})
        assert sum(load < 0.9 for load in loads) >= least
        assert loads[0] <= 0.25
        steps = [above - below for below, above in itertools.pairwise(loads[:-1])]
        assert min(steps) > 0.02
        assert max(steps) < 0.35, "no wide gap"


def test_probe_results_are_reproducible_and_shared_by_surfaces() -> None:
    asked: list[SamplePoint] = []

    def counted(point: SamplePoint) -> Sample:
        asked.append(point)
        return take(point)

    once = scouted(plan(quick=False, threads=24), ("loaded",), counted)
    probes = list(asked)
    assert {point.each for point in probes} == {False}
    again = scouted(plan(quick=False, threads=24), ("loaded",), counted)
    assert asked == probes * 2, "an interrupted run asks the same again"
    assert again.drives == once.drives
    assert scouted(once, ("loaded-writes",), counted).drives == once.drives
    assert len(asked) == 2 * len(probes)


def test_silent_generators_give_no_points_and_a_warning() -> None:
    silent = scouted(plan(), sample=lambda _point: Sample(100.0, 0.0))
    for name in ("loaded", "loaded-writes"):
        assert SURFACES.get(name).points(silent) == []
    assert "generators draw is unknown" in SURFACES.get("loaded").lacking(silent)


def test_a_curve_of_idle_and_saturation_only_gives_a_warning() -> None:
    samples = {
        replace(point, pause_ns=pause): [Sample(1000.0, drawn)] * 3
        for point in loaded_samples()
        for pause, drawn in ((None, 0.0), (200.0, 5.9), (100.0, 6.0), (0.0, 6.0))
        if not point.each
    }
    (text,) = SURFACES.get("loaded").figures(samples, plan()).warnings
    assert "only 0 distinct loads (of 3 at least)" in text
    assert "the 9.0 GB/s reached" in text
    spread = {
        point: [Sample(1000.0, drawn)] * 3
        for point, drawn in zip(samples, (0.0, 1.0, 2.0, 3.0), strict=True)
    }
    (text,) = SURFACES.get("loaded").figures(spread, plan(quick=False)).warnings
    assert "only 2 distinct loads (of 6 at least)" in text


def loaded_samples(kernel: str = "chase") -> dict[SamplePoint, list[Sample]]:
    drawn = {None: (0.0, 100.0), 2000.0: (2.0, 101.0), 200.0: (30.0, 140.0), 0.0: (20.0, 200.0)}
    samples = {}
    for pause, (bandwidth, ns) in reversed(drawn.items()):
        point = SamplePoint(
            "loaded", kernel, 4096, 1 << 28, generator="mixed", pause_ns=pause, read_share=0.5
        )
        times = np.full(1000, ns, np.float32)
        times[:5] = 10 * ns
        samples[point] = [Sample(ns, bandwidth)] * 3
        samples[replace(point, each=True, accesses=1000)] = [Sample(ns, bandwidth, times)] * 3
    return samples


def test_loaded_curves_rise_in_load_keep_anomalies_and_count_all_traffic() -> None:
    (curve,) = SURFACES.get("loaded").figures(loaded_samples(), plan()).loaded_latency
    # Half loads, half stores that first read their line: 3 lines cross the bus per 2 touched.
    assert curve.read_share == pytest.approx(2 / 3, abs=1e-4)
    assert [point[0] for point in curve.points] == pytest.approx([0.64, 3.0, 45.0, 30.0])
    assert [point[1] for point in curve.points] == [100.0, 101.0, 140.0, 200.0]
    assert any("folds back" in oddity for oddity in curve.oddities)
    assert curve.instruction == "load"
    assert [tail.p50_ns for tail in curve.tails] == [100.0, 101.0, 140.0, 200.0]
    assert [tail.p99_9_ns for tail in curve.tails] == [1000.0, 1010.0, 1400.0, 2000.0]
    assert {tail.accesses for tail in curve.tails} == {3000}


def test_loaded_writes_use_their_instruction() -> None:
    samples = {p: taken for p, taken in loaded_samples("persist-clwb").items() if p.each}
    (curve,) = SURFACES.get("loaded-writes").figures(samples, plan()).loaded_latency
    assert curve.instruction == "store+clwb"
    assert len(curve.tails) == len(curve.points) == 4


def test_a_subject_without_bandwidth_of_generators_gives_no_curve() -> None:
    samples = {
        point: [Sample(each.value, 0.0, each.each_ns) for each in taken]
        for point, taken in loaded_samples().items()
    }
    assert SURFACES.get("loaded").figures(samples, plan()).loaded_latency == []
