"""What a prediction cannot know, in sentences; only those that apply to this profile."""

from __future__ import annotations

from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.predict.explain import explain
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.persisting import counted
from nearfar.predict.traffic import PhaseTraffic, extrapolated_lines

MANY_STREAM_MISSES = 0.2
"""Share of stream misses from which the prefetcher's quality matters to the result."""

MANY_OPAQUE_MISSES = 0.2
"""Share of unclassified misses worth a word: a merge's two inputs were such, and with prefetchers
the prediction was twice the truth."""

BEATEN = 0.7
"""Near time over what the near curves allow, below which they do not fit this program: simulated
parallelism was found to be wrong beyond 0.7-1.4."""

PERSISTENT = ("pmem", "nvdimm")
"""Far memories that programs flush for."""


def caveats(near: MemoryCosts, far: MemoryCosts, of_every: list[str]) -> list[str]:
    """Return the sentences for one far memory; `of_every` are those of `common_caveats`."""
    return [*near.caveats, *far.caveats, *of_every]


def flushes_unknown(
    workload: WorkloadProfile, phases: list[PhaseTraffic], far: DeviceProfile
) -> list[str]:
    """Say that nobody counted flushes, where the program may have some: it maps files, or the
    memory is persistent.
    """
    if all(counted(phase) for phase in phases):
        return []
    files = any(thing.kind == "file" for thing in workload.objects)
    if not files and far.technology not in PERSISTENT:
        return []
    return [
        "flushes, fences and non-temporal stores were not counted in this profile: what a program "
        "waits for to make its data durable is not predicted; a build by nearfar cc counts them"
    ]


def common_caveats(
    workload: WorkloadProfile, phases: list[PhaseTraffic], near: MemoryCosts
) -> list[str]:
    """Return the sentences that are the same for every far memory."""
    return [
        *extrapolated(workload),
        *other_machine(workload, near.device),
        *_beaten_curves(phases, near),
        *_without_time(phases),
        *_of_program(workload, phases),
        "contention from other programs, on either memory or on the last-level cache, is not seen",
    ]


def other_machine(workload: WorkloadProfile, near: DeviceProfile) -> list[str]:
    """Warn where the profile was taken on another processor than the near memory was."""
    if near.measured is None:
        return [
            f"near memory {near.name} is published, not measured on the profile's machine: "
            "near time and near curves belong to different cores"
        ]
    if near.producer.cpu_model != workload.producer.cpu_model:
        return [
            f"the profile was taken on {workload.producer.cpu_model!r} and near memory "
            f"{near.name} was measured on {near.producer.cpu_model!r}: measure it where the "
            "profile was taken"
        ]
    return []


def extrapolated(workload: WorkloadProfile) -> list[str]:
    """Say of a profile of a size that nobody ran how sure its counts are; the interval holds it."""
    about = workload.extrapolation
    if about is None:
        return []
    phases = []
    for phase in workload.phases:
        low, high = extrapolated_lines(workload, phase.name)
        time = phase.near_cpu_time_ns
        if time.value > 0.0:
            phases.append(
                f"{phase.name}: near time {time.low / time.value - 1.0:+.0%} to "
                f"{time.high / time.value - 1.0:+.0%}, misses {low - 1.0:+.0%} to {high - 1.0:+.0%}"
            )
    sizes = ", ".join(f"{size:g}" for size in about.sizes)
    return [
        f"nobody ran {about.parameter}={about.target:g}: the profile was worked out from "
        f"{about.parameter}={sizes} ({'; '.join(phases)}), and the interval holds that",
    ]


def _beaten_curves(phases: list[PhaseTraffic], near: MemoryCosts) -> list[str]:
    """Say where a phase ran faster than the near memory's figures allow."""
    beaten = [
        f"{phase.name} by {1.0 - scale:.0%}"
        for phase in phases
        if (scale := explain(phase, near).scale) < BEATEN
    ]
    if not beaten:
        return []
    return [
        f"near time is shorter than the figures of {near.device.name} allow ({', '.join(beaten)}): "
        "caches or prefetchers do more than the misses say, or the figures are another machine's"
    ]


def _without_time(phases: list[PhaseTraffic]) -> list[str]:
    """Say of which phases nothing can be said: they miss, and took no time that was measured."""
    found = [
        phase.name
        for phase in phases
        if phase.near_time_ns.value == 0.0 and float(phase.total[:5].sum()) > 0.0
    ]
    if not found:
        return []
    return [
        f"near time of {', '.join(found)} is 0: shorter than its clock shows; nothing is predicted "
        "of it"
    ]


def _of_program(workload: WorkloadProfile, phases: list[PhaseTraffic]) -> list[str]:
    lines = sum(float(phase.total[:5].sum()) for phase in phases)
    streams = sum(float(phase.total[2] + phase.total[4]) for phase in phases)
    found = []
    if lines > 0 and streams / lines > MANY_STREAM_MISSES:
        found.append(
            f"{streams / lines:.0%} of misses are streams: how well the prefetcher follows them "
            "from far memory is taken from bandwidth figures"
        )
    if lines == 0:
        found.append("the profile has no cache misses in these phases: nothing waits for memory")
    if workload.program.threads_seen > 1:
        found.append(
            f"{workload.program.threads_seen} threads: CPU time is predicted; waiting for locks "
            "and imbalance between threads are not"
        )
    unclassified = _opaque_share(workload, phases)
    if workload.cache.origin in ("code", "counters"):
        # Not profiled: what is missing or assumed is in its warnings.
        return [*found, *workload.warnings]
    if unclassified > MANY_OPAQUE_MISSES:
        found.append(
            f"{unclassified:.0%} of misses are loads whose addresses follow no pattern seen: where "
            "they advance step by step all the same, the prefetcher hides part of what is "
            "predicted"
        )
    if workload.cache.origin == "detected":
        found.append(
            f"misses are those of a last-level cache of {workload.cache.size_bytes >> 20} MiB; "
            "on a machine with another cache, profile for it"
        )
    return found


def _opaque_share(workload: WorkloadProfile, phases: list[PhaseTraffic]) -> float:
    """Return the share of misses that are loads neither of a known class nor in sequence."""
    opaque = every = 0.0
    names = {phase.name for phase in phases}
    for phase in workload.phases:
        for row in phase.objects if phase.name in names else ():
            traffic = row.traffic
            every += traffic.misses()
            # A store's address matters less: it waits in the store buffer either way.
            opaque += max(traffic.read_misses.opaque - traffic.read_sequential.opaque, 0.0)
    return opaque / every if every else 0.0
