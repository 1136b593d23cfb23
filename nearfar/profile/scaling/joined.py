"""The profiles of several sizes side by side: the same phases, the same objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import AccessClasses, MemoryObject, ObjectTraffic, Phase, Traffic
from nearfar.profile.identity import Same, aligned

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One object in one phase of one profile; counts as in Traffic, curves by capacity."""

    traffic: Traffic
    read: Array | None
    write: Array | None


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


def join(parameter: str, profiles: Sequence[WorkloadProfile]) -> tuple[Joined, list[Same]]:
    """Return the profiles joined, and the objects that only some of them have."""
    ordered = sorted(profiles, key=lambda profile: profile.size[parameter])
    alignment = aligned(ordered)
    everywhere = [same for same in alignment.objects if all(same.members)]
    partly = [same for same in alignment.objects if not all(same.members)]
    names = [phase.name for phase in ordered[-1].phases]
    shared = [n for n in names if all(any(p.name == n for p in w.phases) for w in ordered)]
    members = [[same.members[at] for same in everywhere] for at in range(len(ordered))]
    sizes = [profile.size[parameter] for profile in ordered]
    return Joined(parameter, sizes, ordered, shared, everywhere, members), partly


def add_rows(rows: Sequence[ObjectTraffic]) -> Row:
    """Add traffic and curves up; a part without a curve (few touches) adds its misses to it."""
    total = Traffic()
    for row in rows:
        total = add_traffic(total, row.traffic)
    curves = [row for row in rows if row.curve is not None]
    if not curves:
        return Row(total, None, None)
    missing = [row.traffic for row in rows if row.curve is None]
    read = np.sum([row.curve.read for row in curves if row.curve], axis=0)
    write = np.sum([row.curve.write for row in curves if row.curve], axis=0)
    read = read + sum(traffic.read_misses.total() for traffic in missing)
    write = write + sum(traffic.write_misses.total() for traffic in missing)
    return Row(total, np.asarray(read, dtype=float), np.asarray(write, dtype=float))


def add_traffic(one: Traffic, other: Traffic, weight: float = 1.0) -> Traffic:
    """Return `one` and `weight` times `other`."""

    def classes(a: AccessClasses, b: AccessClasses) -> AccessClasses:
        return AccessClasses(
            chase=a.chase + weight * b.chase,
            indirect=a.indirect + weight * b.indirect,
            stream=a.stream + weight * b.stream,
            opaque=a.opaque + weight * b.opaque,
        )

    return Traffic(
        accesses=one.accesses + weight * other.accesses,
        read_misses=classes(one.read_misses, other.read_misses),
        write_misses=classes(one.write_misses, other.write_misses),
        read_sequential=classes(one.read_sequential, other.read_sequential),
        write_sequential=classes(one.write_sequential, other.write_sequential),
        write_backs=one.write_backs + weight * other.write_backs,
    )
