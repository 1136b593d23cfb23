"""Profiles calculated by formula: n random operations on a table of n lines."""

from __future__ import annotations

import math

from nearfar.base.estimate import Estimate
from nearfar.documents import Producer, WorkloadProfile
from nearfar.documents.profiled_run import CacheModel, LiveSample, Program, Sampling
from nearfar.documents.workload import (
    AccessClasses,
    Frame,
    Instruction,
    InstructionTraffic,
    MemoryObject,
    MissCurve,
    ObjectTraffic,
    Phase,
    Traffic,
)
from nearfar.profile.miss_curves import CURVE_BYTES

CACHE_BYTES = 1 << 20
ACCESS_NS, MISS_NS = 2.0, 60.0


def heap(number: int, name: str, line: int, size_bytes: float, **more: object) -> MemoryObject:
    """Return an object allocated at `name` prog.c:`line`."""
    return MemoryObject(
        id=number,
        name=f"{name} prog.c:{line}",
        kind="heap",
        frames=[Frame(function=name, file="prog.c", line=line, module="prog")],
        allocations=1,
        allocated_bytes=round(size_bytes),
        peak_live_bytes=round(size_bytes),
        live_bytes_at_peak=round(size_bytes),
        size_bytes=round(size_bytes),
        **more,  # type: ignore[arg-type]
    )


def made(
    n: float, *, extra_bytes: int = 0, operations_factor: float = 1.0, line: int = 10
) -> WorkloadProfile:
    """Return the profile of the program at size `n`, without noise."""
    table_bytes, touches = 64.0 * n, 4.0 * n

    def missed(cache_bytes: float) -> float:
        return touches * max(0.0, 1.0 - cache_bytes / table_bytes)

    misses = missed(CACHE_BYTES)
    time_ns = touches * ACCESS_NS + misses * MISS_NS
    objects = [heap(0, "table", line, table_bytes)]
    if extra_bytes:
        objects.append(heap(1, "late", 99, extra_bytes))
    curve = MissCurve(read=[missed(size) for size in CURVE_BYTES], write=[0.0] * len(CURVE_BYTES))
    traffic = Traffic(accesses=touches, read_misses=AccessClasses(indirect=misses))
    return WorkloadProfile(
        producer=Producer("0", "test", "host", "cpu", "kernel", "2026-01-01T00:00:00"),
        program=Program(
            command=["prog"],
            executable="/bin/prog",
            compiler="clang",
            threads_seen=1,
            processes_seen=1,
            exit_status="exited 0",
            plain_executable="/bin/prog",
        ),
        size={"n": n},
        cache=CacheModel(size_bytes=CACHE_BYTES, ways=16, line_bytes=64, origin="detected"),
        sampling=Sampling(rate=1, sampled_accesses=1, sampled_misses=1, relative_error=0.0),
        curve_bytes=CURVE_BYTES,
        instrumented_slowdown=1.5,
        objects=objects,
        instructions=[
            Instruction(
                function="get",
                file="prog.c",
                line=20,
                column=3,
                operation="load",
                access_class="indirect",
                bytes=8,
            )
        ],
        phases=[
            Phase(
                name="get",
                near_cpu_time_ns=Estimate(time_ns, time_ns * 0.99, time_ns * 1.01),
                near_repetitions=3,
                near_wall_time_ns=time_ns * math.sqrt(2),
                operations=n * operations_factor,
                objects=[ObjectTraffic(object=0, traffic=traffic, curve=curve)],
                instructions=[InstructionTraffic(instruction=0, object=0, misses=misses)],
            )
        ],
        live=[LiveSample(time_ns=1.0, phase="get", bytes_by_object={"0": round(table_bytes)})],
    )
