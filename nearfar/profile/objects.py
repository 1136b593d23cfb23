"""Objects of a profile, made from the processes' allocation sites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

import numpy as np

from nearfar.documents.workload import Frame, MemoryObject
from nearfar.profile import run_file
from nearfar.profile.events import events_of
from nearfar.profile.run_file import ProcessFile
from nearfar.program import named_frames, wrappers
from nearfar.program.calls import called_function
from nearfar.program.language_runtimes import heap_frame
from nearfar.program.names import bare_name, fortran_name
from nearfar.program.symbols import SourceLocation, symbolise

ObjectKind = Literal["heap", "mmap", "file", "stack", "globals", "unknown"]

Site = tuple[int, int]
"""Index of a process's file, and the number of a site in it."""

_OWN_NAMES = {
    run_file.SITE_OTHER: "other allocations (the table of sites was full)",
    run_file.SITE_UNKNOWN: "unknown memory",
    run_file.SITE_STACK: "stacks",
}


MIN_SPLIT_SHARE = 0.02
"""Share of all bytes above which an object is split by its callers: below, a plan gains nothing
from it, and a profile would have thousands of objects."""
MAX_FRAMES = 4
"""Largest number of frames that distinguish objects: names get unreadable beyond."""


@dataclass
class _Group:
    """Sites that are one object, since they have the same source location."""

    kind: ObjectKind
    frames: list[Frame]
    name: str
    sites: list[Site] = field(default_factory=list)
    via: str = ""
    """Function that the innermost frame calls, which distinguishes calls on one line: of a
    container, or of the C library if the line has no columns."""
    told_by: int = 1
    """Number of frames that distinguish this group from others."""
    split: str = ""
    """Part of the site: size class, the program's tag."""
    joined_calls: int = 0
    """Number of calls on one line that the group joins, because debug information has no columns;
    0: none."""


def make_objects(files: Sequence[ProcessFile]) -> tuple[list[MemoryObject], dict[Site, int]]:
    """Merge all processes' sites into objects; also return the object of each site."""
    groups = _groups(files)
    _make_names_unique(groups)
    objects: list[MemoryObject] = []
    object_of: dict[Site, int] = {}
    for group in groups:
        allocations = allocated = peak = at_peak = 0
        for process in sorted({process for process, _ in group.sites}):
            rows = files[process].sites[[number for at, number in group.sites if at == process]]
            allocations += int(rows["allocations"].sum())
            allocated += int(rows["allocated_bytes"].sum())
            # Forked processes share memory: the largest peak counts, not the sum.
            numbers = {number for at, number in group.sites if at == process}
            own_peak = max(int(rows["peak_bytes"].max()), _sampled_peak(files[process], numbers))
            peak = max(peak, own_peak)
            at_peak = max(at_peak, 0, int(rows["bytes_at_peak"].sum()))
        number = len(objects)
        object_of.update(dict.fromkeys(group.sites, number))
        objects.append(
            MemoryObject(
                id=number,
                name=group.name,
                kind=group.kind,
                frames=group.frames,
                allocations=allocations,
                allocated_bytes=allocated,
                peak_live_bytes=max(peak, at_peak),
                live_bytes_at_peak=at_peak,
                size_bytes=max(peak, at_peak),
                told_by=group.told_by,
                via=group.via,
                split=group.split,
                joined_calls=group.joined_calls,
            )
        )
    return objects, object_of


def _sampled_peak(file: ProcessFile, numbers: set[int]) -> int:
    """Return the peak of the sites' total bytes in any sample of live bytes."""
    if len(numbers) == 1 or not len(file.live):
        return 0
    inside = np.zeros(1 << 16, dtype=bool)
    inside[list(numbers)] = True
    rows = file.live["sites"]
    used = np.arange(rows.shape[1]) < file.live["count"][:, None]
    counted = used & inside[rows["site"]]
    return max(0, int(np.where(counted, rows["bytes"], 0).sum(axis=1).max()))


def _groups(files: Sequence[ProcessFile]) -> list[_Group]:
    """Return the groups of all used sites: first those with a name of their own."""
    named: dict[tuple[object, ...], _Group] = {}
    called: list[Site] = []
    for site in _used_sites(files):
        process, number = site
        file = files[process]
        name = _own_name(file, number)
        if name is None:
            called.append(site)
            continue
        kind, split = _kind(files, site), _split(files, site)
        key = (kind, name, file.text(int(file.sites[number]["path"])), split)
        named.setdefault(key, _Group(kind, [], name, split=split)).sites.append(site)
    return [*named.values(), *_groups_by_location(files, called)]


def _used_sites(files: Sequence[ProcessFile]) -> Iterator[Site]:
    """Yield the sites that allocated memory, had accesses or had events."""
    for process, file in enumerate(files):
        used = set((file.counters["key"].astype("u8") >> 32 & 0xFFFF).tolist())
        used |= {site for _, site in events_of(file)}
        for number, row in enumerate(file.sites):
            touched = number in used or row["allocated_bytes"] or row["peak_bytes"] > 0
            if number != 0 and touched:
                yield process, number


def _own_name(file: ProcessFile, number: int) -> str | None:
    """Return the name of a site that is no call: a reserved one, variables, a file; else None."""
    if number < run_file.FIRST_FREE_SITE:
        return _OWN_NAMES[number]
    row = file.sites[number]
    kind = run_file.KINDS[int(row["kind"])]
    if kind == "globals":
        return _globals_name(file.text(int(row["path"])), file)
    return f"file {Path(file.text(int(row['path']))).name}" if kind == "file" else None


def _kind(files: Sequence[ProcessFile], site: Site) -> ObjectKind:
    process, number = site
    return cast(ObjectKind, run_file.KINDS[int(files[process].sites[number]["kind"])])


def _groups_by_location(files: Sequence[ProcessFile], sites: Sequence[Site]) -> Iterable[_Group]:
    """Group the sites of calls by the source location of the call."""
    places = [
        [files[process].locate(a) for a in row["frames"][: int(row["depth"])].tolist()]
        for process, row in ((process, files[process].sites[number]) for process, number in sites)
    ]
    kinds = [_kind(files, site) for site in sites]
    frames_of = symbolise(place for stack in places for place in stack)
    stacks = [
        _with_heap(kind, [frame for place in stack for frame in frames_of[place]])
        for kind, stack in zip(kinds, places, strict=True)
    ]
    groups = [
        _Group(
            kind, kept, "", [site], wrappers.container_call(stack, kept), split=_split(files, site)
        )
        for kind, site, stack, kept in zip(
            kinds, sites, stacks, wrappers.meaningful(stacks), strict=True
        )
    ]
    _distinguish_by_callee(groups, stacks, [stack[0] for stack in places])
    total = sum(_peak_bytes(files, group) for group in groups)
    return _merged(files, groups, 1, MIN_SPLIT_SHARE * total)


def _distinguish_by_callee(
    called: Sequence[_Group], stacks: Sequence[Sequence[Frame]], places: Sequence[SourceLocation]
) -> None:
    """Set `via` to the called function if a line without columns calls several functions."""
    alike: dict[tuple[object, ...], list[tuple[_Group, SourceLocation]]] = {}
    for group, stack, place in zip(called, stacks, places, strict=True):
        first = group.frames[0]
        if first is stack[0] and first.line and not first.column and not place.named:
            key = tuple(_identity(frame) for frame in group.frames)
            alike.setdefault(key, []).append((group, place))
    for rows in alike.values():
        if len({place for _, place in rows}) > 1:
            functions = [called_function(place.module, place.offset) for _, place in rows]
            if len(set(functions)) > 1:
                for (group, _), function in zip(rows, functions, strict=True):
                    group.via = function


def _with_heap(kind: str, stack: list[Frame]) -> list[Frame]:
    """Return the frame of the language runtime's heap that `stack` allocates from, or `stack`."""
    heap = heap_frame(kind, stack)
    return stack if heap is None else [heap]


def _merged(
    files: Sequence[ProcessFile], called: Sequence[_Group], depth: int, split_bytes: float
) -> Iterable[_Group]:
    """Merge groups whose first `depth` frames are equal; split large ones by more frames."""
    together: dict[tuple[object, ...], list[_Group]] = {}
    for group in called:
        places = (_identity(frame) for frame in group.frames[:depth])
        key = (group.kind, group.via, group.split, *places)
        together.setdefault(key, []).append(group)
    for groups in together.values():
        deepest = max(len(group.frames) for group in groups)
        weight = sum(_peak_bytes(files, group) for group in groups)
        if weight > split_bytes and depth < min(deepest, MAX_FRAMES):
            yield from _merged(files, groups, depth + 1, split_bytes)
        else:
            first = groups[0]
            sites = [site for group in groups for site in group.sites]
            via = f" ({first.via})" if first.via else ""
            name = _name_of(first.frames[0]) + via
            yield _Group(
                first.kind, first.frames, name, sites, first.via, depth, first.split,
                _joined_calls(groups) if weight > split_bytes else 0,
            )  # fmt: skip


def _joined_calls(groups: Sequence[_Group]) -> int:
    """Return how many call stacks of one process are equal, with frames without columns; 0: none.

    Equal stacks with columns are one call that was compiled several times, as in a loop.
    """
    stacks: Counter[tuple[object, ...]] = Counter()
    for group in groups:
        if any(frame.line and not frame.column for frame in group.frames):
            for process, _ in group.sites:
                stacks[process, *(_identity(frame) for frame in group.frames)] += 1
    most = max(stacks.values(), default=0)
    return most if most > 1 else 0


def _split(files: Sequence[ProcessFile], site: Site) -> str:
    """Return which blocks of a call stack the site has: ``users, 64-127 B``; "" for all."""
    process, number = site
    row = files[process].sites[number]
    tag, bits = fortran_name(files[process].text(int(row["tag"]))), int(row["size_class"])
    return ", ".join(text for text in (tag, size_class_name(bits)) if text)


def size_class_name(bits: int) -> str:
    """Return the name of the size class of `bits` bits: ``64-127 B``; "" for 0, all sizes."""
    if bits == 0:
        return ""
    least = 1 << (bits - 1)
    for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if least >= factor:
            return f"{least // factor}-{2 * least // factor} {unit}"
    return f"{least}-{2 * least - 1} B"


def _identity(frame: Frame) -> tuple[object, ...]:
    return (frame.module, frame.function, frame.file, frame.line, frame.column)


def _peak_bytes(files: Sequence[ProcessFile], group: _Group) -> int:
    return max(int(files[process].sites[number]["peak_bytes"]) for process, number in group.sites)


def _globals_name(path: str, file: ProcessFile) -> str:
    if path.startswith("\t"):  # a single variable
        return fortran_name(path[1:])
    main = file.text(int(file.modules[0]["path"])) if len(file.modules) else ""
    return "globals" if path == main else f"globals of {Path(path).name}"


def _name_of(frame: Frame) -> str:
    if named_frames.is_named(frame) and frame.file:
        return named_frames.place_name(frame)
    function = _function_of(frame)
    where = f" {Path(frame.file).name}:{frame.line}" if frame.file and frame.line else ""
    return f"{function}{where}"


def _place_of(frame: Frame) -> str:
    """Return the name with the column: ``main main.c:12:9``."""
    name = _name_of(frame)
    return f"{name}:{frame.column}" if frame.column and name.endswith(f":{frame.line}") else name


def _add_columns(groups: Sequence[_Group]) -> None:
    """Add the column to names of groups that call from one line."""
    columns: dict[tuple[str, str], set[int]] = {}
    for group in groups:
        if group.frames:
            columns.setdefault((group.name, group.split), set()).add(group.frames[0].column)
    for group in groups:
        if group.frames and len(columns[group.name, group.split]) > 1:
            plain = _name_of(group.frames[0])
            group.name = group.name.replace(plain, _place_of(group.frames[0]), 1)


def _make_names_unique(groups: Sequence[_Group]) -> None:
    """Distinguish groups of equal names by columns, then by callers, then by numbers."""
    _add_columns(groups)
    for describe in (_function_of, _name_of, _place_of):
        together: dict[tuple[str, str], list[_Group]] = {}
        for group in groups:
            together.setdefault((group.name, group.split), []).append(group)
        for same_name in together.values():
            _add_callers(same_name, 1, describe)
    for group in groups:
        group.name += f", {group.split}" if group.split else ""
    seen: Counter[str] = Counter()
    for group in groups:
        seen[group.name] += 1
        if seen[group.name] > 1:
            group.name = f"{group.name} #{seen[group.name]}"


def _add_callers(same_name: Sequence[_Group], depth: int, describe: Callable[[Frame], str]) -> None:
    if len(same_name) < 2 or depth >= MAX_FRAMES:
        return
    by_caller: dict[str, list[_Group]] = {}
    for group in same_name:
        caller = describe(group.frames[depth]) if len(group.frames) > depth else ""
        by_caller.setdefault(caller, []).append(group)
    for caller, some in by_caller.items():
        if caller and len(by_caller) > 1:
            for group in some:
                group.name = f"{group.name} < {caller}"
        _add_callers(some, depth + 1, describe)


def _function_of(frame: Frame) -> str:
    return frame.function if named_frames.is_named(frame) else bare_name(frame.function)
