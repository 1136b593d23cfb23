"""Small, valid documents for tests, reproducible from a seed."""

from __future__ import annotations

import random
from pathlib import Path

from nearfar.base.estimate import Estimate
from nearfar.documents import DeviceProfile, MachineProfile, WorkloadProfile, producer, save
from nearfar.documents.device import (
    BandwidthFigure,
    ChainsFigure,
    LatencyFigure,
    LoadedLatencyCurve,
    MeasuredContext,
    Source,
)
from nearfar.documents.machine import JointLimit
from nearfar.documents.profiled_run import CacheModel, LiveSample, Program, Sampling
from nearfar.documents.workload import (
    AccessClasses,
    Frame,
    Instruction,
    InstructionTraffic,
    MemoryObject,
    ObjectTraffic,
    Phase,
    Traffic,
)


def device(
    name: str = "near",
    latency_ns: float = 90.0,
    read_gb_per_s: float = 12.0,
    write_gb_per_s: float = 9.0,
    parallelism: float = 10.0,
) -> DeviceProfile:
    """Return a device whose time per load is latency / chains up to `parallelism` chains."""
    had = {"how": "measured", "source": "here"}
    return DeviceProfile(
        producer=producer(["tests"]),
        name=name,
        title=f"made-up memory of {latency_ns:g} ns",
        technology="emulated",
        sources={"here": Source(citation="tests/python/samples.py")},
        latency=[
            LatencyFigure(value_ns=latency_ns, **had),
            LatencyFigure(pattern="sequential", value_ns=latency_ns * 0.1, **had),
        ],
        bandwidth=[
            BandwidthFigure(value_gb_per_s=read_gb_per_s, **had),
            BandwidthFigure(operation="write", value_gb_per_s=write_gb_per_s, **had),
            BandwidthFigure(operation="nt-store", value_gb_per_s=write_gb_per_s, **had),
        ],
        chains=[
            ChainsFigure(chains=k, value_ns=latency_ns / min(k, parallelism), **had)
            for k in (1, 2, 4, 8, 16, 32)
        ],
        loaded_latency=[
            LoadedLatencyCurve(
                read_share=1.0,
                points=[
                    (read_gb_per_s * x, latency_ns * (1 + 0.2 * x / (1.05 - x)))
                    for x in (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
                ],
                **had,
            )
        ],
    )


def measured_here(memory_spec: str = "dram", **environment: str) -> MeasuredContext:
    """Return `nearfar measure`'s figures of two CPUs with a 32 MiB last-level cache."""
    return MeasuredContext(
        memory_spec=memory_spec,
        repetitions=5,
        seconds=1.0,
        noise_floor=0.01,
        timer_resolution_ns=20.0,
        cpus=[0, 1],
        llc_bytes=32 << 20,
        environment=environment,
    )


def workload(
    objects: int = 8, seed: int = 1, phases: tuple[str, ...] = ("load", "get")
) -> WorkloadProfile:
    """Return a profile of the globals and `objects` heap objects with skewed sizes and misses."""
    rng = random.Random(seed)
    program_objects = [
        MemoryObject(
            id=i,
            name=f"make_{i} store.c:{100 + i}",
            kind="heap",
            frames=[
                Frame(function=f"make_{i}", file="store.c", line=100 + i, module="store"),
                Frame(function="main", file="main.c", line=10 + i, module="store"),
            ],
            allocations=1 + i,
            allocated_bytes=(size := int(2 ** rng.uniform(12, 28))),
            peak_live_bytes=size,
            live_bytes_at_peak=size,
            size_bytes=size,
        )
        for i in range(objects)
    ]
    instructions = [
        Instruction(
            function=f"use_{i}",
            file="store.c",
            line=200 + i,
            column=9,
            operation="load",
            access_class=rng.choice(["chase", "indirect", "stream", "opaque"]),
            bytes=8,
        )
        for i in range(objects)
    ]
    made: list[Phase] = []
    for name in phases:
        rows: list[ObjectTraffic] = []
        for i in range(objects):
            misses = 10 ** rng.uniform(2, 6)
            rows.append(
                ObjectTraffic(
                    object=i,
                    traffic=Traffic(
                        accesses=misses * rng.uniform(2, 20),
                        read_misses=AccessClasses(**{instructions[i].access_class: misses}),
                        write_misses=AccessClasses(opaque=misses * 0.1),
                        write_backs=misses * 0.15,
                    ),
                )
            )
        near = sum(row.traffic.misses() for row in rows) * 40.0 + 1e7
        made.append(
            Phase(
                name=name,
                near_cpu_time_ns=Estimate(near, near * 0.98, near * 1.03),
                near_repetitions=5,
                near_wall_time_ns=near * 1.01,
                operations=1e5,
                objects=rows,
                instructions=[
                    InstructionTraffic(instruction=i, object=i, misses=rows[i].traffic.misses())
                    for i in range(objects)
                ],
            )
        )
    total = sum(program_object.size_bytes for program_object in program_objects)
    return WorkloadProfile(
        producer=producer(["tests"]),
        program=Program(
            command=["./store", "--n", "100000"],
            executable="/tmp/store",
            compiler="clang 16.0.6 -O2",
            threads_seen=1,
            processes_seen=1,
            exit_status="exited 0",
            plain_executable="/tmp/store.plain",
        ),
        size={"n": 1e5},
        cache=CacheModel(size_bytes=32 << 20, ways=16, line_bytes=64, origin="detected"),
        sampling=Sampling(rate=64, sampled_accesses=10**6, sampled_misses=0, relative_error=0.006),
        instrumented_slowdown=1.3,
        objects=program_objects,
        instructions=instructions,
        phases=made,
        live=[
            LiveSample(
                time_ns=step * 1e8,
                phase=phases[min(step // 5, len(phases) - 1)],
                bytes_by_object={
                    str(t.id): t.size_bytes * (step + 1) // 10 for t in program_objects
                },
            )
            for step in range(10)
        ],
        warnings=[] if total else ["nothing was allocated"],
    )


def machine(limit: JointLimit) -> MachineProfile:
    """Return a machine whose memories limit each other as `limit` gives."""
    return MachineProfile(
        producer=producer(["tests"]),
        cpu_model="made up",
        architecture="x86_64",
        sockets=1,
        cores=8,
        cpus=list(range(8)),
        threads_per_core=1,
        vector_extensions=[],
        caches=[],
        nodes=[],
        transparent_huge_pages="always",
        huge_pages={},
        persistent_memory=[],
        cxl=[],
        virtualisation="none",
        abilities=[],
        joint_limits=[limit],
    )


def memories(folder: Path, *far: tuple[DeviceProfile, int | None], more: str = "") -> Path:
    """Write a file of far memories with their capacities in bytes, as --memories takes."""
    text = more
    for device_of, capacity in far:
        save(device_of, folder / f"{device_of.name}.json")
        text += f'[[far]]\ndevice = "{device_of.name}.json"\n'
        text += "" if capacity is None else f'capacity = "{capacity}B"\n'
    path = folder / "memories.toml"
    path.write_text(text)
    return path
