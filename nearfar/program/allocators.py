"""Recognises programs that bring their own allocator: their objects cannot be told apart."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents.workload import MemoryObject

_SIGNS = {
    "jemalloc": ("je_malloc", "je_mallocx", "je_arena_malloc", "je_extent_alloc", "je_pages_map"),
    "mimalloc": ("mi_malloc", "mi_heap_malloc", "_mi_os_alloc"),
    "tcmalloc": ("tc_malloc", "TCMallocInternalMalloc", "TCMalloc_SystemAlloc"),
    "an allocator of its own": ("malloc",),
}
"""Functions whose definition in the executable itself shows an allocator."""

MAPPED_SHARE = 0.8
"""If this much of what was allocated came from mmap, something inside divides it further..."""
MAPPED_LEAST_BYTES = 4 << 20
"""...and it is worth a word from here up."""


def bundled_allocator(executable: Path) -> str | None:
    """Return the name of the allocator that `executable` itself defines; None if it has none."""
    names = _defined(executable)
    return next((name for name, signs in _SIGNS.items() if names & set(signs)), None)


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
    if mapped > MAPPED_LEAST_BYTES and mapped > MAPPED_SHARE * (heap + mapped):
        most = max((o for o in objects if o.kind == "mmap"), key=lambda o: o.allocated_bytes)
        return (
            f"{mapped / (heap + mapped):.0%} of the memory was mapped, most of it by {most.name}; "
            f"if that is an allocator, {mend}"
        )
    return None


def _defined(executable: Path) -> set[str]:
    """Return the functions `executable` defines; only the dynamic ones where it is stripped."""
    if shutil.which("nm") is None:
        raise NearfarError(
            "there is no nm here to read the program's symbols with: install it (package binutils)",
            ExitCode.MACHINE_LACKS,
        )
    names: set[str] = set()
    for table in ([], ["--dynamic"]):
        answer = subprocess.run(
            ["nm", "--defined-only", *table, str(executable)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        names.update(
            line.rpartition(" ")[2].partition("@")[0] for line in answer.stdout.splitlines()
        )
    return names
