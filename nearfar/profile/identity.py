"""Who an object is in another run, with another input, of another build.

A profile numbers and names its objects by what it saw: large ones are told apart by their callers,
small ones are not, so the same site may be one object here and three there. An *identity* holds
what does not change: kind, the place (module, function, line, inlined calls included) of each
frame that tells it, the container's call, the split. `aligned` gives the finest objects that all
profiles can tell.

Where builds differ, an edit moves lines: sites left over are taken for the same if the functions
are, in the order of their lines; what was taken so is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.documents import WorkloadProfile
from nearfar.documents.plan import Placement
from nearfar.documents.workload import Instruction, MemoryObject
from nearfar.program.names import bare_name

_VERSION = re.compile(r"(\.so)(?:\.[0-9]+)+$")


@dataclass(frozen=True)
class Site:
    """A place in the program: what an edit elsewhere, another folder or compiler leaves alone."""

    module: str
    """Without folder and version; "" for the program itself, whatever its file is called."""
    function: str
    file: str
    line: int

    def without_line(self) -> tuple[str, str, str]:
        """Return what is left when lines move."""
        return (self.module, self.function, self.file)


@dataclass(frozen=True)
class Identity:
    """An object's, from the place that allocates outwards."""

    kind: str
    name: str
    """Of what has no place: stacks, globals, a file. Empty otherwise."""
    sites: tuple[Site, ...]
    via: str
    split: str

    def told_by(self, depth: int) -> Identity:
        """Return the identity that fewer frames give."""
        return Identity(self.kind, self.name, self.sites[:depth], self.via, self.split)

    def without_lines(self) -> tuple[object, ...]:
        """Return what is left when lines move."""
        places = tuple(site.without_line() for site in self.sites)
        return (self.kind, self.name, places, self.via, self.split)


@dataclass
class Same:
    """One object in all profiles: its numbers in each, none where it did not appear."""

    identity: Identity
    members: list[list[int]]
    name: str = ""
    """As the profile calls it in which it is one object, else the shortest of its names."""


@dataclass
class Alignment:
    """Which objects of several profiles are the same."""

    objects: list[Same]
    moved: list[str] = field(default_factory=list)
    """A sentence for each object that was recognised although its line moved."""


def identity_of(thing: MemoryObject | Placement, executable: str) -> Identity:
    """Return the identity of an object, or of one in a plan, of a program called `executable`."""
    if not thing.frames:
        return Identity(thing.kind, thing.name, (), "", thing.split)
    main = Path(executable).name
    sites = tuple(
        Site(
            "" if frame.module == main else _VERSION.sub(r"\1", frame.module),
            bare_name(frame.function),
            Path(frame.file).name,
            frame.line,
        )
        for frame in thing.frames[: max(1, thing.told_by)]
    )
    return Identity(thing.kind, "", sites, thing.via, thing.split)


def instruction_identity(instruction: Instruction) -> tuple[object, ...]:
    """Return what an instruction is known by in another run of the same source."""
    return (
        bare_name(instruction.function),
        Path(instruction.file).name,
        instruction.line,
        instruction.column,
        instruction.operation,
        instruction.access_class,
        instruction.bytes,
    )


def aligned(profiles: Sequence[WorkloadProfile], *, lines_may_move: bool = False) -> Alignment:
    """Match the objects of all profiles, coarsely enough that each can be told in every one.

    `lines_may_move`: the profiles may be of different builds of a program that was edited.
    """
    known = [
        [identity_of(thing, profile.program.executable) for thing in profile.objects]
        for profile in profiles
    ]
    moved: list[str] = []
    if lines_may_move:
        known, moved = _with_first_lines(known)
    told = _common_depths(known)
    found: dict[Identity, Same] = {}
    for at, (profile, identities) in enumerate(zip(profiles, known, strict=True)):
        for thing, identity in zip(profile.objects, identities, strict=True):
            same = found.setdefault(told[identity], Same(told[identity], [[] for _ in profiles]))
            same.members[at].append(thing.id)
            if not same.name or len(thing.name) < len(same.name):
                same.name = thing.name
    return Alignment(_with_unique_names(list(found.values())), moved)


def _common_depths(known: Sequence[Sequence[Identity]]) -> dict[Identity, Identity]:
    """Map each identity to the coarsest one that it is part of in any profile."""
    everything = {identity for identities in known for identity in identities}
    told: dict[Identity, Identity] = {}
    for identity in everything:
        depths = range(1, len(identity.sites))
        coarser = (identity.told_by(depth) for depth in depths)
        told[identity] = next((one for one in coarser if one in everything), identity)
    return told


def _with_first_lines(
    known: Sequence[Sequence[Identity]],
) -> tuple[list[list[Identity]], list[str]]:
    """Give sites whose lines moved the lines of the first profile that has them."""
    result = [list(known[0])]
    seen = list(dict.fromkeys(known[0]))
    sentences: list[str] = []
    for identities in known[1:]:
        exact = set(seen) & set(identities)
        before = _by_place([one for one in seen if one not in exact])
        after = _by_place([one for one in dict.fromkeys(identities) if one not in exact])
        renamed: dict[Identity, Identity] = {}
        for place, now in after.items():
            # As many as before: in the order of their lines. Otherwise the nearest.
            renamed.update(_paired(before.get(place, []), now))
        for new, old in renamed.items():
            sentences.append(
                f"{_place(new)} is taken for {_place(old)}: the function is the same, its lines "
                "moved"
            )
        result.append([renamed.get(one, one) for one in identities])
        seen = list(dict.fromkeys([*seen, *result[-1]]))
    return result, sentences


def _by_place(identities: Sequence[Identity]) -> dict[tuple[object, ...], list[Identity]]:
    found: dict[tuple[object, ...], list[Identity]] = {}
    for one in identities:
        if one.sites:
            found.setdefault(one.without_lines(), []).append(one)
    for alike in found.values():
        alike.sort(key=_lines)
    return found


def _paired(before: list[Identity], now: list[Identity]) -> dict[Identity, Identity]:
    if len(before) == len(now):
        return dict(zip(now, before, strict=True))
    pairs: dict[Identity, Identity] = {}
    left = list(before)
    for one in now:
        if not left:
            break
        nearest = min(left, key=lambda old: _apart(one, old))
        pairs[one] = nearest
        left.remove(nearest)
    return pairs


def _lines(identity: Identity) -> tuple[int, ...]:
    return tuple(site.line for site in identity.sites)


def _apart(one: Identity, other: Identity) -> int:
    return sum(abs(a - b) for a, b in zip(_lines(one), _lines(other), strict=True))


def _place(identity: Identity) -> str:
    return " < ".join(f"{site.function} {site.file}:{site.line}" for site in identity.sites)


def _with_unique_names(objects: list[Same]) -> list[Same]:
    counts: dict[str, int] = {}
    for same in objects:
        counts[same.name] = counts.get(same.name, 0) + 1
        if counts[same.name] > 1:
            same.name = f"{same.name} #{counts[same.name]}"
    return objects


INNERMOST = 3
"""Frames of which one must be common: without lines, those that were inlined are not known."""


def same_objects(these: Sequence[MemoryObject], those: Sequence[MemoryObject]) -> dict[int, int]:
    """Return the number in `those` of each of `these`; -1 where there is none.

    Both are of one program and input, but of two builds: names may lack lines, and addresses
    differ. What is called otherwise is told by where it was allocated and how much.
    """
    names = {(thing.kind, thing.name): thing.id for thing in those}
    found: dict[int, int] = {}
    for thing in these:
        number = names.get((thing.kind, thing.name), -1)
        if number < 0 and thing.frames:
            alike = [
                (depth, abs(thing.allocated_bytes - other.allocated_bytes), other.id)
                for other in those
                if other.kind == thing.kind and (depth := _common_depth(thing, other)) is not None
            ]
            number = min(alike)[2] if alike else -1
        found[thing.id] = number
    return found


def _common_depth(thing: MemoryObject, other: MemoryObject) -> int | None:
    """Return how far from the allocations the nearest function is that both have; None: too far.

    The nearest counts, then the size: main is an ancestor of nearly everything.
    """
    theirs = [frame.function for frame in other.frames[:INNERMOST]]
    return min(
        (
            depth + theirs.index(frame.function)
            for depth, frame in enumerate(thing.frames[:INNERMOST])
            if frame.function in theirs
        ),
        default=None,
    )
