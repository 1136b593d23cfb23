"""How much of what was allocated had pages: programs reserve more addresses than they use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from nearfar.documents.workload import LiveSample, MemoryObject, Phase


def resident_objects(
    objects: Sequence[MemoryObject], phases: Sequence[Phase], line_bytes: int, peak_bytes: int
) -> list[MemoryObject]:
    """Return the objects, none larger than all the memory that the program ever had at once.

    `peak_bytes`: the largest process's peak (ru_maxrss; it holds nearfar's own, some 100 MiB, as
    the kernel hands that on over fork and exec). An arena of 1 TiB then needs the room that its
    program had. Pages of hugetlbfs are not in that figure: where the machine has any, and 0, say
    nothing. What was seen touched is kept in any case.
    """
    if not peak_bytes or _huge_page_pool():
        return list(objects)
    touched = touched_bytes(phases, line_bytes)
    return [
        msgspec.structs.replace(
            thing, size_bytes=min(thing.size_bytes, max(peak_bytes, touched.get(thing.id, 0)))
        )
        if thing.kind in ("heap", "mmap")
        else thing
        for thing in objects
    ]


def resident_samples(
    samples: Sequence[LiveSample], objects: Sequence[MemoryObject]
) -> list[LiveSample]:
    """Return what was alive over time, no object more than what it ever had pages for."""
    size = {str(thing.id): thing.size_bytes for thing in objects}
    return [
        msgspec.structs.replace(
            sample,
            bytes_by_object={
                key: min(count, size.get(key, count))
                for key, count in sample.bytes_by_object.items()
            },
        )
        for sample in samples
    ]


def touched_bytes(phases: Sequence[Phase], line_bytes: int) -> dict[int, int]:
    """Return the bytes of each object's lines that were seen touched, where curves tell."""
    found: dict[int, int] = {}
    for phase in phases:
        for row in phase.objects:
            if row.curve is not None and row.curve.read:
                # What even the largest cache misses is each line's first touch.
                lines = row.curve.read[-1] + row.curve.write[-1]
                found[row.object] = found.get(row.object, 0) + round(lines * line_bytes)
    return found


def _huge_page_pool(meminfo: Path = Path("/proc/meminfo")) -> bool:
    pages = re.search(r"^HugePages_Total:\s*(\d+)", meminfo.read_text(), re.MULTILINE)
    return pages is not None and int(pages[1]) > 0
