"""The knapsack solver compared with brute force and with instances from textbooks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_examples import examples

from nearfar.place.filling import fill, order_by_density
from nearfar.place.knapsack import knapsack

ITEMS = st.lists(st.tuples(st.integers(-5, 60), st.integers(0, 40)), min_size=1, max_size=12)


def best_by_brute_force(values: np.ndarray, sizes: np.ndarray, budget: float) -> float:
    return max(
        float(values[list(chosen)].sum())
        for count in range(len(values) + 1)
        for chosen in itertools.combinations(range(len(values)), count)
        if sizes[list(chosen)].sum() <= budget
    )


@given(items=ITEMS, budget=st.integers(0, 250))
@examples(120)
def test_equals_brute_force(items: list[tuple[int, int]], budget: int):
    values, sizes = (np.array(column, dtype=float) for column in zip(*items, strict=True))
    solution = knapsack(values, sizes, budget)
    assert sizes[solution.chosen].sum() <= budget
    assert values[solution.chosen].sum() == pytest.approx(
        best_by_brute_force(values, sizes, budget)
    )
    assert solution.gap <= 1e-6


def test_greedy_is_arbitrarily_bad_and_exact_is_not():
    """A small dense object precludes the object that would fill the budget."""
    values, sizes = np.array([2.0, 100.0]), np.array([1.0, 100.0])
    greedy = fill(order_by_density(values, sizes), sizes, 100)
    assert values @ greedy == 2.0
    assert values[knapsack(values, sizes, 100).chosen].sum() == 100.0


def test_known_instance():
    """P07 of Burkardt's collection of knapsack instances: 15 objects, capacity 750, best 1458."""
    values = np.array(
        [135, 139, 149, 150, 156, 163, 173, 184, 192, 201, 210, 214, 221, 229, 240], dtype=float
    )
    sizes = np.array(
        [70, 73, 77, 80, 82, 87, 90, 94, 98, 106, 110, 113, 115, 118, 120], dtype=float
    )
    solution = knapsack(values, sizes, 750)
    assert values[solution.chosen].sum() == 1458.0
    assert np.flatnonzero(solution.chosen).tolist() == [0, 2, 4, 6, 7, 8, 13, 14]


def test_one_byte_below_the_budget_decides():
    values, sizes = np.array([10.0, 7.0]), np.array([1000.0, 500.0])
    assert knapsack(values, sizes, 999).chosen.tolist() == [False, True]
    assert knapsack(values, sizes, 1000).chosen.tolist() == [True, False]
    assert knapsack(values, sizes, 1499).chosen.tolist() == [True, False]
    assert knapsack(values, sizes, 1500).chosen.tolist() == [True, True]


def test_many_objects_of_similar_density_stay_within_a_small_gap():
    """Strongly correlated instances are the hard ones; a result without proof is reported."""
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 1000, 400).astype(float)
    values = sizes + 100
    solution = knapsack(values, sizes, float(sizes.sum() // 3))
    assert sizes[solution.chosen].sum() <= sizes.sum() // 3
    assert 0.0 <= solution.gap < 1e-2


def test_sizes_of_tebibytes_are_exact_to_the_byte():
    sizes = np.array([2.0**40, 2.0**40 + 1, 4096.0])
    values = np.array([5.0, 6.0, 1.0])
    assert knapsack(values, sizes, 2**40).chosen.tolist() == [True, False, False]
    assert knapsack(values, sizes, 2**40 + 1).chosen.tolist() == [False, True, False]
