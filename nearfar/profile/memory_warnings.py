"""Says where memory is used by code that is not instrumented, and which code that is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nearfar.base.units import format_bytes
from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import MemoryObject
from nearfar.profile.live_bytes import touched_bytes
from nearfar.program.allocators import bundled_allocator

MIN_OBJECT_SHARE = 0.05
"""Of the memory the program had; below, a plan would gain nothing from it."""
MIN_OBJECT_BYTES = 1 << 20
"""What is smaller fits any processor's caches."""
MIN_ACCESSES_PER_LINE = 0.01
"""Accesses per line of an object: whoever allocated it meant to write it once at least."""
RESERVED_FACTOR = 4
"""Sizes over the lines seen touched from which an object is more reserved than used. Lines are
fewer than pages: records of a quarter of a page, each touched on one line, are used in full."""
MIN_RESERVED_BLOCK_BYTES = 1 << 20
"""Smaller blocks are not reserved ahead, and lie where others lay that touched the lines first."""
MAX_NAMED = 3
MIN_MAPPED_SHARE = 0.8
"""If this much of what was allocated came from mmap, something inside divides it further..."""
MIN_MAPPED_BYTES = 4 << 20
"""...and it is worth a word from here up."""


def unseen_warnings(
    profile: WorkloadProfile, foreign: Sequence[Path], executable: Path
) -> list[str]:
    """Return sentences on what `foreign` libraries allocate and on memory nobody touches."""
    everything = sum(thing.size_bytes for thing in profile.objects)
    least = max(MIN_OBJECT_BYTES, MIN_OBJECT_SHARE * everything)
    return [
        *_allocating(profile, foreign, executable, least),
        *_untouched(profile, foreign, least),
    ]


def _allocating(
    profile: WorkloadProfile, foreign: Sequence[Path], executable: Path, least: float
) -> list[str]:
    found: list[str] = []
    for library in foreign:
        owned = [o for o in profile.objects if o.frames and o.frames[0].module == library.name]
        size = sum(thing.size_bytes for thing in owned)
        if size < least:
            continue
        beside = executable.parent / library.name
        if executable.parent.name == ".libs" and beside.exists():
            mend = f"run the program with LD_LIBRARY_PATH={executable.parent} to use {beside}"
        else:
            mend = (
                f"build {library.name} with nearfar's compilers too, or link the program statically"
            )
        found.append(
            f"{library} is not instrumented but allocates {format_bytes(size)}: what it does there "
            f"is not seen; {mend}"
        )
    return found


def reserved_warnings(profile: WorkloadProfile) -> list[str]:
    """Say which objects are mostly address space: a plan would keep room for what has no pages."""
    everything = sum(thing.size_bytes for thing in profile.objects)
    least = max(MIN_OBJECT_BYTES, MIN_OBJECT_SHARE * everything)
    touched = touched_bytes(profile.phases, profile.cache.line_bytes)
    memory = [thing for thing in profile.objects if thing.kind in ("heap", "mmap")]
    # Blocks that follow each other at one address share its lines: all together must be little.
    alive = sum(thing.live_bytes_at_peak for thing in memory)
    if RESERVED_FACTOR * sum(touched.get(thing.id, 0) for thing in memory) > 2 * alive:
        return []
    found = [
        thing
        for thing in memory
        if thing.size_bytes >= least
        and thing.allocated_bytes >= MIN_RESERVED_BLOCK_BYTES * thing.allocations
        and 0 < RESERVED_FACTOR * touched.get(thing.id, 0) < thing.size_bytes
    ]
    found.sort(key=_size, reverse=True)
    return [
        f"of {thing.name} ({format_bytes(thing.size_bytes)}) about "
        f"{format_bytes(touched[thing.id])} were seen touched: if the rest is only reserved, "
        "plans and shares of the budget, which count all of it, are too large; ask the program to "
        "reserve less"
        for thing in found[:MAX_NAMED]
    ]


def _untouched(profile: WorkloadProfile, foreign: Sequence[Path], least: float) -> list[str]:
    accesses = dict.fromkeys(range(len(profile.objects)), 0.0)
    for phase in profile.phases:
        for row in phase.objects:
            streamed = row.traffic.nt_store_bytes / profile.cache.line_bytes
            accesses[row.object] += row.traffic.accesses + streamed
    silent = [
        thing
        for thing in profile.objects
        if thing.kind == "heap"
        and thing.size_bytes >= least
        and accesses[thing.id] < MIN_ACCESSES_PER_LINE * thing.size_bytes / profile.cache.line_bytes
    ]
    if not silent:
        return []
    silent.sort(key=_size, reverse=True)
    names = ", ".join(f"{o.name} ({format_bytes(o.size_bytes)})" for o in silent[:MAX_NAMED])
    more = f" and {len(silent) - MAX_NAMED} more" if len(silent) > MAX_NAMED else ""
    libraries = ", ".join(path.name for path in foreign[:MAX_NAMED])
    such_as = f", such as {libraries}," if libraries else ""
    return [
        f"hardly an access to {names}{more} was seen: code that is not instrumented{such_as} may "
        "use that memory; take what far memory does to it as unknown"
    ]


def _size(thing: MemoryObject) -> int:
    return thing.size_bytes


def allocator_warning(executable: Path, objects: Sequence[MemoryObject]) -> str | None:
    """Return a sentence if objects are hidden behind an allocator, and how to build without it."""
    heap = sum(thing.allocated_bytes for thing in objects if thing.kind == "heap")
    mapped = sum(thing.allocated_bytes for thing in objects if thing.kind == "mmap")
    name = bundled_allocator(executable)
    mend = (
        "build it with the C library's malloc to see the objects (Redis: make MALLOC=libc; "
        "often ./configure --without-jemalloc, --disable-jemalloc, --with-malloc=libc)"
    )
    if name is not None and heap < mapped:
        return f"{executable.name} brings {name}, which hides what is allocated through it: {mend}"
    if mapped > MIN_MAPPED_BYTES and mapped > MIN_MAPPED_SHARE * (heap + mapped):
        most = max((o for o in objects if o.kind == "mmap"), key=lambda o: o.allocated_bytes)
        return (
            f"{mapped / (heap + mapped):.0%} of the memory was mapped, most of it by {most.name}; "
            f"if that is an allocator, {mend}"
        )
    return None
