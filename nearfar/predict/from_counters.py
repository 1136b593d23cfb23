"""A profile from counters of a whole program: totals, no objects, no classes.

For programs of which only counters are known: `nearfar counters import` reads the files of perf,
PCM and LIKWID, and the model `counters` needs no more than such a profile has.
"""

from __future__ import annotations

import math
from pathlib import Path

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES
from nearfar.documents import WorkloadProfile
from nearfar.documents.counters import CounterInterval, CounterProfile
from nearfar.documents.workload import (
    AccessClasses,
    CacheModel,
    ObjectTraffic,
    Traffic,
)
from nearfar.predict.unprofiled import unallocated_object, unprofiled, untimed_phase

WHOLE = "whole program"

COUNTS_ERROR = 0.05
"""Relative error of counts that the tool scaled up because counters took turns, or that include
other programs' traffic: the disagreement of tools on steady programs. A guess."""

MAX_COUNT = 1e18
"""Maximum count: beyond it, a counter of 48 to 64 bits has wrapped or was misread."""


class _Header(msgspec.Struct):
    kind: str = ""


def is_counters(path: Path) -> bool:
    """Return whether a file holds a CounterProfile, whatever else is wrong with it."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Header).kind == CounterProfile.KIND
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False


def profile_of_counters(counters: CounterProfile) -> WorkloadProfile:
    """Return a profile of one phase and one object.

    Raises NearfarError where totals are missing or impossible.
    """
    warnings = [
        "counters give totals, not the objects nor how misses depend on each other",
        *counters.warnings,
    ]
    time_ns = _total(counters, "cpu_time_ns", warnings)
    wall_ns = 1e9 * sum(interval.end_s - interval.begin_s for interval in counters.intervals)
    if time_ns is None:
        time_ns = wall_ns
        warnings.append("no CPU time was counted: the duration of counting is used as near time")
    if not (time_ns > 0.0 and wall_ns > 0.0):
        raise NearfarError(
            f"{counters.file}: counting took {time_ns:g} ns, expected a time above 0: count again"
        )
    lines = _lines(counters, warnings)
    written = _total(counters, "write_bytes", warnings)
    if written is None:
        warnings.append("no written bytes were counted: write-backs are assumed to be 0")
    traffic = Traffic(
        accesses=lines,
        read_misses=AccessClasses(opaque=lines),
        write_backs=(written or 0.0) / LINE_BYTES,
    )
    phase = msgspec.structs.replace(
        untimed_phase(WHOLE, None, [ObjectTraffic(object=0, traffic=traffic)]),
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
        error=COUNTS_ERROR if estimated else 0.0,
    )
    return msgspec.structs.replace(profile, warnings=warnings)


def _lines(counters: CounterProfile, warnings: list[str]) -> float:
    """Return last-level misses, by the best counters there are."""
    loads = _total(counters, "llc_load_misses", warnings)
    stores = _total(counters, "llc_store_misses", warnings)
    if loads is not None:
        return loads + (stores or 0.0)
    total = _total(counters, "llc_misses", warnings)
    if total is not None:
        return total
    read = _total(counters, "read_bytes", warnings)
    if read is None:
        raise NearfarError(
            f"{counters.file} has neither last-level misses nor bytes read from memory: count "
            "LLC-load-misses (perf), or use PCM's memory traffic"
        )
    warnings.append(
        "misses are bytes read over 64: they include prefetched lines and other programs' lines"
    )
    return read / LINE_BYTES


def _total(counters: CounterProfile, quantity: str, warnings: list[str]) -> float | None:
    values = [_value(interval, quantity) for interval in counters.intervals]
    counts = [value for value in values if value is not None]
    if not counts:
        return None
    if min(counts) < 0.0 or sum(counts) > MAX_COUNT or not math.isfinite(sum(counts)):
        raise NearfarError(
            f"{counters.file}: {quantity} is negative or more than a counter can hold: it wrapped "
            "or was misread; count again"
        )
    if len(counts) < len(values):
        warnings.append(
            f"{quantity} is missing in {len(values) - len(counts)} of {len(values)} intervals: "
            "their average is used there"
        )
    return sum(counts) * len(values) / len(counts)


def _value(interval: CounterInterval, quantity: str) -> float | None:
    value = getattr(interval, quantity)
    return None if value is None else float(value)
