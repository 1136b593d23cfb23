"""The programme that chooses a memory per object and phase, copies between phases included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.place._silence import native_stdout_silenced
from nearfar.place.problem import Problem
from nearfar.place.rooms import rooms_of
from nearfar.predict.traffic import Array

TIME_LIMIT_S = 2.0


@dataclass(frozen=True)
class Change:
    """One phase following another."""

    before: int
    """Index of the phase that ends."""
    after: int
    times: int
    alive_bytes: dict[int, float]
    """By object: alive as `after` began, on average; those not listed: their size."""
    others_bytes: float
    """At most this much of an object that samples do not list."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Objects that may move, and what it costs them."""

    costs_ns: Array
    """(phases, kept, memories)."""
    kept: NDArray[np.intp]
    """Their numbers."""
    changes: list[Change]
    alive: Array
    """Bytes that a change would move, (changes, kept)."""
    copy_ns_per_byte: Array
    """(from, to)."""


def solve(
    problem: Problem, budget_bytes: float, static: Array, candidates: Candidates
) -> NDArray[np.int_] | None:
    """Return the memory of each kept object in each phase, (phases, kept); None: not found.

    Variables: x[phase, object, memory] whole, y[change, object, from, to] >= x[before, from] +
    x[after, to] - 1.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_matrix

    costs, kept, changes = candidates.costs_ns, candidates.kept, candidates.changes
    phases, count, memories = costs.shape
    x = np.arange(phases * count * memories).reshape(phases, count, memories)
    pairs = [(m, n) for m in range(memories) for n in range(memories) if m != n]
    y = x.size + np.arange(len(changes) * count * len(pairs)).reshape(
        len(changes), count, len(pairs)
    )
    objective = np.zeros(x.size + y.size)
    objective[x.ravel()] = costs.ravel()
    rows: list[tuple[list[int], list[float], float, float]] = []
    rooms = rooms_of(problem, budget_bytes)
    others = static.copy()
    others[kept] = 0.0
    taken = rooms.weights @ (others.T @ problem.sizes_bytes)
    scale = np.maximum(rooms.limits, 1.0)
    for phase in range(phases):
        for thing in range(count):
            rows.append((x[phase, thing].tolist(), [1.0] * memories, 1.0, 1.0))
        for limit in range(len(rooms.limits)):
            sizes = np.outer(problem.sizes_bytes[kept], rooms.weights[limit]) / scale[limit]
            left = (rooms.limits[limit] - taken[limit]) / scale[limit]
            rows.append((x[phase].ravel().tolist(), sizes.ravel().tolist(), -np.inf, left))
    for at, change in enumerate(changes):
        for thing in range(count):
            for pair, (m, n) in enumerate(pairs):
                column = int(y[at, thing, pair])
                objective[column] = (
                    change.times * candidates.alive[at, thing] * candidates.copy_ns_per_byte[m, n]
                )
                before, after = int(x[change.before, thing, m]), int(x[change.after, thing, n])
                rows.append(([column, before, after], [1.0, -1.0, -1.0], -1.0, np.inf))
    data = np.array([value for _, values, _, _ in rows for value in values])
    row_of = np.array([at for at, row in enumerate(rows) for _ in row[0]])
    columns = np.array([column for row in rows for column in row[0]])
    matrix = csr_matrix((data, (row_of, columns)), (len(rows), objective.size))
    unit = float(np.abs(objective).max()) or 1.0
    with native_stdout_silenced():
        found = milp(
            objective / unit,
            constraints=LinearConstraint(
                matrix, np.array([row[2] for row in rows]), np.array([row[3] for row in rows])
            ),
            integrality=np.concatenate([np.ones(x.size, int), np.zeros(y.size, int)]),
            bounds=Bounds(0, 1),
            options={"time_limit": TIME_LIMIT_S, "mip_rel_gap": 1e-4},
        )
    if found.x is None:
        return None
    chosen: NDArray[np.int_] = found.x[x].argmax(axis=2)
    return chosen
