"""The profiles of several sizes side by side: the same phases, the same objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import MemoryObject, Phase
from nearfar.profile.identity import MatchedObject, align_objects
from nearfar.profile.merge import merge
from nearfar.profile.traffic import TrafficSum, add_rows


@dataclass(frozen=True)
class JoinedProfiles:
    """Profiles at ascending sizes, with the phases and objects that all of them have."""

    parameter: str
    sizes: list[float]
    profiles: list[WorkloadProfile]
    phases: list[str]
    """Names of phases that every profile has."""
    objects: list[MatchedObject]
    """Objects that every profile has, coarse enough to be distinguished in each."""
    members: list[list[list[int]]]
    """Numbers of each object's parts, by profile and object."""
    repeats: list[int]
    """Number of runs averaged in each profile."""

    def phase(self, at: int, name: str) -> Phase:
        """Return phase `name` of profile `at`."""
        return next(phase for phase in self.profiles[at].phases if phase.name == name)

    def row(self, at: int, phase: str, number: int) -> TrafficSum:
        """Return the traffic of object `number` in a phase of profile `at`, its parts summed."""
        parts = set(self.members[at][number])
        rows = [row for row in self.phase(at, phase).objects if row.object in parts]
        return add_rows(rows)

    def parts(self, at: int, number: int) -> list[MemoryObject]:
        """Return the objects of profile `at` that make up object `number` of `objects`."""
        return [self.profiles[at].objects[number] for number in self.members[at][number]]

    @property
    def largest(self) -> WorkloadProfile:
        """Return the profile of the largest size."""
        return self.profiles[-1]


def join(
    parameter: str, ordered: Sequence[WorkloadProfile], repeats: Sequence[int]
) -> tuple[JoinedProfiles, list[MatchedObject]]:
    """Join profiles of ascending size; also return the objects that only some of them have."""
    alignment = align_objects(ordered)
    everywhere = [matched for matched in alignment.objects if all(matched.members)]
    partly = [matched for matched in alignment.objects if not all(matched.members)]
    names = [phase.name for phase in ordered[-1].phases]
    shared = [n for n in names if all(any(p.name == n for p in w.phases) for w in ordered)]
    members = [[matched.members[at] for matched in everywhere] for at in range(len(ordered))]
    sizes = [profile.size[parameter] for profile in ordered]
    joined = JoinedProfiles(
        parameter, sizes, list(ordered), shared, everywhere, members, list(repeats)
    )
    return joined, partly


def mean_profiles(
    profiles: Sequence[WorkloadProfile], names: Sequence[str], parameter: str
) -> tuple[list[WorkloadProfile], list[str], list[int]]:
    """Average profiles of the same size; return profiles by ascending size, names and run counts.

    Each run samples other lines, since the kernel gives it other addresses: k runs together see k
    times as many lines.
    """
    groups: dict[float, list[int]] = {}
    for at, profile in enumerate(profiles):
        groups.setdefault(profile.size[parameter], []).append(at)
    means: list[WorkloadProfile] = []
    first_names: list[str] = []
    counts: list[int] = []
    for size in sorted(groups):
        places = groups[size]
        group, group_names = [profiles[at] for at in places], [names[at] for at in places]
        weights = [1.0 / len(places)] * len(places)
        means.append(group[0] if len(group) == 1 else merge(group, group_names, weights))
        first_names.append(group_names[0])
        counts.append(len(places))
    return means, first_names, counts
