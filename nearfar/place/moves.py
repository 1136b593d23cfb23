"""Moving objects when a phase starts, where that saves more time than the copies take.

Every phase has its own placement, and a change of phase copies the objects whose memory differs.
The profile's samples show how often each change happens, and how many bytes of an object are live
at the change. A mixed-integer programme minimises the sum of object costs and copies. It places the
objects whose best memory differs most between phases; all others stay as in the static plan. Then
the model times every phase, and the moving plan is used only if it is faster than the static plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nearfar.base.units import LINE_BYTES
from nearfar.documents import MachineProfile, WorkloadProfile
from nearfar.documents.machine import JointLimit
from nearfar.documents.plan import Move, PhasePlacements
from nearfar.documents.profiled_run import LiveSample
from nearfar.place.filling import whole_shares
from nearfar.place.move_solver import MoveCandidates, PhaseChange, solve_moves
from nearfar.place.problem import Problem
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.object_effects import added_by_object_ns
from nearfar.predict.traffic import Array

MAX_OBJECTS = 40
"""Most objects that may move: those with most to gain."""

MIN_GAIN_SHARE = 0.001
"""Least possible gain of an object that may move, as a share of the time that all objects add."""

MOVABLE = ("heap", "mmap", "file")
"""Kinds of objects whose pages a run can find and move: not stacks nor globals."""

MIN_SAVED_SHARE = 0.005
"""Share of the static plan's time that moving must save: the models are not more precise."""

MIN_LISTED_SHARE = 0.01
"""Share of the bytes alive from which a sample lists an object by itself."""


@dataclass(frozen=True, eq=False)
class MovingPlan:
    """A placement for each phase, with the moves between them."""

    shares: list[Array]
    """Shares of each phase, (objects, memories)."""
    phases: list[PhasePlacements]
    time_ns: float
    copying_ns: float
    first: int
    """Index of the phase that the program starts in."""


def phase_changes(
    workload: WorkloadProfile, phases: list[str]
) -> tuple[list[PhaseChange], int, bool]:
    """Return the changes between phases, the first phase, and whether these come from samples.

    If some phase has no sample, phases are assumed to run once each, in the order of `phases`.
    """
    number = {name: at for at, name in enumerate(phases)}
    samples = [sample for sample in workload.live if sample.phase in number]
    if {sample.phase for sample in samples} != set(phases):
        listed = [PhaseChange(i, i + 1, 1, {}, np.inf) for i in range(len(phases) - 1)]
        return listed, 0, False
    changes: dict[tuple[int, int], list[LiveSample]] = {}
    for before, after in pairwise(samples):
        if before.phase != after.phase:
            pair = number[before.phase], number[after.phase]
            changes.setdefault(pair, []).append(after)
    return (
        [_phase_change(pair, alive) for pair, alive in sorted(changes.items())],
        number[samples[0].phase],
        True,
    )


def _phase_change(pair: tuple[int, int], alive: list[LiveSample]) -> PhaseChange:
    sums: dict[int, float] = {}
    for sample in alive:
        for key, size in sample.bytes_by_object.items():
            if key.isdigit():
                sums[int(key)] = sums.get(int(key), 0.0) + size
    max_alive = max((sum(sample.bytes_by_object.values()) for sample in alive), default=0)
    return PhaseChange(
        *pair,
        len(alive),
        {object_id: size / len(alive) for object_id, size in sums.items()},
        MIN_LISTED_SHARE * max_alive,
    )


def moving_plan(
    problem: Problem,
    workload: WorkloadProfile,
    budget_bytes: float,
    static: Array,
    copy_ns_per_byte: Array,
) -> MovingPlan | None:
    """Return a plan that moves objects between phases; None if it saves too little time."""
    phases = [phase.name for phase in problem.phases]
    if len(phases) < 2:
        return None
    changes, first, _ = phase_changes(workload, phases)
    costs = _costs_by_phase(problem)
    can_move = np.array([item.kind in MOVABLE for item in workload.objects], dtype=bool)
    objects = _worth_moving(costs, static, can_move)
    if not len(objects) or not changes:
        return None
    ids = [item.id for item in workload.objects]
    alive = np.array([[_alive_bytes(problem, c, int(i), ids) for i in objects] for c in changes])
    candidates = MoveCandidates(costs[:, objects], objects, changes, alive, copy_ns_per_byte)
    memory = solve_moves(problem, budget_bytes, static, candidates)
    if memory is None:
        return None
    shares = []
    for row in memory:
        placed = static.copy()
        placed[objects] = whole_shares(row, static.shape[1])
        shares.append(placed)
    return _timed_plan(problem, shares, static, candidates, first)


def _costs_by_phase(problem: Problem) -> Array:
    """Return the time that each object adds, ns, shape (phases, objects, memories)."""
    costs = np.zeros((len(problem.phases), len(problem.names), len(problem.fars) + 1))
    for memory, models in enumerate(problem.by_far, start=1):
        for at, model in enumerate(models):
            costs[at, :, memory] = added_by_object_ns(model)
    return costs


def _worth_moving(costs: Array, static: Array, can_move: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the undivided objects whose cost differs most between phases."""
    spread = costs.max(axis=2) - costs.min(axis=2)
    # An object that every phase needs equally gains nothing.
    gain = spread.max(axis=0) - spread.min(axis=0)
    gain = np.where(can_move & (static.max(axis=1, initial=0.0) >= 1.0), gain, 0.0)
    order = np.argsort(-gain, kind="stable")[:MAX_OBJECTS]
    return np.asarray(np.sort(order[gain[order] > MIN_GAIN_SHARE * spread.sum()]))


def _alive_bytes(problem: Problem, change: PhaseChange, index: int, ids: list[int]) -> float:
    size = float(problem.sizes_bytes[index])
    return min(size, change.alive_bytes.get(ids[index], min(size, change.others_bytes)))


def _timed_plan(
    problem: Problem,
    shares: list[Array],
    static: Array,
    candidates: MoveCandidates,
    first: int,
) -> MovingPlan | None:
    """Return the plan with its moves and the model's time; None if it saves too little time."""
    far = range(1, static.shape[1])
    spent_ns = problem.times_by_phase(
        [[shares[at][:, m] @ phase.objects for m in far] for at, phase in enumerate(problem.phases)]
    )
    moves, entries, copying_ns = _moves(problem, shares, candidates)
    time_ns = float(spent_ns) + copying_ns
    static_ns = float(problem.shared_times_ns(static))
    if not moves or time_ns > (1 - MIN_SAVED_SHARE) * static_ns:
        return None
    names = problem.memory_names
    speed_rank = {names[memory]: rank for rank, memory in enumerate(problem.speed_order)}
    phases = [
        PhasePlacements(
            phase=problem.phases[at].name,
            entries=entries[at],
            # Moves out of fast memory come first, to make space for moves into it.
            moves=sorted(moves[at], key=lambda move: -speed_rank[move.memory]),
        )
        for at in sorted(moves)
    ]
    return MovingPlan(shares, phases, time_ns, copying_ns, first)


def _moves(
    problem: Problem, shares: list[Array], candidates: MoveCandidates
) -> tuple[dict[int, list[Move]], dict[int, int], float]:
    """Return the moves into each phase, how often each begins, and the time of all copies, ns."""
    names, objects = problem.memory_names, candidates.objects
    moves: dict[int, dict[tuple[int, int], Move]] = {}
    entries: dict[int, int] = {}
    copying_ns = 0.0
    for change, alive in zip(candidates.changes, candidates.alive_bytes, strict=True):
        entries[change.after] = entries.get(change.after, 0) + change.times
        before = shares[change.before][objects].argmax(axis=1)
        after = shares[change.after][objects].argmax(axis=1)
        for at in np.flatnonzero(before != after):
            source, target = int(before[at]), int(after[at])
            cost_ns = float(alive[at] * candidates.copy_ns_per_byte[source, target])
            copying_ns += change.times * cost_ns
            moves.setdefault(change.after, {})[int(objects[at]), source] = Move(
                object=int(objects[at]),
                source=names[source],
                memory=names[target],
                bytes=round(float(alive[at])),
                cost_ns=cost_ns,
            )
    return {at: list(into.values()) for at, into in moves.items()}, entries, copying_ns


def copy_ns_per_byte(
    problem: Problem, machine: MachineProfile | None = None, gb_per_s: float | None = None
) -> Array:
    """Return the time to copy one byte between memories, ns, shape (from, to).

    The rate is `gb_per_s` if given, else the one that the machine measured for copies between the
    two memories by one thread. Without either, one core reads a line in sequence and then writes it
    at the memory's bandwidth: no kernel that moves pages is faster.
    """
    memories = problem.memories
    times = np.zeros((len(memories), len(memories)))
    for i, source in enumerate(memories):
        for j, target in enumerate(memories):
            if i == j:
                continue
            rate = gb_per_s if gb_per_s is not None else _measured_rate(machine, source, target)
            line_ns = source.core_stream_ns + target.copied_to_ns
            times[i, j] = 1.0 / rate if rate is not None else line_ns / LINE_BYTES
    return times


def _measured_rate(
    machine: MachineProfile | None, source: MemoryCosts, target: MemoryCosts
) -> float | None:
    """Return the GB/s that one thread copied between two memories while other threads copied."""
    for limit in machine.joint_limits if machine is not None else []:
        for first, second, copy in ((source, target, "A->B"), (target, source, "B->A")):
            if _has_name(first, limit.memories[0]) and _has_name(second, limit.memories[1]):
                return _one_thread_rate(limit, copy)
    return None


def _one_thread_rate(limit: JointLimit, copy: str) -> float | None:
    rates = [
        split.gb_per_s[1]
        for split in limit.splits
        if split.copies[1] == copy and split.threads[1] == 1
    ]
    # The measured rate counts bytes read and bytes written, so half of it is the rate of moved
    # data.
    return max(rates) / 2 if rates and max(rates) > 0 else None


def _has_name(memory: MemoryCosts, name: str) -> bool:
    measured = memory.device.measured
    return name in (memory.device.name, measured.memory_spec if measured else None)
