"""Live bytes over time, and sizes of objects limited to memory that had pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from nearfar.documents.profiled_run import LiveSample
from nearfar.documents.workload import MemoryObject, Phase
from nearfar.profile.objects import Site
from nearfar.profile.run_file import ProcessFile

MIN_LIVE_SHARE = 0.01
"""Share of a sample's total below which objects are added up under "other"."""
MAX_SAMPLES = 200
"""Largest number of samples kept: a figure shows no more."""


def live_samples(
    files: Sequence[ProcessFile],
    object_of: Mapping[Site, int],
    phase_names: Mapping[int, str],
    end_ns: float,
) -> list[LiveSample]:
    """Return the samples of the process with the highest peak, and one at the end, `end_ns`."""
    if not files:
        return []
    process = max(range(len(files)), key=lambda at: int(files[at].header["peak_bytes"]))
    file = files[process]

    def sample(time_ns: float, phase: str, pairs: Iterable[tuple[int, int]]) -> LiveSample:
        bytes_by_object: dict[str, int] = {}
        total = 0
        for site, size_bytes in pairs:
            total += size_bytes
            if (number := object_of.get((process, site))) is not None:
                key = str(number)
                bytes_by_object[key] = bytes_by_object.get(key, 0) + size_bytes
        large = {k: v for k, v in bytes_by_object.items() if v >= MIN_LIVE_SHARE * total}
        if (rest := total - sum(large.values())) > 0:
            large["other"] = rest
        return LiveSample(time_ns=time_ns, phase=phase, bytes_by_object=large)

    step = -(-len(file.live) // MAX_SAMPLES) or 1
    samples: list[LiveSample] = []
    for row in file.live[::step]:
        used = row["sites"][: int(row["count"])]
        pairs = list(zip(used["site"].tolist(), used["bytes"].tolist(), strict=True))
        # Sites that did not fit the sample are only in its total.
        pairs.append((-1, int(row["total_bytes"]) - sum(size for _, size in pairs)))
        name = phase_names.get(int(row["phase"]), "-")
        samples.append(sample(float(row["time_ns"]), name, pairs))
    alive = [
        (number, size) for number, size in enumerate(file.sites["live_bytes"].tolist()) if size > 0
    ]
    last = samples[-1].phase if samples else "-"
    samples.append(sample(end_ns, last, alive))
    return samples


def resident_objects(
    objects: Sequence[MemoryObject], phases: Sequence[Phase], line_bytes: int, peak_bytes: int
) -> list[MemoryObject]:
    """Limit the size of each object to the most memory that the program ever had.

    `peak_bytes`: the largest process's peak (ru_maxrss), which includes nearfar's own 100 MiB, as
    the kernel keeps it over fork and exec; 0: not known. It does not include pages of hugetlbfs, so
    nothing is limited on a machine that has any. Touched bytes are never cut.
    """
    if not peak_bytes or _huge_page_pool():
        return list(objects)
    touched = touched_bytes(phases, line_bytes)
    return [
        msgspec.structs.replace(
            memory, size_bytes=min(memory.size_bytes, max(peak_bytes, touched.get(memory.id, 0)))
        )
        if memory.kind in ("heap", "mmap")
        else memory
        for memory in objects
    ]


def resident_samples(
    samples: Sequence[LiveSample], objects: Sequence[MemoryObject]
) -> list[LiveSample]:
    """Limit the live bytes of each object in `samples` to its size."""
    size = {str(memory.id): memory.size_bytes for memory in objects}
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
    """Return the bytes of the touched lines of each object that has a miss curve."""
    bytes_of: dict[int, int] = {}
    for phase in phases:
        for row in phase.objects:
            if row.curve is not None and row.curve.read:
                # Even the largest cache misses each line's first touch.
                lines = row.curve.read[-1] + row.curve.write[-1]
                bytes_of[row.object] = bytes_of.get(row.object, 0) + round(lines * line_bytes)
    return bytes_of


def _huge_page_pool() -> bool:
    """Return whether this machine has reserved huge pages."""
    meminfo = Path("/proc/meminfo").read_text()
    pages = re.search(r"^HugePages_Total:\s*(\d+)", meminfo, re.MULTILINE)
    return pages is not None and int(pages[1]) > 0
