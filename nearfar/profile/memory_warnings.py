"""Warnings on memory used by uninstrumented code, only reserved, or hidden by an allocator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nearfar.base.units import format_bytes
from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import MemoryObject
from nearfar.profile.live_bytes import touched_bytes
from nearfar.program.allocators import bundled_allocator
from nearfar.program.named_frames import is_memory

MIN_OBJECT_SHARE = 0.05
"""Share of the program's memory from which an object is worth a warning."""
MAX_NAMES = 5
"""Objects that a warning names."""
MIN_OBJECT_BYTES = 1 << 20
"""Size from which an object is worth a warning: smaller ones fit caches."""
MIN_ACCESSES_PER_LINE = 0.01
"""Accesses per line of an object below which other code must use it."""
RESERVED_FACTOR = 4
"""Ratio of size to touched lines above which an object is mostly reserved: records of a quarter
of a page, each touched on one line, are used in full."""
MIN_RESERVED_BLOCK_BYTES = 1 << 20
"""Mean block size from which memory may be reserved in advance; smaller blocks reuse lines of
others."""
MAX_NAMED = 3
MIN_MAPPED_SHARE = 0.8
"""Share of mapped memory from which an allocator inside the program is likely."""
MIN_MAPPED_BYTES = 4 << 20
"""Mapped bytes from which that is worth a warning."""


def unseen_warnings(
    profile: WorkloadProfile, foreign: Sequence[Path], executable: Path
) -> list[str]:
    """Warn of memory that `foreign` libraries allocate, and of memory without accesses."""
    total_bytes = sum(memory.size_bytes for memory in profile.objects)
    min_bytes = max(MIN_OBJECT_BYTES, MIN_OBJECT_SHARE * total_bytes)
    return [
        *_allocating(profile, foreign, executable, min_bytes),
        *_untouched(profile, foreign, min_bytes),
    ]


def _allocating(
    profile: WorkloadProfile, foreign: Sequence[Path], executable: Path, min_bytes: float
) -> list[str]:
    """Warn of uninstrumented libraries that allocate `min_bytes` or more."""
    warnings: list[str] = []
    for library in foreign:
        owned = [o for o in profile.objects if o.frames and o.frames[0].module == library.name]
        size = sum(memory.size_bytes for memory in owned)
        if size < min_bytes:
            continue
        local = executable.parent / library.name
        if executable.parent.name == ".libs" and local.exists():
            fix = f"run the program with LD_LIBRARY_PATH={executable.parent} to use {local}"
        else:
            fix = (
                f"build {library.name} with nearfar's compilers too, or link the program statically"
            )
        warnings.append(
            f"{library} is not instrumented but allocates {format_bytes(size)}, and its accesses "
            f"are not seen; {fix}"
        )
    return warnings


def reserved_warnings(profile: WorkloadProfile) -> list[str]:
    """Warn of objects that are mostly reserved addresses without pages."""
    total_bytes = sum(memory.size_bytes for memory in profile.objects)
    min_bytes = max(MIN_OBJECT_BYTES, MIN_OBJECT_SHARE * total_bytes)
    touched = touched_bytes(profile.phases, profile.cache.line_bytes)
    blocks = [memory for memory in profile.objects if memory.kind in ("heap", "mmap")]
    # Blocks that reuse addresses share lines: the sum must be small too.
    alive = sum(memory.live_bytes_at_peak for memory in blocks)
    if RESERVED_FACTOR * sum(touched.get(memory.id, 0) for memory in blocks) > 2 * alive:
        return []
    reserved = [
        memory
        for memory in blocks
        if memory.size_bytes >= min_bytes
        and memory.allocated_bytes >= MIN_RESERVED_BLOCK_BYTES * memory.allocations
        and 0 < RESERVED_FACTOR * touched.get(memory.id, 0) < memory.size_bytes
    ]
    reserved.sort(key=_size, reverse=True)
    return [
        f"only about {format_bytes(touched[memory.id])} of {memory.name} "
        f"({format_bytes(memory.size_bytes)}) were touched: if the remainder is only reserved, "
        "plans, which count all of it, are too large; make the program reserve less"
        for memory in reserved[:MAX_NAMED]
    ]


def undivided_warnings(profile: WorkloadProfile) -> list[str]:
    """Report heaps of language runtimes, which are one object each."""
    total_bytes = sum(memory.size_bytes for memory in profile.objects)
    min_bytes = max(MIN_OBJECT_BYTES, MIN_OBJECT_SHARE * total_bytes)
    heaps = [o for o in profile.objects if o.size_bytes >= min_bytes and is_memory(o.frames)]
    if not heaps:
        return []
    names = ", ".join(f"{o.name} ({format_bytes(o.size_bytes)})" for o in heaps)
    return [
        f"{names}: one object, because the runtime or allocator that divides this memory does not "
        "report what each part holds"
    ]


def joined_warnings(profile: WorkloadProfile) -> list[str]:
    """Report objects made of several calls that debug information does not distinguish."""
    joined = [memory for memory in profile.objects if memory.joined_calls]
    if not joined:
        return []
    names = ", ".join(f"{memory.name} ({memory.joined_calls})" for memory in joined[:MAX_NAMES])
    more = f" and {len(joined) - MAX_NAMES} more" if len(joined) > MAX_NAMES else ""
    return [
        f"calls on one line that debug information does not distinguish are one object: {names}"
        f"{more}; build without -gno-column-info to tell them apart by column"
    ]


def _untouched(profile: WorkloadProfile, foreign: Sequence[Path], min_bytes: float) -> list[str]:
    """Warn of heap objects with hardly any accesses."""
    accesses = dict.fromkeys(range(len(profile.objects)), 0.0)
    for phase in profile.phases:
        for row in phase.objects:
            streamed = row.traffic.nt_store_bytes / profile.cache.line_bytes
            accesses[row.object] += row.traffic.accesses + streamed
    silent = [
        memory
        for memory in profile.objects
        if memory.kind == "heap"
        and memory.size_bytes >= min_bytes
        and accesses[memory.id]
        < MIN_ACCESSES_PER_LINE * memory.size_bytes / profile.cache.line_bytes
    ]
    if not silent:
        return []
    silent.sort(key=_size, reverse=True)
    names = ", ".join(f"{o.name} ({format_bytes(o.size_bytes)})" for o in silent[:MAX_NAMED])
    more = f" and {len(silent) - MAX_NAMED} more" if len(silent) > MAX_NAMED else ""
    libraries = ", ".join(path.name for path in foreign[:MAX_NAMED])
    such_as = f", such as {libraries}," if libraries else ""
    return [
        f"hardly any access to {names}{more} was seen: code that is not instrumented{such_as} may "
        "use that memory, so the effect of far memory on it is unknown"
    ]


def _size(memory: MemoryObject) -> int:
    return memory.size_bytes


def allocator_warning(executable: Path, objects: Sequence[MemoryObject]) -> str | None:
    """Warn if an allocator hides objects, and tell how to build without it."""
    heap = sum(memory.allocated_bytes for memory in objects if memory.kind == "heap")
    mapped = sum(memory.allocated_bytes for memory in objects if memory.kind == "mmap")
    name = bundled_allocator(executable)
    fix = (
        "build it with the C library's malloc to see the objects (Redis: make MALLOC=libc; "
        "often ./configure --without-jemalloc, --disable-jemalloc, --with-malloc=libc)"
    )
    alive = {
        kind: sum(memory.live_bytes_at_peak for memory in objects if memory.kind == kind)
        for kind in ("heap", "mmap")
    }
    if name is not None and heap < mapped and alive["heap"] <= alive["mmap"]:
        return f"{executable.name} contains {name}, which hides its allocations: {fix}"
    if mapped > MIN_MAPPED_BYTES and mapped > MIN_MAPPED_SHARE * (heap + mapped):
        largest = max((o for o in objects if o.kind == "mmap"), key=lambda o: o.allocated_bytes)
        if is_memory(largest.frames):
            return None
        return (
            f"{mapped / (heap + mapped):.0%} of the memory was mapped, most by {largest.name}; "
            f"if that is an allocator, {fix}"
        )
    return None
