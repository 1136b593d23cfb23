"""Costs of memory mapped from a file system: first touch, persisting a line, a chase.

They are measured for each kind of file system on which a file can be written.
"""

from __future__ import annotations

import mmap
import os
import resource
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nearfar.base.errors import NearfarError
from nearfar.base.units import LINE_BYTES, PAGE_BYTES
from nearfar.measure.open_subject import open_memory
from nearfar.options.measure import MemoryOptions
from nearfar.samples.point import SamplePoint

ANONYMOUS = "anonymous"
"""Anonymous memory, with which the others are compared."""

KINDS = (ANONYMOUS, "tmpfs", "ext4", "xfs", "ext4-dax", "xfs-dax", "devdax")

FILE_BYTES = 64 << 20
"""16,384 pages: the first touch of all takes some 10 ms and is precise to a few per cent."""

PERSISTED = 200
"""Number of lines persisted one by one; on a disk each takes up to milliseconds."""

ROUNDS = 5


@dataclass(frozen=True)
class FilePlace:
    """A folder on one kind of file system, or a device."""

    kind: str
    path: Path | None
    """Path of the folder or device; None: anonymous memory."""


@dataclass(frozen=True)
class FileSystemCost:
    """Costs measured on one place."""

    place: FilePlace
    touch_ns: float
    """Time per page of the first write to a new file's pages."""
    kernel_share: float
    """Share of that time spent in the kernel."""
    again_ns: float
    """Time per page of the same writes again: mapped and, as far as they fit, cached."""
    persist_ns: float | None
    """Median time of writing a line and making its page durable by msync."""
    chase_ns: float | None
    """Time of a dependent random read; None if it could not be measured."""


def find_places(
    mounts: str, folders: Iterable[Path], devices: Iterable[Path] = ()
) -> dict[str, FilePlace]:
    """Return a writable place on each available kind, from the text of /proc/mounts.

    `folders` are tried first; a folder has the kind of the mount that contains it. Then the mount
    points of file systems with DAX are tried. `devices` are character devices of persistent memory.
    """
    table = [line.split() for line in mounts.splitlines() if len(line.split()) >= 4]
    kinds = {_unescaped(mount): _kind(kind, options) for _, mount, kind, options, *_ in table}
    places = {ANONYMOUS: FilePlace(ANONYMOUS, None)}
    for folder in [*folders, *(Path(m) for m, kind in kinds.items() if kind.endswith("-dax"))]:
        resolved = folder.resolve()
        containing = [m for m in kinds if resolved.is_relative_to(m)]
        if not containing or not os.access(resolved, os.W_OK):
            continue
        kind = kinds[max(containing, key=len)]
        if kind in KINDS:
            places.setdefault(kind, FilePlace(kind, resolved))
    for device in devices:
        if os.access(device, os.R_OK | os.W_OK):
            places.setdefault("devdax", FilePlace("devdax", device))
    return places


def here() -> dict[str, FilePlace]:
    """Return this machine's places."""
    try:
        mounts = Path("/proc/mounts").read_text()
    except OSError:
        return {}
    folders = [Path("/dev/shm"), Path(tempfile.gettempdir()), Path.cwd(), Path.home()]
    return find_places(mounts, folders, sorted(Path("/dev").glob("dax*")))


def measure(place: FilePlace) -> FileSystemCost:
    """Measure one place; medians of `ROUNDS`. Leaves nothing behind.

    A device is only chased: its pages are always there, and it takes no msync.
    """
    if place.kind == "devdax":
        return FileSystemCost(place, 0.0, 0.0, 0.0, None, _chase_ns(f"devdax:{place.path}"))
    rounds = [_touch(place.path) for _ in range(ROUNDS)]
    touch, share, again = (float(np.median(values)) for values in zip(*rounds, strict=True))
    return FileSystemCost(
        place=place,
        touch_ns=touch,
        kernel_share=share,
        again_ns=again,
        persist_ns=None if place.path is None else _persist_ns(place.path),
        chase_ns=_chase_ns("dram,pages=4k" if place.path is None else f"file:{place.path}"),
    )


def _touch(folder: Path | None) -> tuple[float, float, float]:
    """Return ns per page of a first touch, the kernel's share of it, and ns of a second touch."""
    if folder is None:
        with mmap.mmap(-1, FILE_BYTES) as mapped:
            mapped.madvise(mmap.MADV_NOHUGEPAGE)  # files have small pages too
            return _touch_mapped(mapped)
    with tempfile.TemporaryFile(dir=folder) as file:
        os.truncate(file.fileno(), FILE_BYTES)
        with mmap.mmap(file.fileno(), FILE_BYTES) as mapped:
            return _touch_mapped(mapped)


def _touch_mapped(mapped: mmap.mmap) -> tuple[float, float, float]:
    pages = FILE_BYTES // PAGE_BYTES
    first = np.frombuffer(mapped, dtype=np.uint8)[::PAGE_BYTES]
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter_ns()
    first[:] = 1
    touched = time.perf_counter_ns() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter_ns()
    first[:] = 2
    again = time.perf_counter_ns() - start
    kernel, user = after.ru_stime - before.ru_stime, after.ru_utime - before.ru_utime
    share = kernel / (kernel + user) if kernel + user > 0 else 0.0
    return touched / pages, share, again / pages


def _persist_ns(folder: Path) -> float:
    generator = np.random.default_rng(1)
    with tempfile.TemporaryFile(dir=folder) as file:
        os.truncate(file.fileno(), FILE_BYTES)
        with mmap.mmap(file.fileno(), FILE_BYTES) as mapped:
            times = []
            for page in generator.integers(0, FILE_BYTES // PAGE_BYTES, PERSISTED):
                at = int(page) * PAGE_BYTES
                start = time.perf_counter_ns()
                mapped[at : at + LINE_BYTES] = b"\1" * LINE_BYTES
                mapped.flush(at, PAGE_BYTES)
                times.append(time.perf_counter_ns() - start)
    return float(np.median(times))


def _chase_ns(spec: str) -> float | None:
    """Return ns per dependent read with small pages, by nearfar's own kernel."""
    try:
        options = MemoryOptions(memory=spec, threads=1, largest=f"{FILE_BYTES}B", spin=False)
        subject = open_memory(options, quick=True).subject
    except NearfarError:
        return None
    page_bytes = subject.facts().page_sizes[-1]
    point = SamplePoint("latency", "chase", page_bytes, FILE_BYTES)
    return float(np.median([subject.sample(point).value for _ in range(ROUNDS)]))


def _kind(kind: str, options: str) -> str:
    named = options.split(",")
    dax = any(option in ("dax", "dax=always") for option in named)
    return f"{kind}-dax" if dax else kind


def _unescaped(mount: str) -> str:
    """Return a mount point's real name: /proc/mounts writes blanks in octal."""
    return mount.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
