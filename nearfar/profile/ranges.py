"""Traffic by range of an object's large memory: blocks of 1 MiB or more, mappings, files.

The runtime counts by position within an allocation site. An object may have several sites (the same
line with other callers). `nearfar run` assigns positions within the object, so this module assigns
such positions to the blocks of all its sites, in the order of the run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from nearfar.base.units import PAGE_BYTES
from nearfar.documents.workload import MemoryObject, RangeTraffic
from nearfar.profile.objects import Site
from nearfar.profile.positions import positions_in_object
from nearfar.profile.run_file import RANGES, ProcessFile, Records

Key = tuple[int, int]
"""Number of a phase, and of an object."""

Counts = NDArray[np.float64]
"""Lines by half of the sample, kind (read miss, write miss, write-back) and range."""

MIN_LOG2 = 16
"""log2 of the size of the smallest ranges, 64 KiB. Such a range of positions is called a unit."""

Lines = dict[int, dict[int, Counts]]
"""Counts of lines (2 x 3) by phase and number of the unit."""


def with_ranges(
    objects: Sequence[MemoryObject], files: Sequence[ProcessFile], object_of: Mapping[Site, int]
) -> tuple[list[MemoryObject], dict[Key, RangeTraffic]]:
    """Return the objects with the size of their ranges, and the traffic by range of each key."""
    lines: dict[int, Lines] = {}
    for process, file in enumerate(files):
        sites: dict[int, set[int]] = defaultdict(set)
        for row in file.ranges:
            if (number := object_of.get((process, _site_of(row)))) is not None:
                sites[number].add(_site_of(row))
        for number, of_object in sites.items():
            by_phase = lines.setdefault(number, defaultdict(lambda: defaultdict(_no_lines)))
            for phase, unit, counts in _lines_of(file, of_object):
                by_phase[phase][unit] += counts
    objects = list(objects)
    traffic: dict[Key, RangeTraffic] = {}
    for number, by_phase in lines.items():
        last = max((max(units, default=-1) for units in by_phase.values()), default=-1)
        if last < 0:
            continue
        log2 = MIN_LOG2
        while last >> (log2 - MIN_LOG2) >= RANGES:
            log2 += 1
        whole = objects[number].size_bytes // PAGE_BYTES * PAGE_BYTES
        count = max((last >> (log2 - MIN_LOG2)) + 1, min(RANGES, -(-whole // (1 << log2))))
        objects[number] = msgspec.structs.replace(objects[number], range_bytes=1 << log2)
        for phase, units in by_phase.items():
            counts = np.zeros((2, 3, count))
            for unit, each in units.items():
                counts[:, :, unit >> (log2 - MIN_LOG2)] += each
            traffic[phase, number] = _traffic(counts)
    return objects, traffic


def _no_lines() -> Counts:
    return np.zeros((2, 3))


def _site_of(row: Records) -> int:
    return int(row["key"]) >> 32 & 0xFFFF


def _lines_of(file: ProcessFile, sites: set[int]) -> Iterator[tuple[int, int, Counts]]:
    """Yield phase, number of the unit in the object, and counts of lines (2 x 3) of one process.

    Yields nothing if the object has several sites whose blocks are not all known.
    """
    blocks = None
    if len(sites) > 1:
        if file.header["positions"]["lost"]:
            return
        blocks = positions_in_object(file.positions, sites)
    for row in file.ranges:
        site = _site_of(row)
        if site not in sites:
            continue
        counts = row["counts"].astype(float).reshape(2, 3, RANGES) * file.rate
        for at in np.flatnonzero(counts.any(axis=(0, 1))).tolist():
            first = at << (int(row["bytes_log2"]) - MIN_LOG2)
            after = (at + 1) << (int(row["bytes_log2"]) - MIN_LOG2)
            units = list(range(first, after))
            if blocks is not None:
                units = _units_in_object(blocks[site], first, after)
            for unit in units:
                yield int(row["key"]) >> 48, unit, counts[:, :, at] / len(units)


def _units_in_object(blocks: Sequence[tuple[int, int, int]], first: int, after: int) -> list[int]:
    """Convert units of a site to units of the object; they are the same if no block is known."""
    begin, end = first << MIN_LOG2, after << MIN_LOG2
    units = [
        (at + place - position) >> MIN_LOG2
        for position, size, at in blocks
        for place in range(max(begin, position), min(end, position + size), 1 << MIN_LOG2)
    ]
    return units or list(range(first, after))


def _traffic(counts: Counts) -> RangeTraffic:
    both, halves = counts.sum(axis=0), counts.sum(axis=1)
    return RangeTraffic(
        read_misses=both[0].tolist(),
        write_misses=both[1].tolist(),
        write_backs=both[2].tolist(),
        second_half=halves[1].tolist(),
    )
