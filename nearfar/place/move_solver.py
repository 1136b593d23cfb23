"""The mixed-integer programme of moves: a memory per object and phase, with the copies' costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nearfar.place.capacity import capacity_limits
from nearfar.place.problem import Problem
from nearfar.place.solver import solve_milp
from nearfar.predict.traffic import Array

if TYPE_CHECKING:
    from scipy.optimize import LinearConstraint

TIME_LIMIT_S = 2.0
"""Time after which HiGHS returns its best choice so far."""

RELATIVE_GAP = 1e-4
"""Relative gap of the total cost at which HiGHS may stop."""


@dataclass(frozen=True)
class PhaseChange:
    """One phase that follows another."""

    before: int
    """Index of the phase that ends."""
    after: int
    """Index of the phase that begins."""
    times: int
    """How often the change happens."""
    alive_bytes: dict[int, float]
    """Mean bytes alive as `after` begins, by object id; objects not listed have their size."""
    others_bytes: float
    """Most bytes of an object that samples do not list."""


@dataclass(frozen=True, eq=False)
class MoveCandidates:
    """Objects that may move, and the costs of their placements and copies."""

    costs_ns: Array
    """Added time, (phases, candidates, memories)."""
    objects: NDArray[np.intp]
    """Object numbers of the candidates."""
    changes: list[PhaseChange]
    alive_bytes: Array
    """Bytes that a change would copy, (changes, candidates)."""
    copy_ns_per_byte: Array
    """(from, to)."""


@dataclass
class _Rows:
    """Rows of a sparse constraint matrix with their bounds."""

    columns: list[list[int]] = field(default_factory=list)
    values: list[list[float]] = field(default_factory=list)
    bounds: list[tuple[float, float]] = field(default_factory=list)

    def add(self, columns: list[int], values: list[float], low: float, high: float) -> None:
        self.columns.append(columns)
        self.values.append(values)
        self.bounds.append((low, high))

    def constraint(self, variables: int) -> LinearConstraint:
        from scipy.optimize import LinearConstraint
        from scipy.sparse import csr_matrix

        data = np.array([value for row in self.values for value in row])
        columns = np.array([column for row in self.columns for column in row])
        row_of = np.array([at for at, row in enumerate(self.columns) for _ in row])
        matrix = csr_matrix((data, (row_of, columns)), (len(self.bounds), variables))
        low, high = (np.array(ends) for ends in zip(*self.bounds, strict=True))
        return LinearConstraint(matrix, low, high)


def solve_moves(
    problem: Problem, budget_bytes: float, static: Array, candidates: MoveCandidates
) -> NDArray[np.int_] | None:
    """Return the memory of each candidate in each phase, (phases, candidates); None: none found.

    The variable x[phase, object, memory] is 1 if the object is in that memory, else 0. The variable
    y[change, object, pair of memories] is 1 for a copy: y >= x[before, from] + x[after, to] - 1.
    """
    costs, changes = candidates.costs_ns, candidates.changes
    phases, count, memories = costs.shape
    x = np.arange(phases * count * memories).reshape(phases, count, memories)
    pairs = [(m, n) for m in range(memories) for n in range(memories) if m != n]
    y = x.size + np.arange(len(changes) * count * len(pairs)).reshape(
        len(changes), count, len(pairs)
    )
    objective = np.zeros(x.size + y.size)
    objective[x.ravel()] = costs.ravel()
    rows = _placement_rows(problem, budget_bytes, static, candidates, x)
    for at, change in enumerate(changes):
        for item in range(count):
            for pair, (source, target) in enumerate(pairs):
                column = int(y[at, item, pair])
                objective[column] = (
                    change.times
                    * candidates.alive_bytes[at, item]
                    * candidates.copy_ns_per_byte[source, target]
                )
                before = int(x[change.before, item, source])
                after = int(x[change.after, item, target])
                rows.add([column, before, after], [1.0, -1.0, -1.0], -1.0, np.inf)
    unit = float(np.abs(objective).max()) or 1.0
    solution, _ = solve_milp(
        objective / unit,
        [rows.constraint(objective.size)],
        np.concatenate([np.ones(x.size, int), np.zeros(y.size, int)]),
        time_limit_s=TIME_LIMIT_S,
        relative_gap=RELATIVE_GAP,
    )
    if solution is None:
        return None
    memory: NDArray[np.int_] = solution[x].argmax(axis=2)
    return memory


def _placement_rows(
    problem: Problem,
    budget_bytes: float,
    static: Array,
    candidates: MoveCandidates,
    x: NDArray[np.int_],
) -> _Rows:
    """Return the rows that give each object one memory and meet the limits in each phase."""
    phases, count, memories = x.shape
    limits = capacity_limits(problem, budget_bytes)
    others = static.copy()
    others[candidates.objects] = 0.0
    used = limits.weights @ (others.T @ problem.sizes_bytes)
    scale = np.maximum(limits.limits, 1.0)
    rows = _Rows()
    for phase in range(phases):
        for item in range(count):
            rows.add(x[phase, item].tolist(), [1.0] * memories, 1.0, 1.0)
        for limit in range(len(limits.limits)):
            sizes = np.outer(problem.sizes_bytes[candidates.objects], limits.weights[limit])
            left = (limits.limits[limit] - used[limit]) / scale[limit]
            weights = (sizes / scale[limit]).ravel().tolist()
            rows.add(x[phase].ravel().tolist(), weights, -np.inf, left)
    return rows
