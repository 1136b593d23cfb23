"""Objects matched between runs, inputs and builds of one program.

A profile splits large objects by their callers and small ones not, so the same site may be one
object in one profile and three in another. An *identity* holds what does not change: kind, the
source location of each frame that distinguishes it, the container's call, the split.
`align_objects` gives the finest objects that all profiles can distinguish.

Between builds, an edit moves lines: remaining sites are matched if their functions are the same, in
the order of their lines, and each such match is reported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.documents import WorkloadProfile
from nearfar.documents.plan import Placement
from nearfar.documents.workload import Instruction, MemoryObject
from nearfar.program.names import bare_name

_VERSION = re.compile(r"(\.so)(?:\.[0-9]+)+$")


@dataclass(frozen=True)
class Site:
    """A source location that edits elsewhere, another folder or another compiler do not change."""

    module: str
    """File name without folder and version; "" for the program itself."""
    function: str
    file: str
    line: int
    column: int = field(default=0, compare=False)
    """Compilers differ in it, so it only chooses between equal sites; 0: unknown."""

    def without_line(self) -> tuple[str, str, str]:
        """Return the parts that stay when lines move."""
        return (self.module, self.function, self.file)


@dataclass(frozen=True)
class Identity:
    """Identity of an object; sites from the allocation outwards."""

    kind: str
    name: str
    """Name of an object without sites, such as stacks, globals, a file; "" otherwise."""
    sites: tuple[Site, ...]
    via: str
    split: str

    def at_depth(self, depth: int) -> Identity:
        """Return the identity with only the first `depth` sites."""
        return Identity(self.kind, self.name, self.sites[:depth], self.via, self.split)

    def without_lines(self) -> tuple[object, ...]:
        """Return the parts that stay when lines move."""
        places = tuple(site.without_line() for site in self.sites)
        return (self.kind, self.name, places, self.via, self.split)


def nearest_by_column(identity: Identity, others: Mapping[int, Identity]) -> set[int]:
    """Return the `others` whose columns are those of `identity`, or all if there are none.

    All of `others` equal `identity`; equality does not compare columns.
    """
    wanted = [site.column for site in identity.sites]
    same = {
        number
        for number, other in others.items()
        if all(a == b for a, b in zip(wanted, (site.column for site in other.sites), strict=False))
    }
    return same or set(others)


@dataclass
class MatchedObject:
    """One object in all profiles, with its numbers in each; no number: the profile lacks it."""

    identity: Identity
    members: list[list[int]]
    name: str = ""
    """Shortest of its names in the profiles."""


@dataclass
class Alignment:
    """Matched objects of several profiles."""

    objects: list[MatchedObject]
    moved: list[str] = field(default_factory=list)
    """A sentence for each object that was matched although its line moved."""


def identity_of(memory: MemoryObject | Placement, executable: str) -> Identity:
    """Return the identity of an object of a profile or plan; `executable` is its program's file."""
    if not memory.frames:
        return Identity(memory.kind, memory.name, (), "", memory.split)
    main = Path(executable).name
    sites = tuple(
        Site(
            "" if frame.module == main else _VERSION.sub(r"\1", frame.module),
            bare_name(frame.function),
            Path(frame.file).name,
            frame.line,
            frame.column,
        )
        for frame in memory.frames[: max(1, memory.told_by)]
    )
    return Identity(memory.kind, "", sites, memory.via, memory.split)


def instruction_identity(instruction: Instruction) -> tuple[object, ...]:
    """Return what identifies an instruction in another run of the same source."""
    return (
        bare_name(instruction.function),
        Path(instruction.file).name,
        instruction.line,
        instruction.column,
        instruction.operation,
        instruction.access_class,
        instruction.bytes,
        *((touched.type, touched.offset) for touched in instruction.fields),
    )


def align_objects(
    profiles: Sequence[WorkloadProfile], *, lines_may_move: bool = False
) -> Alignment:
    """Match the objects of all profiles, as finely as every profile distinguishes them.

    `lines_may_move`: the profiles may be of different builds of a program that was edited.
    """
    identities_of = [
        [identity_of(memory, profile.program.executable) for memory in profile.objects]
        for profile in profiles
    ]
    moved: list[str] = []
    if lines_may_move:
        identities_of, moved = _with_first_lines(identities_of)
    common = _common_depths(identities_of)
    matches: dict[Identity, MatchedObject] = {}
    for at, (profile, identities) in enumerate(zip(profiles, identities_of, strict=True)):
        for memory, identity in zip(profile.objects, identities, strict=True):
            match = matches.setdefault(
                common[identity], MatchedObject(common[identity], [[] for _ in profiles])
            )
            match.members[at].append(memory.id)
            if not match.name or len(memory.name) < len(match.name):
                match.name = memory.name
    return Alignment(_with_unique_names(list(matches.values())), moved)


def _common_depths(identities_of: Sequence[Sequence[Identity]]) -> dict[Identity, Identity]:
    """Map each identity to the coarsest one that contains it in any profile."""
    all_identities = {identity for identities in identities_of for identity in identities}
    common: dict[Identity, Identity] = {}
    for identity in all_identities:
        depths = range(1, len(identity.sites))
        coarser = (identity.at_depth(depth) for depth in depths)
        common[identity] = next(
            (candidate for candidate in coarser if candidate in all_identities), identity
        )
    return common


def _with_first_lines(
    identities_of: Sequence[Sequence[Identity]],
) -> tuple[list[list[Identity]], list[str]]:
    """Give identities whose lines moved the lines of the first profile that has them."""
    result = [list(identities_of[0])]
    seen = list(dict.fromkeys(identities_of[0]))
    sentences: list[str] = []
    for identities in identities_of[1:]:
        exact = set(seen) & set(identities)
        before = _by_place([identity for identity in seen if identity not in exact])
        after = _by_place(
            [identity for identity in dict.fromkeys(identities) if identity not in exact]
        )
        renamed: dict[Identity, Identity] = {}
        for place, now in after.items():
            renamed.update(_paired(before.get(place, []), now))
        for new, old in renamed.items():
            sentences.append(
                f"{_place(new)} is assumed to be {_place(old)}: same function, moved lines"
            )
        result.append([renamed.get(identity, identity) for identity in identities])
        seen = list(dict.fromkeys([*seen, *result[-1]]))
    return result, sentences


def _by_place(identities: Sequence[Identity]) -> dict[tuple[object, ...], list[Identity]]:
    groups: dict[tuple[object, ...], list[Identity]] = {}
    for identity in identities:
        if identity.sites:
            groups.setdefault(identity.without_lines(), []).append(identity)
    for group in groups.values():
        group.sort(key=_lines)
    return groups


def _paired(before: list[Identity], now: list[Identity]) -> dict[Identity, Identity]:
    """Map new identities to old ones: in order if equally many, else by the nearest lines."""
    if len(before) == len(now):
        return dict(zip(now, before, strict=True))
    pairs: dict[Identity, Identity] = {}
    unpaired = list(before)
    for identity in now:
        if not unpaired:
            break
        nearest = min(unpaired, key=lambda old: _line_distance(identity, old))
        pairs[identity] = nearest
        unpaired.remove(nearest)
    return pairs


def _lines(identity: Identity) -> tuple[int, ...]:
    return tuple(site.line for site in identity.sites)


def _line_distance(first: Identity, second: Identity) -> int:
    return sum(abs(a - b) for a, b in zip(_lines(first), _lines(second), strict=True))


def _place(identity: Identity) -> str:
    return " < ".join(f"{site.function} {site.file}:{site.line}" for site in identity.sites)


def _with_unique_names(objects: list[MatchedObject]) -> list[MatchedObject]:
    counts: dict[str, int] = {}
    for match in objects:
        counts[match.name] = counts.get(match.name, 0) + 1
        if counts[match.name] > 1:
            match.name = f"{match.name} #{counts[match.name]}"
    return objects


MAX_FRAMES_COMPARED = 3
"""Two call stacks match only if they share a function among this many innermost frames. More than
one frame is compared because inlined frames are unknown without line tables."""


def match_by_allocation(
    these: Sequence[MemoryObject], those: Sequence[MemoryObject]
) -> dict[int, int]:
    """Map the number of each of `these` to its number in `those`; -1 where there is none.

    Both are of one program and input, but of two builds: names may have no lines, and addresses
    differ. Objects with different names are matched by call stack and allocated bytes.
    """
    names = {(memory.kind, memory.name): memory.id for memory in those}
    numbers: dict[int, int] = {}
    for memory in these:
        number = names.get((memory.kind, memory.name), -1)
        if number < 0 and memory.frames:
            candidates = [
                (depth, abs(memory.allocated_bytes - other.allocated_bytes), other.id)
                for other in those
                if other.kind == memory.kind and (depth := _common_depth(memory, other)) is not None
            ]
            number = min(candidates)[2] if candidates else -1
        numbers[memory.id] = number
    return numbers


def _common_depth(memory: MemoryObject, other: MemoryObject) -> int | None:
    """Return the depth of the nearest function that both call stacks have; None: too deep.

    The depth decides before the size: main is an ancestor of nearly everything.
    """
    theirs = [frame.function for frame in other.frames[:MAX_FRAMES_COMPARED]]
    return min(
        (
            depth + theirs.index(frame.function)
            for depth, frame in enumerate(memory.frames[:MAX_FRAMES_COMPARED])
            if frame.function in theirs
        ),
        default=None,
    )
