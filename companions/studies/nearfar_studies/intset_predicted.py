"""Times of persistent sets in other memories, from times here and counts of persisted data.

Sets of the study's sizes stay in the caches, so only flushed and streamed data reaches memory.
Therefore their profile has no misses, and the model `persist` computes the rest.
"""

from __future__ import annotations

from nearfar.api import predict
from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES
from nearfar.devices.library import host_dram, load_device
from nearfar.documents import WorkloadProfile, producer
from nearfar.documents.profiled_run import CacheModel, Program, Sampling
from nearfar.documents.workload import MemoryObject, ObjectTraffic, Phase, Traffic
from nearfar_bench.slowdowns import slowdown
from nearfar_studies.intset_runs import DRAM, SYNCED, SetCase, SetRuns

OPERATIONS = 1e6
"""Number of operations in a profile; its counts are those of one operation times this number."""


def flushed(counts: dict[str, float]) -> Traffic:
    """Return the data that an operation flushes.

    A fence with no flush before it waits for nothing, so at most as many fences wait as ranges were
    flushed.
    """
    return Traffic(
        flushes=OPERATIONS * counts["flushed_lines"],
        fences=OPERATIONS * min(counts["fences"], counts["flush_calls"]),
        nt_store_bytes=OPERATIONS * counts["copied_lines"] * LINE_BYTES,
    )


def synced(counts: dict[str, float]) -> Traffic:
    """Return the data that an operation syncs: libpmem calls msync once per range to flush."""
    return Traffic(syncs=OPERATIONS * counts["flush_calls"])


def predicted(runs: SetRuns, case: SetCase, device: str) -> Estimate:
    """Return ns per operation of a set if everything in DRAM were in the library's `device`."""
    far = load_device(device)
    on_disk = far.technology == "file"
    counts = runs.counts[SetCase(case.structure, runs.plan.sizes[0], DRAM, case.safety)]
    here = SetCase(case.structure, case.size, SYNCED if on_disk else DRAM, case.safety)
    traffic = synced(counts) if on_disk else flushed(counts)
    # 1e9 over the mean throughput: slowdowns use that mean too.
    ns = slowdown([1e9, 1e9], runs.throughput[here])
    profile = profile_of(ns, traffic)
    # Nothing misses: of near memory, only the cost of flushes counts.
    near = host_dram(far)
    if near is None:
        raise ValueError(f"{device} names no DRAM next to it")
    far_time = (
        predict(profile=profile, near=near, far=[far], model="persist")
        .devices[0]
        .phases[0]
        .far_time_ns
    )
    return Estimate(*(end / OPERATIONS for end in (far_time.value, far_time.low, far_time.high)))


def profile_of(ns: Estimate, traffic: Traffic) -> WorkloadProfile:
    """Return the profile of a program with `ns` per operation that only flushes and streams."""
    pool = MemoryObject(
        id=0,
        name="pool",
        kind="file",
        frames=[],
        allocations=1,
        allocated_bytes=0,
        peak_live_bytes=0,
        live_bytes_at_peak=0,
        size_bytes=0,
    )
    phase = Phase(
        name="operations",
        near_cpu_time_ns=Estimate(*(OPERATIONS * end for end in (ns.value, ns.low, ns.high))),
        near_repetitions=1,
        near_wall_time_ns=OPERATIONS * ns.value,
        operations=OPERATIONS,
        objects=[ObjectTraffic(object=0, traffic=traffic)],
        instructions=[],
    )
    return WorkloadProfile(
        producer=producer(),
        program=Program(
            command=["nearfar-bench", "run", "intset"],
            executable="nearfar-bench",
            compiler="",
            threads_seen=1,
            processes_seen=1,
            exit_status="exited 0",
            plain_executable="nearfar-bench",
        ),
        cache=CacheModel(size_bytes=1 << 20, ways=16, line_bytes=64, origin="not used here"),
        sampling=Sampling(rate=1, sampled_accesses=0, sampled_misses=0, relative_error=0.0),
        flushes_counted=True,
        instrumented_slowdown=1.0,
        objects=[pool],
        instructions=[],
        phases=[phase],
        live=[],
    )
