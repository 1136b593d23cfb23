"""Rows of the plan document: placements of objects, and memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nearfar.base.estimate import Estimate, sum_estimates
from nearfar.documents import WorkloadProfile
from nearfar.documents.plan import Placement, PlanMemory
from nearfar.place.machine_file import FarMemory
from nearfar.place.parts import parts_of
from nearfar.place.problem import Problem
from nearfar.place.uncertainty import write_over_read
from nearfar.predict.object_effects import added_interval
from nearfar.predict.traffic import Array


def placements_of(
    workload: WorkloadProfile,
    problem: Problem,
    shares: Array,
    weights: Mapping[int, tuple[int, ...]],
) -> list[Placement]:
    """Return where every object goes, with its call stack; `weights` are of interleaved ones."""
    far = sum_estimates([outcome.far_time_ns for outcome in problem.far_outcomes[0]])
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
            kind=item.kind,
            frames=item.frames,
            told_by=item.told_by,
            via=item.via,
            split=item.split,
            parts=[] if number in weights else parts_of(shares[number], names, order),
            interleave={
                name: weight
                for name, weight in zip(names, weights.get(number, ()), strict=False)
                if weight
            },
        )
        for number, (item, effect) in enumerate(zip(workload.objects, effects, strict=True))
    ]


def memories_of(
    problem: Problem,
    shares: Array,
    budget_bytes: int,
    fars: Sequence[FarMemory],
    near_spec: str,
) -> list[PlanMemory]:
    """Return the plan's memories, near first."""
    used_bytes = (shares.T @ problem.sizes_bytes).round().astype(int).tolist()
    capacities = [budget_bytes, *(far.capacity_bytes for far in fars)]
    specs = [near_spec, *(far.spec for far in fars)]
    rows = zip(
        problem.memory_names,
        problem.memories,
        capacities,
        specs,
        used_bytes,
        problem.prices_per_byte().tolist(),
        strict=True,
    )
    return [
        PlanMemory(
            name=name,
            device=memory.device.name,
            spec=spec,
            capacity_bytes=capacity,
            used_bytes=used,
            price_per_byte=price,
            write_over_read=write_over_read(memory),
        )
        for name, memory, capacity, spec, used, price in rows
    ]
