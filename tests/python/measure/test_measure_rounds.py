"""Rounds with an injected clock, and figures from made-up samples."""

from __future__ import annotations

import itertools
import random

import pytest

from nearfar.measure import figures
from nearfar.measure.rounds import (
    MIN_ROUNDS,
    MIN_ROUNDS_TO_STOP,
    MIN_SAMPLES,
    RoundLimits,
    half_width,
    run_rounds,
)
from nearfar.measure.sampler import Sample
from nearfar.measure.surfaces._surface import region_sizes
from nearfar.measure.warm_up import WARM_UP_ACCESSES, warm_up_accesses
from nearfar.samples.point import SamplePoint

POINTS = [SamplePoint("latency", "chase", 4096, size) for size in (1 << 16, 1 << 20, 1 << 28)]


class Clock:
    """A clock that advances by a second at each reading."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def noisy(seed: int = 1):
    rng = random.Random(seed)
    return lambda _point: Sample(rng.uniform(50, 150))


def test_every_round_has_every_point_once() -> None:
    visits: list[SamplePoint] = []

    def sample(point: SamplePoint) -> Sample:
        visits.append(point)
        return Sample(1.0)

    samples = run_rounds(POINTS, sample, RoundLimits(0.0, repetitions=8)).samples
    assert {len(values) for values in samples.values()} == {8}
    rounds = (
        list(itertools.batched(visits, 3))
        if hasattr(itertools, "batched")
        else [tuple(visits[i : i + 3]) for i in range(0, len(visits), 3)]
    )
    assert all(set(each) == set(POINTS) for each in rounds)
    assert len(set(rounds)) > 1, "the order changes"


def test_noise_continues_rounds_until_time_is_up() -> None:
    samples = run_rounds(POINTS, noisy(), RoundLimits(200.0, clock=Clock())).samples
    counts = [len(values) for values in samples.values()]
    assert MIN_ROUNDS_TO_STOP < min(counts) < 200
    assert max(counts) - min(counts) <= 1, "time may end a round early"


def test_without_time_the_minimum_number_of_rounds_is_measured() -> None:
    samples = run_rounds(POINTS, noisy(), RoundLimits(0.0, clock=Clock())).samples
    assert {len(values) for values in samples.values()} == {MIN_ROUNDS}


def test_narrow_intervals_end_it_early() -> None:
    samples = run_rounds(
        POINTS, lambda _point: Sample(100.0), RoundLimits(1e9, clock=Clock())
    ).samples
    assert {len(values) for values in samples.values()} == {MIN_ROUNDS_TO_STOP}


def test_narrow_points_are_visited_less_and_leave_the_time_to_the_others() -> None:
    noise = noisy()

    def sample(point: SamplePoint) -> Sample:
        return Sample(100.0) if point == POINTS[0] else noise(point)

    taken = run_rounds(POINTS, sample, RoundLimits(200.0, clock=Clock())).samples
    counts = [len(taken[point]) for point in POINTS]
    assert counts[0] < counts[1] / 2
    assert counts[0] >= MIN_SAMPLES
    assert abs(counts[1] - counts[2]) <= 1
    exact = run_rounds(POINTS, sample, RoundLimits(0.0, repetitions=20)).samples
    assert {len(values) for values in exact.values()} == {20}


def test_a_wider_limit_and_fewer_rounds_end_it_earlier() -> None:
    dice = random.Random(2)

    def sample(_point: SamplePoint) -> Sample:
        return Sample(dice.uniform(99, 101))

    limits = RoundLimits(1e9, half_width=0.03, least=MIN_SAMPLES, clock=Clock())
    samples = run_rounds(POINTS, sample, limits).samples
    assert {len(values) for values in samples.values()} == {MIN_SAMPLES}


def test_progress_rises_to_one() -> None:
    told: list[float] = []
    limits = RoundLimits(0.0, repetitions=4)
    run_rounds(POINTS, noisy(), limits, lambda share, _rounds: told.append(share))
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_half_width_of_known_ranks() -> None:
    # For 100 values 1..100, ranks 50 -+ 9.8 are 41 (index 40) and 61 (index 60) around the median
    # 51.
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


def test_regions_begin_in_the_first_level_and_end_at_the_largest() -> None:
    assert region_sizes(256 << 20, 4) == [(1 << 14) * 4**i for i in range(8)]
    for largest in (64 << 10, 100 << 20, 3 << 30):
        sizes = region_sizes(largest, 2)
        assert sizes == sorted(set(sizes))
        assert sizes[-1] == largest
        assert sizes[0] == 16 << 10
        assert all(size % 64 == 0 for size in sizes)
    assert region_sizes(128 << 20, 4)[:2] == [16 << 10, 32 << 10]


def test_caches_are_filled_before_they_are_timed() -> None:
    llc = 32 << 20
    for size in region_sizes(8 * llc, 2):
        warm_up = warm_up_accesses(size, llc)
        assert warm_up >= WARM_UP_ACCESSES
        if size <= llc // 8:
            assert warm_up >= 12 * size // 64
        assert warm_up <= 2 * llc // 64
    assert warm_up_accesses(8 * llc, llc) == WARM_UP_ACCESSES


def samples_of(values: list[float], point: SamplePoint = POINTS[-1]):
    return {point: [Sample(value) for value in values]}


def test_noise_floor_is_the_difference_of_halves() -> None:
    assert figures.noise_floor(samples_of([100, 100, 110, 110])) == pytest.approx(10 / 110)
    assert figures.noise_floor(samples_of([100.0] * 8)) == 0.0
    assert figures.noise_floor(samples_of([100, 200]), "bandwidth") == 0.0


def test_warnings_about_doubtful_figures() -> None:
    llc = 32 << 20
    pages = 2 << 20

    def with_half_llc_at(ns: float):
        return {
            SamplePoint("latency", "chase", pages, 16 << 20): [Sample(ns)] * 4,
            SamplePoint("latency", "chase", pages, 256 << 20): [Sample(100.0)] * 4,
        }

    assert figures.doubts(with_half_llc_at(25.0), llc) == []
    assert any("16.0 MiB takes 80%" in doubt for doubt in figures.doubts(with_half_llc_at(80), llc))
    assert any("wider than" in doubt for doubt in figures.doubts(samples_of([1, 2, 3, 4, 5]), llc))
