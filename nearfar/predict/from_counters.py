"""A profile from counters of a whole program: counts by interval, no objects, no classes.

For programs of which only counters are known: `nearfar counters import` reads the files of perf,
PCM and LIKWID, and the model `counters` needs no more than such a profile has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES
from nearfar.documents import WorkloadProfile
from nearfar.documents.counters import CounterInterval, CounterProfile
from nearfar.documents.profiled_run import CacheModel
from nearfar.documents.workload import AccessClasses, ObjectTraffic, Traffic
from nearfar.profile.unprofiled import unallocated_object, unprofiled, untimed_phase

WHOLE = "whole program"

COUNTS_ERROR = 0.05
"""Relative error of counts that the tool scaled up because counters took turns, or that include
other programs' traffic: the disagreement of tools on steady programs. A guess."""

MAX_COUNT = 1e18
"""Maximum count: beyond it, a counter of 48 to 64 bits has wrapped or was misread."""

ASSUMED_GHZ = 3.0
"""Clock of cores whose CPU time was not counted: servers run at 2 to 4 GHz."""

MIN_BYTES_SHARE = 0.95
"""Minimum ratio of bytes read to the bytes of the misses; less is a contradiction. It is slightly
below 1 because counters start at different moments."""


class _Header(msgspec.Struct):
    kind: str = ""


def is_counters(path: Path) -> bool:
    """Return whether a file holds a CounterProfile, whatever else is wrong with it."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Header).kind == CounterProfile.KIND
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def models_beside(workload: WorkloadProfile) -> list[str]:
    """Return the models to show beside `counters`: `traffic`, and `stalls` if they were counted."""
    if workload.cache.origin != "counters":
        return []
    intervals = [each for row in workload.phases[0].objects for each in row.intervals]
    stalls = bool(intervals) and all(
        each.memory_stall_cycles is not None and each.cycles for each in intervals
    )
    return ["traffic", *(["stalls"] if stalls else [])]


def profile_of_counters(counters: CounterProfile) -> WorkloadProfile:
    """Return a profile of one phase and one object, with the counts of every interval.

    Raises NearfarError where counts are missing or impossible.
    """
    for number, interval in enumerate(counters.intervals, start=1):
        if not interval.end_s > interval.begin_s:
            raise NearfarError(
                f"{counters.file}: interval {number} begins at {interval.begin_s:g} s and ends at "
                f"{interval.end_s:g} s: its times were misread; count again"
            )
    columns = _Columns(counters)
    columns.warnings += [
        "counters give totals, not the objects nor how misses depend on each other",
        *counters.warnings,
    ]
    near_ns = _near_ns(columns)
    waiting, lines = _lines(columns)
    written = columns.read("write_bytes")
    if written is None:
        columns.warnings.append("no written bytes were counted: write-backs are assumed to be 0")
        written = [0.0] * len(lines)
    stalled, cycles = _stalls(columns) or (None, None)
    intervals = [
        CounterInterval(
            begin_s=interval.begin_s,
            end_s=interval.end_s,
            cpu_time_ns=near_ns[at],
            llc_misses=waiting[at],
            read_bytes=lines[at] * LINE_BYTES,
            write_bytes=written[at],
            cycles=None if cycles is None else cycles[at],
            memory_stall_cycles=None if stalled is None else stalled[at],
        )
        for at, interval in enumerate(counters.intervals)
    ]
    traffic = Traffic(
        accesses=sum(lines),
        read_misses=AccessClasses(opaque=sum(waiting), stream=sum(lines) - sum(waiting)),
        write_backs=sum(written) / LINE_BYTES,
    )
    rows = [ObjectTraffic(object=0, traffic=traffic, intervals=intervals)]
    time_ns, wall_ns = sum(near_ns), 1e9 * sum(columns.seconds)
    phase = msgspec.structs.replace(
        untimed_phase(WHOLE, None, rows),
        near_cpu_time_ns=Estimate(time_ns, time_ns, time_ns),
        near_repetitions=1,
        near_wall_time_ns=wall_ns,
    )
    estimated = counters.scaled or "read_bytes" in counters.names
    profile = unprofiled(
        counters.file,
        "not run here: from counters",
        CacheModel(size_bytes=0, ways=1, line_bytes=LINE_BYTES, origin="counters"),
        [phase],
        [unallocated_object(0, WHOLE, "unknown", 0)],
        threads=max(1, math.ceil(time_ns / wall_ns)),
        error=max(columns.error, COUNTS_ERROR if estimated else 0.0),
    )
    return msgspec.structs.replace(profile, warnings=columns.warnings)


@dataclass
class _Columns:
    """Counts of one file by quantity; an interval without a count gets the rate of the others."""

    counters: CounterProfile
    warnings: list[str] = field(default_factory=list)
    known: dict[str, list[float] | None] = field(default_factory=dict)
    error: float = 0.0
    """Relative error of misses that contradict another count."""

    @property
    def file(self) -> str:
        """Name of the file."""
        return self.counters.file

    @property
    def seconds(self) -> list[float]:
        """Length of every interval, s."""
        return [interval.end_s - interval.begin_s for interval in self.counters.intervals]

    def read(self, quantity: str) -> list[float] | None:
        """Return a quantity by interval; None if it was not counted.

        Counts that are negative or too large are left out. Raises NearfarError if none remains.
        """
        if quantity not in self.known:
            self.known[quantity] = self._read(quantity)
        return self.known[quantity]

    def _read(self, quantity: str) -> list[float] | None:
        given = [getattr(interval, quantity) for interval in self.counters.intervals]
        counts = [None if count is None else float(count) for count in given]
        known = [count for count in counts if count is not None]
        if not known:
            return None
        possible = [
            count if count is not None and 0.0 <= count <= MAX_COUNT else None for count in counts
        ]
        wrapped = possible.count(None) - counts.count(None)
        seconds = sum(s for s, n in zip(self.seconds, possible, strict=True) if n is not None)
        if wrapped == len(known) or not seconds > 0.0:
            raise NearfarError(
                f"{self.file}: {quantity} is negative or more than a counter can hold: it wrapped "
                "or was misread; count again"
            )
        missing = possible.count(None)
        if wrapped:
            self.warnings.append(
                f"{quantity} is negative or more than a counter can hold in {wrapped} of "
                f"{len(counts)} intervals: it wrapped, and the others' rate is used there"
            )
        if missing > wrapped:
            self.warnings.append(
                f"{quantity} is missing in {missing - wrapped} of {len(counts)} intervals: the "
                "others' rate is used there"
            )
        rate = sum(count for count in possible if count is not None) / seconds
        return [
            rate * s if count is None else count
            for s, count in zip(self.seconds, possible, strict=True)
        ]


def _stalls(columns: _Columns) -> tuple[list[float], list[float]] | None:
    """Return cycles stalled on memory and all cycles, by interval; None where one is not known."""
    stalled, cycles = columns.read("memory_stall_cycles"), columns.read("cycles")
    if stalled is None or cycles is None:
        return None
    if sum(stalled) > sum(cycles):
        columns.warnings.append(
            f"memory_stall_cycles ({sum(stalled):.3g}) are more than cycles ({sum(cycles):.3g}): "
            "one of them was misread; they are not used, and misses tell what waits"
        )
        return None
    return stalled, cycles


def _near_ns(columns: _Columns) -> list[float]:
    """Return the CPU time of every interval, ns: counted, else from cycles, else wall time."""
    wall_ns = [1e9 * seconds for seconds in columns.seconds]
    times = columns.read("cpu_time_ns")
    if times is None:
        cycles = columns.read("cycles")
        if cycles is not None and sum(cycles) / ASSUMED_GHZ > sum(wall_ns):
            times = [count / ASSUMED_GHZ for count in cycles]
            columns.warnings.append(
                "no CPU time was counted: near time is cycles at an assumed clock of "
                f"{ASSUMED_GHZ:g} GHz, {sum(times) / sum(wall_ns):.1f} cores"
            )
    if times is None:
        times = wall_ns
        columns.warnings.append(
            "no CPU time was counted: the duration of counting is used as near time"
        )
    for total in (sum(times), sum(wall_ns)):
        if not total > 0.0:
            raise NearfarError(
                f"{columns.file}: counting took {total:g} ns, expected a time above 0: count again"
            )
    return times


def _lines(columns: _Columns) -> tuple[list[float], list[float]]:
    """Return lines that are waited for and all lines read, by interval."""
    misses = _misses(columns)
    read = columns.read("read_bytes")
    if misses is None and read is None:
        raise NearfarError(
            f"{columns.file} has neither last-level misses nor bytes read from memory: count "
            "LLC-load-misses (perf), or use PCM's memory traffic"
        )
    if misses is None:
        assert read is not None
        columns.warnings.append(
            "misses are bytes read over 64: they include prefetched lines and other programs' lines"
        )
        misses = [count / LINE_BYTES for count in read]
    if read is None:
        columns.warnings.append(
            "no bytes read were counted: prefetched lines are unknown, and the bandwidth drawn is "
            "that of misses"
        )
        return misses, misses
    if sum(read) < MIN_BYTES_SHARE * LINE_BYTES * sum(misses):
        columns.warnings.append(
            f"bytes read ({sum(read):.3g}) are fewer than 64 for each of {sum(misses):.3g} misses: "
            "they are of another scope, such as one channel or socket; 64 bytes a miss are used"
        )
        return misses, misses
    lines = [max(n, count / LINE_BYTES) for n, count in zip(misses, read, strict=True)]
    return misses, lines


def _misses(columns: _Columns) -> list[float] | None:
    """Return last-level misses by interval, from the best counters available; None: unknown."""
    loads, stores = columns.read("llc_load_misses"), columns.read("llc_store_misses")
    if loads is None:
        misses = columns.read("llc_misses")
    else:
        misses = [a + b for a, b in zip(loads, stores or [0.0] * len(loads), strict=True)]
    for above, counted, limit in (
        (loads, "last-level misses of loads", "llc_loads"),
        (misses, "last-level misses", "instructions"),
    ):
        limits = columns.read(limit)
        if above is not None and limits is not None and sum(above) > sum(limits):
            instead = "bytes read over 64" if columns.read("read_bytes") else f"{limit}"
            columns.warnings.append(
                f"{counted} ({sum(above):.3g}) are more than {limit} ({sum(limits):.3g}): one of "
                f"them was misread; {instead} are used instead"
                + ("" if columns.read("read_bytes") else ", and the interval is wider for that")
            )
            if columns.read("read_bytes"):
                return None
            columns.error = sum(above) / max(sum(limits), 1.0) - 1.0
            return limits
    return misses
