"""The profiles of several sizes side by side: the same phases, the same objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import MemoryObject, Phase
from nearfar.profile.identity import Same, aligned
from nearfar.profile.merge import merge
from nearfar.profile.traffic import Row, add_rows


@dataclass(frozen=True)
class Joined:
    """All profiles, ascending in size."""

    parameter: str
    sizes: list[float]
    profiles: list[WorkloadProfile]
    phases: list[str]
    """Those of every profile."""
    objects: list[Same]
    """Those of every profile, coarse enough to be told in each."""
    members: list[list[list[int]]]
    """Per profile and object: its numbers there."""
    repeats: list[int]
    """Runs that each profile is the mean of."""

    def phase(self, at: int, name: str) -> Phase:
        """Return a phase of the profile of size `at`."""
        return next(phase for phase in self.profiles[at].phases if phase.name == name)

    def row(self, at: int, phase: str, thing: int) -> Row:
        """Return what a phase of size `at` did to an object; nothing where it did not touch it."""
        wanted = set(self.members[at][thing])
        rows = [row for row in self.phase(at, phase).objects if row.object in wanted]
        return add_rows(rows)

    def parts(self, at: int, thing: int) -> list[MemoryObject]:
        """Return what the profile of size `at` has of an object."""
        return [self.profiles[at].objects[number] for number in self.members[at][thing]]

    @property
    def largest(self) -> WorkloadProfile:
        """Return the profile nearest to what is asked for."""
        return self.profiles[-1]


def join(
    parameter: str, ordered: Sequence[WorkloadProfile], repeats: Sequence[int]
) -> tuple[Joined, list[Same]]:
    """Return the profiles joined, ascending in size, and objects that only some of them have."""
    alignment = aligned(ordered)
    everywhere = [same for same in alignment.objects if all(same.members)]
    partly = [same for same in alignment.objects if not all(same.members)]
    names = [phase.name for phase in ordered[-1].phases]
    shared = [n for n in names if all(any(p.name == n for p in w.phases) for w in ordered)]
    members = [[same.members[at] for same in everywhere] for at in range(len(ordered))]
    sizes = [profile.size[parameter] for profile in ordered]
    every = Joined(parameter, sizes, list(ordered), shared, everywhere, members, list(repeats))
    return every, partly


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
