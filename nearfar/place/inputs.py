"""Profiles of several inputs of one program as one problem.

Inputs are weighed so that each takes as long near: the sum of their times is then the mean of their
slowdowns, and the slowest has the worst. Each keeps its own phases, as each has its own overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.documents import WorkloadProfile
from nearfar.predict.api import scale_estimate
from nearfar.predict.total import TOTAL
from nearfar.predict.traffic import PhaseTraffic, phases_of
from nearfar.profile.identity import align_objects
from nearfar.profile.merge import merge


def joined(
    profiles: Sequence[WorkloadProfile], names: Sequence[str], phase: str = TOTAL
) -> tuple[WorkloadProfile, list[PhaseTraffic], tuple[int, ...]]:
    """Return one profile of all objects, all phases over those objects, and each phase's input.

    Raises NearfarError for profiles of different programs or machines.
    """
    wanted = None if phase == TOTAL else [phase]
    if len(profiles) == 1:
        return profiles[0], phases_of(profiles[0], wanted), ()
    whole = merge(profiles, names)
    alignment = align_objects(profiles)
    every = [phases_of(profile, wanted) for profile in profiles]
    near_ns = [sum(one.near_time_ns.value for one in phases) for phases in every]
    for name, spent in zip(names, near_ns, strict=True):
        if spent <= 0:
            raise NearfarError(f"{name} took no time near: it has no slowdown to place for")
    mean_ns = sum(near_ns) / len(near_ns)
    found: list[PhaseTraffic] = []
    inputs: list[int] = []
    for at, (phases, spent) in enumerate(zip(every, near_ns, strict=True)):
        number = np.zeros(len(profiles[at].objects), dtype=int)
        for new, same in enumerate(alignment.objects):
            number[same.members[at]] = new
        factor = mean_ns / spent
        for one in phases:
            rows = np.zeros((len(whole.objects), one.objects.shape[1]))
            np.add.at(rows, number, one.objects * factor)
            found.append(
                replace(
                    one,
                    near_time_ns=scale_estimate(one.near_time_ns, factor),
                    operations=one.operations * factor if one.operations else one.operations,
                    objects=rows,
                )
            )
            inputs.append(at)
    return whole, found, tuple(inputs)
