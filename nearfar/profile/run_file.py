"""The files `process.PID.N` that instrumented processes leave in the run folder.

The layout is that of native/profile/runtime/process_file.hpp.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import NearfarError
from nearfar.program.named_frames import NAMED_FRAME_BIT
from nearfar.program.symbols import SourceLocation

MAGIC = b"NFPROC"
VERSION = 10
KINDS = ("unknown", "heap", "mmap", "file", "stack", "globals")
SITE_OTHER, SITE_UNKNOWN, SITE_STACK, FIRST_FREE_SITE = 1, 2, 3, 4

CURVE_BUCKETS = 64
CURVE_EDGES_BYTES = tuple(
    (4096 << octave) * (2 + half) // 2 for octave in range(31) for half in (0, 1)
)
"""Upper ends of all buckets of reuse distances but the last two: 4 KiB, 6 KiB, 8 KiB, ..."""
RANGES = 128
"""Ranges of a site's large memory whose misses are counted; both halves of the lines have counts
of read misses, write misses and write-backs."""
ERROR_GROUPS, GROUP_ROWS = 256, 64
"""Groups of lines whose misses are counted, and rows of threads that each count all groups."""
PAGE_RATE = 128
"""Pages per whole page, whose touches are counted (abi.h)."""
PAGE_EDGES = (
    64,
    *((64 << octave) * (17 + part) // 16 for octave in range(18) for part in range(16)),
)
"""Upper ends of all buckets of pages' reuse distances but the last, in pages."""


def record_type(text: str, **nested: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of a record such as ``"key u8, frames u8 8, sites SITE 128"``.

    Each field has a name, a type of numpy or of `nested`, and the length of an array.
    """
    fields = []
    for field in text.split(","):
        name, kind, *length = field.split()
        fields.append((name, nested.get(kind, kind), *map(int, length)))
    return np.dtype(fields)


_TABLES = (
    "instructions", "sites", "counters", "modules", "live", "curves", "pages", "events", "ranges",
    "positions", "strings"
)  # fmt: skip
_HEADER = record_type(
    "magic S8, version u4, rate_log2 u4, pid i4, parent_pid i4, forked u4, threads u4,"
    "compiler u8, cache_sets u8, cache_ways u4, mixed_rates u4, wrong_modules u4,"
    "instrumented_modules u4, dropped u8, lost_regions u8, unusual_blocks u8, live_bytes i8,"
    "peak_bytes i8, private_bytes u8, translations u4, translations_known u4, counts_flushes u4,"
    "threads_alive u4,"
    + "".join(f"{name} TABLE," for name in _TABLES)
    + f"group_misses u8 {GROUP_ROWS * ERROR_GROUPS}",
    TABLE=record_type("offset u8, capacity u4, used u4, lost u8"),
)
_RECORDS = {
    "instructions": record_type(
        "key u8, function u4, file u4, line u4, column u4, bytes u2, operation u1,"
        "access_class u1, tests_per_line u4, fields u4, reserved u4"
    ),
    "sites": record_type(
        "key u8, kind u4, depth u4, frames u8 8, path u8, size_class u4, tag u4, allocations u8,"
        "allocated_bytes u8, live_bytes i8, peak_bytes i8, bytes_at_peak i8"
    ),
    "counters": record_type(
        "key u8, accesses u8, read_misses u8, write_misses u8, in_sequence u8, recent u8 3"
    ),
    "curves": record_type(f"key u8, beyond u8, near u8 {CURVE_BUCKETS}, far u8 {CURVE_BUCKETS}"),
    "pages": record_type(
        "key u8, first u8, touches u8, looked_at u8, compressed_bytes u8,"
        "compression_work u8,"
        f"reuses u4 {len(PAGE_EDGES) + 1}, written i4 {len(PAGE_EDGES) + 1}, times u4 64"
    ),
    "events": record_type(
        "key u8, flushes u8, fences u8, nt_bytes u8, sampled_flushes u8, sampled_nt_bytes u8,"
        "log_bytes u8, syncs u8, sync_bytes u8, small_page_misses u8, large_page_misses u8,"
        "private_misses u8, transfers u8, reserved u8 3"
    ),
    "ranges": record_type(f"key u8, bytes_log2 u8, counts u4 {2 * 3 * RANGES}"),
    "positions": record_type("site u4, freed u4, position u8, bytes u8"),
    "modules": record_type("base u8, begin u8, end u8, path u8"),
    "live": record_type(
        "time_ns u8, phase u4, count u4, total_bytes i8, sites SITE 128",
        SITE=record_type("site u4, reserved u4, bytes i8"),
    ),
}

Records = NDArray[Any]
"""A structured array: one row per record."""


class ProcessFile:
    """The counters of one process."""

    def __init__(self, path: Path) -> None:
        """Read the used parts of `path`; the process may still run."""
        size = path.stat().st_size
        if size < _HEADER.itemsize:
            raise NearfarError(f"the run's file {path} is truncated; profile again")
        data = np.memmap(path, dtype=np.uint8, mode="r")
        self.header = np.frombuffer(data, _HEADER, 1)[0].copy()
        if self.header["magic"] != MAGIC or self.header["version"] != VERSION:
            raise NearfarError(
                f"the run's file {path} was made by another version of nearfar's library: "
                "build the program again with this nearfar's cc"
            )
        self.instructions = self._records(data, "instructions")
        self.sites = self._records(data, "sites")
        self.counters = self._records(data, "counters")
        self.modules = self._records(data, "modules")
        self.live = self._records(data, "live")
        self.curves = self._records(data, "curves")
        self.pages = self._records(data, "pages")
        self.events = self._records(data, "events")
        self.ranges = self._records(data, "ranges")
        self.positions = self._records(data, "positions")
        strings = self.header["strings"]
        begin = int(strings["offset"])
        self.strings = bytes(data[begin : begin + int(strings["used"])])

    def _records(self, data: NDArray[np.uint8], table: str) -> Records:
        place, kind = self.header[table], _RECORDS[table]
        return np.frombuffer(data, kind, int(place["used"]), int(place["offset"])).copy()

    def text(self, offset: int) -> str:
        """Return the string at `offset`; "" for 0."""
        end = self.strings.find(b"\0", offset)
        return self.strings[offset:end].decode(errors="replace") if offset else ""

    def locate(self, address: int) -> SourceLocation:
        """Return the place of a word of a call stack; file "?" for an address in no module."""
        if address & NAMED_FRAME_BIT:
            return SourceLocation("", 0, self.text(address & ~NAMED_FRAME_BIT))
        inside = (self.modules["begin"] <= address) & (address < self.modules["end"])
        modules = self.modules[inside]
        if not len(modules):
            return SourceLocation("?", address)
        # If modules were loaded at one address after each other, the latest one counts.
        module = modules[-1]
        return SourceLocation(self.text(int(module["path"])), address - int(module["base"]))

    def locate_instruction(self, address: int) -> SourceLocation:
        """Return an instruction's location plus one byte, which symbolise() subtracts."""
        location = self.locate(address)
        return SourceLocation(location.module, location.offset + 1)

    @property
    def group_misses(self) -> NDArray[np.uint64]:
        """Return the sampled misses of each group of lines, of all threads."""
        rows = self.header["group_misses"].reshape(GROUP_ROWS, ERROR_GROUPS)
        counts: NDArray[np.uint64] = rows.sum(axis=0)
        return counts

    def lost(self) -> dict[str, int]:
        """Return the number of records that did not fit, by table."""
        return {
            name: int(self.header[name]["lost"]) for name in _TABLES if self.header[name]["lost"]
        }

    @property
    def rate(self) -> int:
        """Return the sampling rate: one line in `rate` was simulated."""
        return 1 << int(self.header["rate_log2"])


def read_run(run_folder: Path) -> list[ProcessFile]:
    """Return all processes' files in order of their start, forked ones last."""
    paths = [
        path
        for path in run_folder.glob("process.*")
        if path.stat().st_size  # a process killed while it made its file
    ]
    paths.sort(key=lambda path: path.stat().st_ctime_ns)
    files = [ProcessFile(path) for path in paths]
    roots = [file for file in files if not file.header["forked"]]
    return roots + [file for file in files if file.header["forked"]]
