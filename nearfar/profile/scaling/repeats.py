"""Several profiles of one size as their mean.

Which lines are sampled differs from run to run with the addresses that the kernel gives, so of k
runs together k times as many lines are seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.documents import WorkloadProfile
from nearfar.profile.merge import merge


def combined(
    profiles: Sequence[WorkloadProfile], names: Sequence[str], parameter: str
) -> tuple[list[WorkloadProfile], list[str], list[int]]:
    """Return one profile for each size, ascending; its name; how many runs it is the mean of."""
    groups: dict[float, list[int]] = {}
    for at, profile in enumerate(profiles):
        groups.setdefault(profile.size[parameter], []).append(at)
    found: list[WorkloadProfile] = []
    called: list[str] = []
    counts: list[int] = []
    for size in sorted(groups):
        places = groups[size]
        some, own = [profiles[at] for at in places], [names[at] for at in places]
        share = [1.0 / len(places)] * len(places)
        found.append(some[0] if len(some) == 1 else merge(some, own, share))
        called.append(own[0])
        counts.append(len(places))
    return found, called, counts
