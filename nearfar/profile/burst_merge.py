"""Bursts of merged profiles: those of one run, as order does not add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from nearfar.documents.bursts import Bursts


def kept_bursts(
    given: Sequence[Bursts | None], number_of: Sequence[Mapping[int, int]]
) -> Bursts | None:
    """Return the bursts of the run that has those of most phases, the first of several.

    `number_of` has, for each run, the merged numbers of its objects.
    """
    there = [(found, numbers) for found, numbers in zip(given, number_of, strict=True) if found]
    if not there:
        return None
    bursts, numbers = max(there, key=lambda pair: len(pair[0].phases))
    return msgspec.structs.replace(
        bursts,
        accesses=[
            msgspec.structs.replace(one, object=numbers.get(one.object, -1))
            for one in bursts.accesses
        ],
        phases=[
            msgspec.structs.replace(
                phase,
                objects=[
                    msgspec.structs.replace(row, object=numbers.get(row.object, -1))
                    for row in phase.objects
                ],
            )
            for phase in bursts.phases
        ],
    )
