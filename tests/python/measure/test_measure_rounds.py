"""Rounds with a clock that is an argument, and figures from samples that are made up."""

from __future__ import annotations

import itertools
import random

import pytest

from nearfar.measure import figures
from nearfar.measure.points import CHAINS, Point, points, region_sizes, thread_counts
from nearfar.measure.rounds import FEWEST, FEWEST_TO_STOP, Limits, half_width, run_rounds
from nearfar.measure.sampler import WARM_UP_ACCESSES, Sample, warm_up_accesses

POINTS = [Point("latency", "chase", 4096, size) for size in (1 << 16, 1 << 20, 1 << 28)]


class Clock:
    """Advances by a second each time it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def noisy(seed: int = 1):
    dice = random.Random(seed)
    return lambda _point: Sample(dice.uniform(50, 150))


def test_every_round_has_every_point_once() -> None:
    visits: list[Point] = []

    def sample(point: Point) -> Sample:
        visits.append(point)
        return Sample(1.0)

    samples = run_rounds(POINTS, sample, Limits(0.0, repetitions=8))
    assert {len(values) for values in samples.values()} == {8}
    rounds = (
        list(itertools.batched(visits, 3))
        if hasattr(itertools, "batched")
        else [tuple(visits[i : i + 3]) for i in range(0, len(visits), 3)]
    )
    assert all(set(one) == set(POINTS) for one in rounds)
    assert len(set(rounds)) > 1, "the order changes"


def test_noise_goes_on_until_time_is_up() -> None:
    samples = run_rounds(POINTS, noisy(), Limits(200.0, clock=Clock()))
    counts = [len(values) for values in samples.values()]
    assert FEWEST_TO_STOP < min(counts) < 200
    assert max(counts) - min(counts) <= 1, "time may end a round early"


def test_time_that_is_up_at_once_still_leaves_the_fewest_rounds() -> None:
    samples = run_rounds(POINTS, noisy(), Limits(0.0, clock=Clock()))
    assert {len(values) for values in samples.values()} == {FEWEST}


def test_narrow_intervals_end_it_early() -> None:
    samples = run_rounds(POINTS, lambda _point: Sample(100.0), Limits(1e9, clock=Clock()))
    assert {len(values) for values in samples.values()} == {FEWEST_TO_STOP}


def test_progress_rises_to_one() -> None:
    told: list[float] = []
    limits = Limits(0.0, repetitions=4)
    run_rounds(POINTS, noisy(), limits, lambda share, _rounds: told.append(share))
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_half_width_of_known_ranks() -> None:
    # 100 values 1..100: ranks 50 -+ 9.8, so 41 (index 40) and 61 (index 60) about the median 51.
    assert half_width(list(range(1, 101))) == pytest.approx((61 - 41) / 2 / 51)
    assert half_width([5.0]) == 0.0


def test_half_width_covers_the_median_19_times_in_20() -> None:
    dice = random.Random(3)
    held = 0
    for _ in range(400):
        taken = sorted(dice.gauss(100, 10) for _ in range(25))
        width = half_width(taken) * taken[12]
        held += abs(taken[12] - 100) <= width * 1.5
    assert held > 0.9 * 400


def test_regions_end_at_the_largest_and_begin_in_the_first_level() -> None:
    assert region_sizes(256 << 20, 4) == [(1 << 14) * 4**i for i in range(8)]
    for largest in (64 << 10, 100 << 20, 3 << 30):
        sizes = region_sizes(largest, 2)
        assert sizes == sorted(set(sizes))
        assert sizes[-1] == largest
        assert 16 << 10 <= sizes[0] < 32 << 10
        assert all(size % 64 == 0 for size in sizes)


def test_caches_are_filled_before_they_are_timed() -> None:
    llc = 32 << 20
    for size in region_sizes(8 * llc, 2):
        warm_up = warm_up_accesses(size, llc)
        assert warm_up >= WARM_UP_ACCESSES
        if size <= llc // 8:
            assert warm_up >= 12 * size // 64
        assert warm_up <= 2 * llc // 64
    assert warm_up_accesses(8 * llc, llc) == WARM_UP_ACCESSES


def test_thread_counts() -> None:
    assert thread_counts(1, quick=False) == [1]
    assert thread_counts(2, quick=True) == [1, 2]
    assert thread_counts(24, quick=True) == [1, 24]
    assert thread_counts(24, quick=False) == [1, 2, 4, 8, 16, 24]


def plan(**changes):
    values = {
        "quick": True,
        "page_sizes": [2 << 20, 4096],
        "largest_bytes": 1 << 28,
        "buffer_bytes": 1 << 28,
        "threads": 2,
        "has_nt_store": True,
        "loaded": True,
    }
    return points(**(values | changes))


def test_points_are_distinct_and_hold_what_predictions_need() -> None:
    for quick in (True, False):
        found = plan(quick=quick)
        assert len(set(found)) == len(found)
        for page_bytes in (2 << 20, 4096):
            chains = [
                p.chains for p in found if p.figure == "chains" and p.page_bytes == page_bytes
            ]
            assert tuple(chains) == CHAINS
        kernels = {(p.kernel, p.threads) for p in found if p.figure == "bandwidth"}
        for kernel in ("read", "read-random", "write", "nt-store"):
            assert {(kernel, 1), (kernel, 2)} <= kernels


def test_points_leave_out_what_the_machine_cannot() -> None:
    assert not [p for p in plan(loaded=False) if p.figure == "loaded"]
    without = plan(quick=False, has_nt_store=False)
    assert not [p for p in without if "nt-store" in (p.kernel, p.generator)]


def samples_of(values: list[float], point: Point = POINTS[-1]):
    return {point: [Sample(value) for value in values]}


def test_noise_floor_is_the_difference_of_halves() -> None:
    assert figures.noise_floor(samples_of([100, 100, 110, 110])) == pytest.approx(10 / 110)
    assert figures.noise_floor(samples_of([100.0] * 8)) == 0.0
    assert figures.noise_floor(samples_of([100, 200]), "bandwidth") == 0.0


def test_latency_figures_name_the_largest_region_of_the_largest_pages() -> None:
    samples = {
        Point("latency", "chase", page_bytes, size): [Sample(float(page_bytes + size))] * 4
        for page_bytes in (4096, 2 << 20)
        for size in (1 << 20, 1 << 28)
    }
    found = figures.latency_figures(samples)
    assert len(found) == 5
    (unlimited,) = [figure for figure in found if figure.region_bytes is None]
    assert unlimited.page_bytes == 2 << 20
    assert unlimited.value_ns == (2 << 20) + (1 << 28)


def test_bandwidth_figures_have_each_count_and_the_best() -> None:
    samples = {
        Point("bandwidth", "read", 4096, 1 << 28, threads=threads): [Sample(value)] * 4
        for threads, value in ((1, 10.0), (2, 19.0), (4, 18.0))
    }
    found = figures.bandwidth_figures(samples)
    assert [(one.threads, one.value_gb_per_s) for one in found] == [
        (1, 10.0),
        (2, 19.0),
        (4, 18.0),
        (None, 19.0),
    ]


def test_loaded_curves_rise_in_load_and_keep_what_is_odd() -> None:
    drawn = {None: (0.5, 100.0), 2000.0: (2.0, 101.0), 200.0: (30.0, 140.0), 0.0: (20.0, 200.0)}
    samples = {
        Point("loaded", "chase", 4096, 1 << 28, generator="read", pause_ns=pause): [
            Sample(latency, bandwidth)
        ]
        for pause, (bandwidth, latency) in reversed(drawn.items())
    }
    (curve,) = figures.loaded_curves(samples, {"read": 1.0}.__getitem__, 1)
    assert curve.points == list(drawn.values())
    assert any("folds back" in oddity for oddity in curve.oddities)


def test_doubts() -> None:
    llc = 32 << 20
    pages = 2 << 20

    def with_half_llc_at(ns: float):
        return {
            Point("latency", "chase", pages, 16 << 20): [Sample(ns)] * 4,
            Point("latency", "chase", pages, 256 << 20): [Sample(100.0)] * 4,
        }

    assert figures.doubts(with_half_llc_at(25.0), llc) == []
    assert any("16.0 MiB takes 80%" in doubt for doubt in figures.doubts(with_half_llc_at(80), llc))
    assert any("wider than" in doubt for doubt in figures.doubts(samples_of([1, 2, 3, 4, 5]), llc))
