"""Parts of objects: objects divided where the prices of the limits leave a choice."""

from types import SimpleNamespace

import numpy as np
import pytest

from nearfar.base.units import PAGE_BYTES
from nearfar.place.capacity import CapacityLimits, price_limits
from nearfar.place.parts import MAX_DIVIDED, MIN_PART_SHARE, _split_by_price

NEAR, MIDDLE, SLOW = range(3)


def problem(costs: np.ndarray, sizes: np.ndarray) -> SimpleNamespace:
    return SimpleNamespace(costs_ns=costs, sizes_bytes=sizes, speed_order=[NEAR, MIDDLE, SLOW])


def one_by_one(
    reduced: np.ndarray, sizes: np.ndarray, limits: np.ndarray, can_split: np.ndarray
) -> np.ndarray | None:
    """Return the shares where each limit is a memory's capacity."""
    ordered = np.sort(reduced, axis=1)
    order = np.argsort(-(ordered[:, 1] - ordered[:, 0]) / np.maximum(sizes, 1.0), kind="stable")
    shares, free = np.zeros_like(reduced), limits.copy()
    for at in order:
        left = sizes[at]
        for memory in np.argsort(reduced[at], kind="stable"):
            part = left
            if free[memory] < left:
                part = free[memory] // PAGE_BYTES * PAGE_BYTES
                if not can_split[at] or part < MIN_PART_SHARE * sizes[at]:
                    part = 0.0
            shares[at, memory] += part / sizes[at]
            free[memory] -= part
            left -= part
            if left <= 0.0:
                break
        else:
            return None
    return shares


def drawn(seed: int, space: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray, CapacityLimits]:
    """Return costs that grow from memory to memory, sizes, and limits of the first memories."""
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 120))
    costs = np.cumsum(random.uniform(0.0, 1e9, (count, 3)), axis=1)
    costs -= costs[:, :1]
    sizes = random.integers(100, 500, count) * 3000.0
    most = np.floor(sizes.sum() * np.array(space))
    return costs, sizes, CapacityLimits(np.eye(3)[: len(space)], most)


@pytest.mark.parametrize("space", [(0.1,), (0.6,), (0.1, 0.1), (0.2, 0.5), (0.01, 0.9), (0.9, 0.9)])
def test_the_split_is_as_good_as_the_bound_up_to_the_smallest_parts(
    space: tuple[float, ...],
) -> None:
    for seed in range(15):
        costs, sizes, limits = drawn(seed, space)
        prices = price_limits(costs, sizes, limits)
        every = np.ones(len(sizes), dtype=bool)
        given = problem(costs, sizes)
        shares = _split_by_price(given, prices.reduced_ns, limits, every, MAX_DIVIDED)
        assert shares is not None
        assert limits.allow(shares.T @ sizes)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-9)
        # Each limit divides an object, whose parts are whole pages and not the smallest.
        least = MIN_PART_SHARE + 2 * PAGE_BYTES / sizes.min()
        allowed = 2 * len(space) * least * costs.max()
        assert (costs * shares).sum() <= prices.bound_ns + allowed
        assert np.count_nonzero(shares.max(axis=1) < 1.0 - least) <= len(space)


def test_which_of_two_equal_memories_comes_first_does_not_matter() -> None:
    """Processors round differently, so the reduced costs of a divided object are in any order."""
    costs, sizes, limits = drawn(1, (0.1, 0.2))
    reduced = price_limits(costs, sizes, limits).reduced_ns
    noise = np.random.default_rng(0).uniform(-1e-6, 1e-6, (10, *reduced.shape))
    every = np.ones(len(sizes), dtype=bool)
    found = [
        _split_by_price(problem(costs, sizes), reduced + each, limits, every, MAX_DIVIDED)
        for each in noise
    ]
    for shares in found:
        assert shares is not None
        np.testing.assert_array_equal(shares, found[0])


@pytest.mark.parametrize("space", [0.3, 0.6, 1.0, 3.0])
def test_limits_of_all_memories_and_objects_that_stay_whole(space: float) -> None:
    found = 0
    for seed in range(40):
        costs, sizes, _ = drawn(seed, ())
        random = np.random.default_rng(seed)
        can_split = random.random(len(sizes)) < 0.6
        most = np.floor(sizes.sum() * space * random.uniform(0.5, 1.5, 3))
        limits = CapacityLimits(np.eye(3), most)
        shares = _split_by_price(problem(costs, sizes), costs, limits, can_split, MAX_DIVIDED)
        if shares is None:
            continue
        found += 1
        assert limits.allow(shares.T @ sizes)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-9)
        np.testing.assert_allclose(shares[~can_split].max(axis=1, initial=0.0), 1.0)
    assert found >= {0.3: 0, 0.6: 10, 1.0: 30, 3.0: 40}[space]


@pytest.mark.parametrize("most_divided", [0, MAX_DIVIDED])
def test_nothing_is_divided_where_everything_fits(most_divided: int) -> None:
    costs, sizes, _ = drawn(3, ())
    for limits in (CapacityLimits(np.zeros((0, 3)), np.zeros(0)),
                   CapacityLimits(np.eye(3), np.full(3, sizes.sum()))):  # fmt: skip
        every = np.ones(len(sizes), dtype=bool)
        shares = _split_by_price(problem(costs, sizes), costs, limits, every, most_divided)
        assert shares is not None
        np.testing.assert_array_equal(shares[:, NEAR], 1.0)


@pytest.mark.parametrize("space", [0.3, 0.6, 1.0, 3.0])
def test_many_at_once_are_the_same_as_one_by_one(space: float) -> None:
    found = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        count = int(random.integers(1, 40))
        reduced = random.uniform(0.0, 1e9, (count, 3))
        sizes = random.integers(1, 500, count) * 3000.0
        can_split = random.random(count) < 0.6
        most = np.floor(sizes.sum() * space * random.uniform(0.5, 1.5, 3))
        expected = one_by_one(reduced, sizes, most, can_split)
        limits = CapacityLimits(np.eye(3), most)
        shares = _split_by_price(problem(reduced, sizes), reduced, limits, can_split, 0)
        assert (shares is None) == (expected is None)
        if shares is not None:
            found += 1
            np.testing.assert_array_equal(shares, expected)
    assert found >= (0 if space < 0.5 else 10)
