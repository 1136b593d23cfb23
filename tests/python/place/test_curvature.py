"""The bound from slopes around a plan."""

from __future__ import annotations

import numpy as np
import pytest
import samples

from nearfar.devices.library import load_device
from nearfar.place.curvature import bound_around
from nearfar.place.knapsack import knapsack
from nearfar.place.problem import Problem, make_problem
from nearfar.place.search import knapsack_search
from nearfar.predict.object_effects import least_added_by_object_ns
from nearfar.predict.traffic import Array


def _problem(objects: int, seed: int, far: str) -> Problem:
    workload = samples.workload(objects=objects, seed=seed)
    return make_problem(workload, samples.device(), load_device(far))


def _least(problem: Problem) -> Array:
    return problem.sum_by_input(least_added_by_object_ns).sum(axis=0)[:, 1]


@pytest.mark.parametrize("far", ["optane-100-6dimm", "cxl-micron-cz120"])
@pytest.mark.parametrize("seed", range(6))
def test_no_placement_adds_less_than_the_bound(seed: int, far: str):
    problem = _problem(10, seed, far)
    sizes = problem.sizes_bytes
    each = (np.arange(1 << len(sizes))[:, np.newaxis] >> np.arange(len(sizes)) & 1).astype(float)
    times_ns = problem.times_ns(each)
    least = _least(problem)
    for budget in np.array([0.02, 0.2, 0.5, 0.9]) * sizes.sum():
        fitting = np.flatnonzero(each @ sizes <= budget)
        # Around the best placement, and around one that is not.
        for at in (int(fitting[times_ns[fitting].argmin()]), int(fitting[len(fitting) // 2])):
            plan = problem.in_first_far(each[at])
            bound = bound_around(problem, budget, plan, least, close_ns=0.0)
            best = times_ns[fitting].min() - problem.near_time_ns.value
            assert bound <= best + 1e-9 * times_ns.max()


def test_the_bound_is_better_than_that_of_least_costs_where_bandwidth_is_shared():
    problem = _problem(1500, 1, "optane-100-6dimm")
    budget = 0.01 * problem.footprint_bytes
    plan = knapsack_search(problem, budget)
    added = float(problem.shared_times_ns(plan)) - problem.near_time_ns.value
    least = _least(problem)
    solution = knapsack(least, problem.sizes_bytes, budget)
    by_least = float(least.sum() - least[solution.chosen].sum() * (1.0 + solution.gap))
    bound = bound_around(problem, budget, plan, least, close_ns=0.0)
    assert added - bound < 0.25 * (added - by_least)
