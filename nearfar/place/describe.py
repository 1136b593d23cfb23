"""A choice as the document says it: placements, memories, and what the plan cannot know."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from nearfar.base.statistics import Estimate
from nearfar.documents import WorkloadProfile
from nearfar.documents.plan import Placement, PlanMemory
from nearfar.place.machine_file import FarMemory
from nearfar.place.optimiser import Choice
from nearfar.place.parts import parts_of
from nearfar.place.problem import Problem
from nearfar.place.undecided import by_classes, by_writes, write_over_read
from nearfar.predict.api import added_interval
from nearfar.predict.total import sum_estimates
from nearfar.predict.traffic import Array

MOST_NAMED = 5
"""Objects named in a caveat; more are counted."""

ASYMMETRIC = 1.2
"""Ratio of writes to reads over near memory's from which a far memory is one for reads."""


def placements_of(
    workload: WorkloadProfile,
    problem: Problem,
    shares: Array,
    dealt: Mapping[int, tuple[int, ...]],
) -> list[Placement]:
    """Return where every object goes, with what tells it from the others."""
    far = sum_estimates([found.far_time_ns for found in problem.far_outcome])
    added = problem.added_ns
    low, high = added_interval(added, problem.near_time_ns.value, far)
    effects = zip(added.tolist(), low.tolist(), high.tolist(), strict=True)
    names, order = problem.memory_names, problem.speed_order
    return [
        Placement(
            object=number,
            name=problem.names[number],
            size_bytes=int(problem.sizes_bytes[number]),
            memory=names[int(shares[number].argmax())],
            added_ns_if_far=Estimate(*effect),
            kind=thing.kind,
            frames=thing.frames,
            told_by=thing.told_by,
            via=thing.via,
            split=thing.split,
            parts=[] if number in dealt else parts_of(shares[number], names, order),
            interleave={
                name: weight
                for name, weight in zip(names, dealt.get(number, ()), strict=False)
                if weight
            },
        )
        for number, (thing, effect) in enumerate(zip(workload.objects, effects, strict=True))
    ]


def memories_of(
    problem: Problem,
    shares: Array,
    budget_bytes: int,
    fars: Sequence[FarMemory],
    near_spec: str,
) -> list[PlanMemory]:
    """Return the plan's memories, near first."""
    used = np.rint(shares.T @ problem.sizes_bytes).astype(int).tolist()
    capacities = [budget_bytes, *(far.capacity_bytes for far in fars)]
    specs = [near_spec, *(far.spec for far in fars)]
    rows = zip(
        problem.memory_names,
        problem.memories,
        capacities,
        specs,
        used,
        problem.prices_per_byte().tolist(),
        strict=True,
    )
    return [
        PlanMemory(
            name=name,
            device=memory.device.name,
            spec=spec,
            capacity_bytes=capacity,
            used_bytes=taken,
            price_per_byte=price,
            write_over_read=write_over_read(memory),
        )
        for name, memory, capacity, spec, taken, price in rows
    ]


def of_plan(
    problem: Problem,
    budget_bytes: int,
    shares: Array,
    choices: Mapping[str, Choice],
    *,
    allow: Collection[str],
    joint_limits: bool,
) -> list[str]:
    """Return what the plan hangs on and cannot know, in sentences."""
    return [
        *_hanging(problem, by_classes(problem, budget_bytes)),
        *_of_writes(problem, budget_bytes),
        *_of_parts(allow, shares),
        *_of_bandwidth(problem, joint_limits),
        *_of_times(problem, shares, choices),
    ]


def _hanging(problem: Problem, objects: list[int]) -> list[str]:
    if not objects:
        return []
    return [
        f"{len(objects)} of {len(problem.names)} choices hang on how far misses overlap (near time "
        f"and access classes say differently): {named(problem, objects)}"
    ]


def _of_writes(problem: Problem, budget_bytes: int) -> list[str]:
    """Say which memories are for reads, and which choices are made by writes."""
    near = write_over_read(problem.near)
    for_reads = [
        (memory.device.name, write_over_read(memory))
        for memory in problem.fars
        if write_over_read(memory) > ASYMMETRIC * near
    ]
    if not for_reads:
        return []
    said = ", ".join(f"{name} {ratio:.1f}x" for name, ratio in for_reads)
    objects = by_writes(problem, budget_bytes)
    decided = (
        f"writes decide {len(objects)} of {len(problem.names)} choices: {named(problem, objects)}"
        if objects
        else "no choice hangs on that"
    )
    return [
        "a line written takes longer than one read, more than the near memory's "
        f"{near:.1f}x: {said}; {decided}"
    ]


def _of_parts(allow: Collection[str], shares: Array) -> list[str]:
    room = "each with room for its own peak; peaks at different times would share room"
    if "parts" not in allow and "interleave" not in allow:
        return [f"objects are placed whole, {room}"]
    split = int(np.count_nonzero(shares.max(axis=1, initial=0.0) < 1.0))
    said = [f"objects are placed {room}"]
    if split:
        said.append(
            f"{split} objects are in several memories: the profile counts no traffic by address, "
            "so a share of an object is taken to carry that share of its traffic"
        )
    return said


def _of_bandwidth(problem: Problem, joint_limits: bool) -> list[str]:
    held = any(far.together is not None for far in problem.fars) or bool(problem.pairs)
    if held or joint_limits:
        return []
    which = "the two memories are" if len(problem.fars) == 1 else "memories are"
    return [
        f"{which} taken as independent: on shared channels their bandwidths do not add (--machine)"
    ]


def _of_times(problem: Problem, shares: Array, choices: Mapping[str, Choice]) -> list[str]:
    near = float(problem.times_ns(np.ones(len(problem.names))))
    chosen = float(problem.shared_times_ns(shares))
    said = []
    if chosen > 1.001 * float(problem.shared_times_ns(choices["page-interleaved"].shares)):
        said.append(
            "interleaving pages is predicted faster than any plan of whole objects: an object "
            "larger than the budget matters most, and part of it could stay near"
        )
    if chosen < 0.999 * near:
        said.append(
            "part far is predicted faster than all near, because it adds the far memory's bandwidth"
        )
    return said


def named(problem: Problem, objects: list[int]) -> str:
    """Return the first few names, and how many more there are."""
    names = ", ".join(problem.names[i] for i in objects[:MOST_NAMED])
    more = len(objects) - MOST_NAMED
    return f"{names} and {more} more" if more > 0 else names
