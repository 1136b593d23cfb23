"""A profile from counters of a whole program: totals, no objects, no classes.

For programs that nothing else was seen of: `nearfar counters import` reads the files of perf, PCM
and LIKWID, and the model `counters` asks for no more than this holds.
"""

from __future__ import annotations

import math
from pathlib import Path

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES
from nearfar.documents import WorkloadProfile, producer
from nearfar.documents.counters import CounterInterval, CounterProfile
from nearfar.documents.workload import (
    AccessClasses,
    CacheModel,
    MemoryObject,
    ObjectTraffic,
    Phase,
    Program,
    Sampling,
    Traffic,
)

WHOLE = "whole program"

COUNTS_ERROR = 0.05
"""Of counts that the tool scaled up because counters took turns, or that hold other programs'
traffic: what tools disagree by on steady programs. A guess."""

MOST_COUNT = 1e18
"""Counters of 48 to 64 bits cannot hold more; beyond it one has wrapped or was misread."""


class _Kind(msgspec.Struct):
    kind: str = ""


def is_counters(path: Path) -> bool:
    """Return whether a file holds a CounterProfile, whatever else is wrong with it."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Kind).kind == CounterProfile.KIND
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False


def profile_of_counters(counters: CounterProfile) -> WorkloadProfile:
    """Return a profile of one phase and one object; NearfarError where totals lack or cannot be."""
    warnings = [
        "counters say how much, not of which object nor how misses depend on each other",
        *counters.warnings,
    ]
    time_ns = _total(counters, "cpu_time_ns", warnings)
    wall_ns = 1e9 * sum(one.end_s - one.begin_s for one in counters.intervals)
    if time_ns is None:
        time_ns = wall_ns
        warnings.append("no CPU time was counted: the time that counting took is near time")
    if not (time_ns > 0.0 and wall_ns > 0.0):
        raise NearfarError(
            f"{counters.file}: counting took no time ({time_ns:g} ns): nothing can be predicted "
            "from it; count again"
        )
    lines = _lines(counters, warnings)
    written = _total(counters, "write_bytes", warnings)
    if written is None:
        warnings.append("no written bytes were counted: write-backs are taken as none")
    traffic = Traffic(
        accesses=lines,
        read_misses=AccessClasses(opaque=lines),
        write_backs=(written or 0.0) / LINE_BYTES,
    )
    estimated = bool(counters.scaled) or "read_bytes" in counters.names
    return WorkloadProfile(
        producer=producer(),
        program=Program(
            command=[],
            executable=counters.file,
            compiler="",
            threads_seen=max(1, math.ceil(time_ns / wall_ns)),
            processes_seen=1,
            exit_status="not run here: from counters",
            plain_executable="",
        ),
        cache=CacheModel(size_bytes=0, ways=1, line_bytes=LINE_BYTES, origin="counters"),
        sampling=Sampling(
            rate=1,
            sampled_accesses=0,
            sampled_misses=0,
            relative_error=COUNTS_ERROR if estimated else 0.0,
        ),
        instrumented_slowdown=1.0,
        objects=[_whole()],
        instructions=[],
        phases=[
            Phase(
                name=WHOLE,
                near_cpu_time_ns=Estimate(time_ns, time_ns, time_ns),
                near_repetitions=1,
                near_wall_time_ns=wall_ns,
                objects=[ObjectTraffic(object=0, traffic=traffic)],
                instructions=[],
            )
        ],
        live=[],
        warnings=warnings,
    )


def _lines(counters: CounterProfile, warnings: list[str]) -> float:
    """Return last-level misses by the best of what was counted."""
    loads = _total(counters, "llc_load_misses", warnings)
    stores = _total(counters, "llc_store_misses", warnings)
    if loads is not None:
        return loads + (stores or 0.0)
    every = _total(counters, "llc_misses", warnings)
    if every is not None:
        return every
    read = _total(counters, "read_bytes", warnings)
    if read is None:
        raise NearfarError(
            f"{counters.file} holds neither last-level misses nor bytes read from memory: count "
            "LLC-load-misses (perf), or take PCM's memory traffic"
        )
    warnings.append("misses are bytes read over 64: prefetched lines and other programs' too")
    return read / LINE_BYTES


def _total(counters: CounterProfile, quantity: str, warnings: list[str]) -> float | None:
    values = [_value(one, quantity) for one in counters.intervals]
    found = [value for value in values if value is not None]
    if not found:
        return None
    if min(found) < 0.0 or sum(found) > MOST_COUNT or not math.isfinite(sum(found)):
        raise NearfarError(
            f"{counters.file}: {quantity} is negative or beyond what a counter holds: it wrapped "
            "or was misread; count again"
        )
    if len(found) < len(values):
        warnings.append(
            f"{quantity} lacks in {len(values) - len(found)} of {len(values)} intervals: taken "
            "there as on average"
        )
    return sum(found) * len(values) / len(found)


def _value(interval: CounterInterval, quantity: str) -> float | None:
    value = getattr(interval, quantity)
    return None if value is None else float(value)


def _whole() -> MemoryObject:
    return MemoryObject(
        id=0,
        name=WHOLE,
        kind="unknown",
        frames=[],
        allocations=0,
        allocated_bytes=0,
        peak_live_bytes=0,
        live_bytes_at_peak=0,
        size_bytes=0,
    )
