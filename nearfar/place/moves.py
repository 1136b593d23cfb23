"""Placing anew when a phase starts, where that saves more than moving costs.

Every phase has a placement of its own; a change of phase copies what lies elsewhere in the next.
How often each change happens, and how much of an object is alive then, is what the profile saw.
The objects whose best place differs most between phases are chosen for by a mixed-integer
programme (sums of object costs and of copies); the rest stay as the static plan has them. The
model then times every phase, and only a plan that is still faster than the static one is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nearfar.documents import WorkloadProfile
from nearfar.documents.plan import Move, PhasePlacements
from nearfar.documents.workload import LiveSample
from nearfar.place.moves_solve import Candidates, Change, solve
from nearfar.place.problem import Problem
from nearfar.place.tiers import whole
from nearfar.predict.attribute import added_by_object_ns
from nearfar.predict.traffic import Array

MOST_OBJECTS = 40
"""That may move: those with most to gain."""

LITTLE = 0.001
"""Of what all objects add, what moving one may save at most for it to be worth a thought."""

MOVABLE = ("heap", "mmap", "file")
"""Kinds whose pages a run can find and move: not stacks nor globals."""

PAYS = 0.005
"""Of the static plan's time, what moving must save: less is below what models know."""

LEAST_LISTED = 0.01
"""Of the bytes alive, what an object has to be listed in a sample by itself."""


@dataclass(frozen=True, eq=False)
class Moving:
    """A placement for each phase."""

    shares: list[Array]
    """Of each phase, (objects, memories)."""
    phases: list[PhasePlacements]
    time_ns: float
    copying_ns: float
    first: int
    """Index of the phase that the program starts in."""


def changes_of(workload: WorkloadProfile, phases: list[str]) -> tuple[list[Change], int, bool]:
    """Return the changes between phases, the first phase, and whether samples showed them.

    Without samples of every phase, phases are taken to follow each other once, as listed.
    """
    number = {name: at for at, name in enumerate(phases)}
    samples = [one for one in workload.live if one.phase in number]
    if {one.phase for one in samples} != set(phases):
        listed = [Change(i, i + 1, 1, {}, np.inf) for i in range(len(phases) - 1)]
        return listed, 0, False
    seen: dict[tuple[int, int], list[LiveSample]] = {}
    for before, after in pairwise(samples):
        if before.phase != after.phase:
            seen.setdefault((number[before.phase], number[after.phase]), []).append(after)
    return (
        [_change(pair, alive) for pair, alive in sorted(seen.items())],
        number[samples[0].phase],
        True,
    )


def _change(pair: tuple[int, int], alive: list[LiveSample]) -> Change:
    sums: dict[int, float] = {}
    for sample in alive:
        for key, size in sample.bytes_by_object.items():
            if key.isdigit():
                sums[int(key)] = sums.get(int(key), 0.0) + size
    most = max((sum(sample.bytes_by_object.values()) for sample in alive), default=0)
    return Change(
        pair[0],
        pair[1],
        len(alive),
        {thing: size / len(alive) for thing, size in sums.items()},
        LEAST_LISTED * most,
    )


def moving(
    problem: Problem,
    workload: WorkloadProfile,
    budget_bytes: float,
    static: Array,
    copy_ns_per_byte: Array,
) -> Moving | None:
    """Return a plan that moves data between phases; None where that does not pay."""
    phases = [phase.name for phase in problem.phases]
    if len(phases) < 2:
        return None
    changes, first, _ = changes_of(workload, phases)
    costs = _costs_by_phase(problem)
    can_move = np.array([thing.kind in MOVABLE for thing in workload.objects], dtype=bool)
    kept = _worth_moving(costs, static, can_move)
    if not len(kept) or not changes:
        return None
    ids = [thing.id for thing in workload.objects]
    alive = np.array([[_alive(problem, c, int(i), ids) for i in kept] for c in changes])
    candidates = Candidates(costs[:, kept], kept, changes, alive, copy_ns_per_byte)
    memory = solve(problem, budget_bytes, static, candidates)
    if memory is None:
        return None
    shares = []
    for row in memory:
        placed = static.copy()
        placed[kept] = whole(row, static.shape[1])
        shares.append(placed)
    return _timed(problem, shares, static, candidates, first)


def _costs_by_phase(problem: Problem) -> Array:
    """Return what each object adds in each phase and memory, ns."""
    costs = np.zeros((len(problem.phases), len(problem.names), len(problem.fars) + 1))
    for memory, models in enumerate(problem.by_far, start=1):
        for at, model in enumerate(models):
            costs[at, :, memory] = added_by_object_ns(model)
    return costs


def _worth_moving(costs: Array, static: Array, can_move: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the objects whose cost differs most from what each phase by itself would have."""
    spread = costs.max(axis=2) - costs.min(axis=2)
    # An object that every phase needs alike gains nothing; whole ones only.
    gain = spread.max(axis=0) - spread.min(axis=0)
    gain = np.where(can_move & (static.max(axis=1, initial=0.0) >= 1.0), gain, 0.0)
    order = np.argsort(-gain, kind="stable")[:MOST_OBJECTS]
    return np.asarray(np.sort(order[gain[order] > LITTLE * spread.sum()]))


def _alive(problem: Problem, change: Change, thing: int, ids: list[int]) -> float:
    size = float(problem.sizes_bytes[thing])
    return min(size, change.alive_bytes.get(ids[thing], min(size, change.others_bytes)))


def _timed(
    problem: Problem,
    shares: list[Array],
    static: Array,
    candidates: Candidates,
    first: int,
) -> Moving | None:
    """Return the plan with its time by the model and its moves; None where it does not pay."""
    kept, copy_ns_per_byte = candidates.kept, candidates.copy_ns_per_byte
    far = range(1, static.shape[1])
    spent = problem.times_by_phase(
        [[shares[at][:, m] @ phase.objects for m in far] for at, phase in enumerate(problem.phases)]
    )
    names = problem.memory_names
    slowness = {names[memory]: rank for rank, memory in enumerate(problem.speed_order)}
    moves: dict[int, dict[tuple[int, int], Move]] = {}
    entries: dict[int, int] = {}
    copying = 0.0
    for change, row in zip(candidates.changes, candidates.alive, strict=True):
        entries[change.after] = entries.get(change.after, 0) + change.times
        before = shares[change.before][kept].argmax(axis=1)
        after = shares[change.after][kept].argmax(axis=1)
        for at in np.flatnonzero(before != after):
            source, target = int(before[at]), int(after[at])
            cost = float(row[at] * copy_ns_per_byte[source, target])
            copying += change.times * cost
            moves.setdefault(change.after, {})[int(kept[at]), source] = Move(
                object=int(kept[at]),
                source=names[source],
                memory=names[target],
                bytes=round(float(row[at])),
                cost_ns=cost,
            )
    time_ns = float(spent) + copying
    if not moves or time_ns > (1 - PAYS) * float(problem.shared_times_ns(static)):
        return None
    return Moving(
        shares,
        [
            PhasePlacements(
                phase=problem.phases[at].name,
                entries=entries[at],
                # What leaves fast memory goes first: it makes room for what comes.
                moves=sorted(moves[at].values(), key=lambda move: -slowness[move.memory]),
            )
            for at in sorted(moves)
        ],
        time_ns,
        copying,
        first,
    )
