"""Sentences about a plan: assumptions, effects that it leaves out, other options that pay."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from nearfar.base.units import format_bytes
from nearfar.documents import WorkloadProfile
from nearfar.place.moves import MovingPlan, phase_changes
from nearfar.place.optimiser import PlacementChoice
from nearfar.place.problem import Problem
from nearfar.place.task import ExtendedShares
from nearfar.place.uncertainty import decided_by_classes, decided_by_writes, write_over_read
from nearfar.predict.caveats import common_caveats

MAX_NAMED = 5
"""Most objects named in a sentence; the others are counted."""

MIN_WRITE_RATIO = 1.2
"""Ratio of a far memory's write/read time to near memory's from which the plan reports it."""


def plan_caveats(
    problem: Problem,
    budget_bytes: int,
    extended: ExtendedShares,
    choices: Mapping[str, PlacementChoice],
    *,
    allow: Collection[str],
    joint_limits: bool,
) -> list[str]:
    """Return the plan's assumptions and the effects it leaves out."""
    return [
        *_parallelism(problem, budget_bytes),
        *_writes(problem, budget_bytes),
        *_peaks_and_parts(allow, extended),
        *_independence(problem, joint_limits),
        *_comparisons(problem, extended.time_ns(problem), choices),
    ]


def _parallelism(problem: Problem, budget_bytes: int) -> list[str]:
    objects = decided_by_classes(problem, budget_bytes)
    if not objects:
        return []
    return [
        f"{len(objects)} of {len(problem.names)} choices depend on how far misses overlap, on "
        f"which near time and access classes disagree: {_named(problem, objects)}"
    ]


def _writes(problem: Problem, budget_bytes: int) -> list[str]:
    """Name the memories that write slowly, and the choices that writes decide."""
    near = write_over_read(problem.near)
    slow_writes = [
        (memory.device.name, write_over_read(memory))
        for memory in problem.fars
        if write_over_read(memory) > MIN_WRITE_RATIO * near
    ]
    if not slow_writes:
        return []
    ratios = ", ".join(f"{name} {ratio:.1f}x" for name, ratio in slow_writes)
    objects = decided_by_writes(problem, budget_bytes)
    decided = (
        f"writes decide {len(objects)} of {len(problem.names)} choices: {_named(problem, objects)}"
        if objects
        else "no choice depends on that"
    )
    return [
        f"writing a line takes longer than reading one: {ratios} (near memory {near:.1f}x); "
        f"{decided}"
    ]


def _peaks_and_parts(allow: Collection[str], extended: ExtendedShares) -> list[str]:
    peaks = (
        "each with space for its own peak, though objects with peaks at different times could "
        "share space"
    )
    if "parts" not in allow and "interleave" not in allow:
        return [f"objects are placed whole, {peaks}"]
    sentences = [f"objects are placed {peaks}"]
    split = extended.shares.max(axis=1, initial=0.0) < 1.0
    by_range = np.zeros(len(split), dtype=bool)
    if extended.ranges is not None:
        parents = extended.ranges.ranged.parents
        by_range[parents[1:][parents[1:] == parents[:-1]]] = True
    ranges, shares = int(np.sum(split & by_range)), int(np.sum(split & ~by_range))
    if ranges:
        sentences.append(
            f"{_objects_are(ranges)} placed by range, by the traffic that the profile counted in "
            "each range"
        )
    if shares:
        sentences.append(
            f"{_objects_are(shares)} in several memories without ranges that differ: a share of "
            "such an object is assumed to carry that share of its traffic"
        )
    return sentences


def _objects_are(count: int) -> str:
    return "1 object is" if count == 1 else f"{count} objects are"


def _independence(problem: Problem, joint_limits: bool) -> list[str]:
    if (
        joint_limits
        or problem.pairs
        or any(far.channel_sharing is not None for far in problem.fars)
    ):
        return []
    which = "the two memories are" if len(problem.fars) == 1 else "memories are"
    return [
        f"{which} assumed to be independent: on shared channels their bandwidths do not add "
        "(--machine)"
    ]


def _comparisons(
    problem: Problem, plan_ns: float, choices: Mapping[str, PlacementChoice]
) -> list[str]:
    near_ns = float(problem.times_ns(np.ones(len(problem.names))))
    interleaved_ns = float(problem.shared_times_ns(choices["page-interleaved"].shares))
    sentences = []
    if plan_ns > 1.001 * interleaved_ns:
        sentences.append(
            "interleaving pages is predicted to be faster than any plan of whole objects: the "
            "most important object is larger than the budget, and part of it could stay near"
        )
    if plan_ns < 0.999 * near_ns:
        sentences.append(
            "with part of the data far the program is predicted to be faster than all near, "
            "because that adds the far memory's bandwidth"
        )
    return sentences


def move_caveats(workload: WorkloadProfile, problem: Problem, moves: MovingPlan) -> list[str]:
    """Return how much a plan moves, and what is assumed about changes of phase."""
    moved = sum(move.bytes for phase in moves.phases for move in phase.moves)
    sentences = [
        f"data moves at the start of {len(moves.phases)} phases, {format_bytes(moved)} in all each "
        f"time; copies are {moves.copying_ns / moves.time_ns:.1%} of the plan's time"
    ]
    sampled = phase_changes(workload, [phase.name for phase in problem.phases])[2]
    if not sampled:
        sentences.append(
            "the profile's samples do not show when phases change: each is assumed to follow the "
            "previous one once, with its objects in full"
        )
    return sentences


def memory_caveats(problem: Problem, workload: WorkloadProfile) -> list[str]:
    """Return predict's caveats about these memories and this profile, each sentence once."""
    common = common_caveats(workload, problem.phases, problem.near)
    return list(
        dict.fromkeys(
            sentence
            for far in problem.fars
            for sentence in (*problem.near.caveats, *far.caveats, *common)
        )
    )


def _named(problem: Problem, objects: list[int]) -> str:
    """Return the first few names, and how many more there are."""
    names = ", ".join(problem.names[i] for i in objects[:MAX_NAMED])
    more = len(objects) - MAX_NAMED
    return f"{names} and {more} more" if more > 0 else names
