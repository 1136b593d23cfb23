"""The best choice for one budget, by a mixed-integer solver, with a proven gap."""

from __future__ import annotations

import numpy as np

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.place.optimiser import OPTIMISERS, Choice, Optimiser
from nearfar.place.order import best_of, fill, greedy_order
from nearfar.place.problem import Problem
from nearfar.predict.traffic import Array

TIME_LIMIT_S = 4.0
"""After this the best choice so far is taken, with its gap: a plan within 5 s in all."""

RELATIVE_GAP = 1e-6
"""A millionth of the saved time: far below what any prediction knows."""


@OPTIMISERS.register("exact")
class Exact(Optimiser):
    """A 0/1 knapsack solved by HiGHS: the greatest saved time that fits.

    The objects' shares of the added time are what is summed, so the proof holds where times
    add. Where bandwidth binds they do not, and the greedy choice, timed by the model, may be
    better: then it is taken.
    """

    name = "exact"
    bar = "optimal"

    def choose(self, problem: Problem, budget_bytes: int) -> Choice:
        """Return the solver's choice, or the greedy one where the model times that faster."""
        shares, gap = knapsack(problem.added_ns, problem.sizes_bytes, budget_bytes)
        filled = fill(greedy_order(problem), problem, budget_bytes)
        return Choice(best_of(problem, [shares, filled]), gap)


def knapsack(values: Array, sizes_bytes: Array, budget_bytes: int) -> tuple[Array, float]:
    """Return the 0/1 choice of greatest value that fits, and its proven relative gap."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    near = np.zeros(len(values))
    near[(values > 0) & (sizes_bytes == 0)] = 1.0
    asked = np.flatnonzero((values > 0) & (sizes_bytes > 0) & (sizes_bytes <= budget_bytes))
    if asked.size == 0 or sizes_bytes[asked].sum() <= budget_bytes:
        near[asked] = 1.0
        return near, 0.0
    # In units of the budget and of the greatest value, so that the solver's absolute
    # tolerances mean the same for a KiB as for a TiB.
    weights = sizes_bytes[asked] / budget_bytes
    worth = values[asked] / values[asked].max()
    solved = milp(
        -worth,
        constraints=LinearConstraint(weights[np.newaxis, :], -np.inf, 1.0),
        integrality=np.ones(asked.size, dtype=np.int64),
        bounds=Bounds(0, 1),
        options={"time_limit": TIME_LIMIT_S, "mip_rel_gap": RELATIVE_GAP},
    )
    if solved.x is None:
        raise NearfarError(
            f"the solver found no choice for this budget ({solved.message}): use "
            "--optimiser greedy",
            ExitCode.MACHINE_LACKS,
        )
    near[asked[solved.x > 0.5]] = 1.0
    _trim(near, values, sizes_bytes, budget_bytes)
    return near, float(solved.mip_gap)


def _trim(near: Array, values: Array, sizes_bytes: Array, budget_bytes: int) -> None:
    """Drop the least valuable objects while the choice is over budget.

    The solver keeps its constraint within a tolerance of 1e-6; a plan keeps it to the byte.
    """
    while np.dot(near, sizes_bytes) > budget_bytes:
        chosen = np.flatnonzero((near > 0) & (sizes_bytes > 0))
        near[chosen[np.argmin(values[chosen])]] = 0.0
