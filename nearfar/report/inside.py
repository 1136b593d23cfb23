"""Traffic along large objects, and the ranges of them that plans keep near."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nearfar.documents import Plan, WorkloadProfile
from nearfar.documents.plan import NEAR
from nearfar.report.data import TOTAL
from nearfar.report.inside_data import ObjectRanges, PlacedRanges

MAX_OBJECTS = 8
"""Largest number of objects with a strip."""


def object_ranges(profile: WorkloadProfile, position: Mapping[int, int]) -> list[ObjectRanges]:
    """Return the traffic by range of the largest objects with ranges, largest first."""
    lines: dict[int, dict[str, list[float]]] = {}
    for phase in profile.phases:
        for row in phase.objects:
            if row.ranges is None or not profile.objects[row.object].range_bytes:
                continue
            kinds = (row.ranges.read_misses, row.ranges.write_misses, row.ranges.write_backs)
            counts = np.sum([np.asarray(kind, dtype=float) for kind in kinds], axis=0)
            by_phase = lines.setdefault(row.object, {TOTAL: [0.0] * len(counts)})
            by_phase[phase.name] = counts.tolist()
            by_phase[TOTAL] = (np.asarray(by_phase[TOTAL]) + counts).tolist()
    largest = sorted(lines, key=lambda number: -profile.objects[number].size_bytes)
    return [
        ObjectRanges(
            object=position[profile.objects[number].id],
            range_bytes=profile.objects[number].range_bytes,
            lines=lines[number],
        )
        for number in largest[:MAX_OBJECTS]
    ]


def placed_ranges(plan: Plan, position: Mapping[int, int]) -> list[PlacedRanges]:
    """Return the ranges that `plan` keeps near, for each object that it splits by range."""
    return [
        PlacedRanges(
            object=position[placement.object],
            near=[
                (part.begin_bytes, part.end_bytes)
                for part in placement.parts
                if part.memory == NEAR
            ],
        )
        for placement in plan.placements
        if placement.parts and placement.parts[-1].end_bytes
    ]
