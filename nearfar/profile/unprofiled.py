"""Profiles of programs whose accesses were not seen: what formulas and counters share."""

from __future__ import annotations

from typing import Literal

from nearfar.base.estimate import Estimate
from nearfar.documents import WorkloadProfile, producer
from nearfar.documents.profiled_run import CacheModel, Program, Sampling
from nearfar.documents.workload import MemoryObject, ObjectTraffic, Phase


def unprofiled(
    program: str,
    exit_status: str,
    cache: CacheModel,
    phases: list[Phase],
    objects: list[MemoryObject],
    *,
    threads: int = 1,
    error: float = 0.0,
) -> WorkloadProfile:
    """Return a profile of `program` that did not run here; `error` is that of its counts."""
    return WorkloadProfile(
        producer=producer(),
        program=Program(
            command=[],
            executable=program,
            compiler="",
            threads_seen=threads,
            processes_seen=1,
            exit_status=exit_status,
            plain_executable="",
        ),
        cache=cache,
        sampling=Sampling(rate=1, sampled_accesses=0, sampled_misses=0, relative_error=error),
        instrumented_slowdown=1.0,
        objects=objects,
        instructions=[],
        phases=phases,
        live=[],
    )


def untimed_phase(name: str, operations: float | None, rows: list[ObjectTraffic]) -> Phase:
    """Return a phase without near time."""
    return Phase(
        name=name,
        near_cpu_time_ns=Estimate(0.0, 0.0, 0.0),
        near_repetitions=0,
        near_wall_time_ns=0.0,
        operations=operations,
        objects=rows,
        instructions=[],
    )


def unallocated_object(
    number: int, name: str, kind: Literal["heap", "unknown"], size_bytes: int
) -> MemoryObject:
    """Return an object whose allocations were not seen."""
    return MemoryObject(
        id=number,
        name=name,
        kind=kind,
        frames=[],
        allocations=0,
        allocated_bytes=size_bytes,
        peak_live_bytes=size_bytes,
        live_bytes_at_peak=size_bytes,
        size_bytes=size_bytes,
    )
