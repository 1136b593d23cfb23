"""Profiles of several inputs of one program, joined into one problem.

Inputs are weighted so that all have the same near time. Then the sum of their times is proportional
to their mean slowdown, and the slowest input has the worst slowdown. Each input keeps its own
phases, because parallelism differs between inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import scale_estimate
from nearfar.documents import WorkloadProfile
from nearfar.predict.phases import phases_of
from nearfar.predict.total import TOTAL
from nearfar.predict.traffic import PhaseTraffic
from nearfar.profile.identity import align_objects
from nearfar.profile.merge import merge


def joined_inputs(
    profiles: Sequence[WorkloadProfile], names: Sequence[str], phase: str = TOTAL
) -> tuple[WorkloadProfile, list[PhaseTraffic], tuple[int, ...]]:
    """Return one profile of all objects, all phases over them, and each phase's input number.

    Raises NearfarError for profiles of different programs or machines.
    """
    selected = None if phase == TOTAL else [phase]
    if len(profiles) == 1:
        return profiles[0], phases_of(profiles[0], selected), ()
    merged = merge(profiles, names)
    alignment = align_objects(profiles)
    phases_by_input = [phases_of(profile, selected) for profile in profiles]
    near_ns = [sum(p.near_time_ns.value for p in phases) for phases in phases_by_input]
    for name, spent in zip(names, near_ns, strict=True):
        if spent <= 0:
            raise NearfarError(
                f"{name} has a near time of 0 ns, so it has no slowdown: profile a longer run"
            )
    mean_ns = sum(near_ns) / len(near_ns)
    joined: list[PhaseTraffic] = []
    inputs: list[int] = []
    for at, (phases, spent) in enumerate(zip(phases_by_input, near_ns, strict=True)):
        merged_number = np.zeros(len(profiles[at].objects), dtype=int)
        for number, same in enumerate(alignment.objects):
            merged_number[same.members[at]] = number
        factor = mean_ns / spent
        for traffic in phases:
            rows = np.zeros((len(merged.objects), traffic.objects.shape[1]))
            np.add.at(rows, merged_number, traffic.objects * factor)
            joined.append(
                replace(
                    traffic,
                    near_time_ns=scale_estimate(traffic.near_time_ns, factor),
                    operations=traffic.operations * factor
                    if traffic.operations
                    else traffic.operations,
                    objects=rows,
                )
            )
            inputs.append(at)
    return merged, joined, tuple(inputs)
