"""Caveats: sentences about effects that a prediction leaves out, if they apply."""

from __future__ import annotations

from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.predict.cores import unknown_core
from nearfar.predict.explain import beaten_curves
from nearfar.predict.fences import flushes_known
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.phases import of_another_build
from nearfar.predict.traffic import PhaseTraffic, misses, streamed

MANY_STREAM_MISSES = 0.2
"""Share of stream misses above which the prefetcher's quality matters to the result."""

MANY_OPAQUE_MISSES = 0.2
"""Share of unclassified misses above which a caveat names them. A merge's reads of its two inputs
were unclassified, and with prefetchers the predicted time was twice the measured time."""

NAMES_ONLY = (
    "the table of loaded libraries",
    "the table of names",
    "the table of instructions",
    "the table of allocation sites",
    "only about",
    "extrapolated to",
)
"""Beginnings of warnings that are not caveats: they are about names or reserved memory, or repeat
a caveat."""

PERSISTENT = ("pmem", "nvdimm")
"""Technologies of far memories to which programs flush."""


def flushes_unknown(
    workload: WorkloadProfile, phases: list[PhaseTraffic], far: DeviceProfile
) -> list[str]:
    """Return a caveat that flushes were not counted, if the program may flush.

    A program may flush if it maps files or if `far` is persistent memory.
    """
    if all(flushes_known(phase) for phase in phases):
        return []
    files = any(entry.kind == "file" for entry in workload.objects)
    if not files and far.technology not in PERSISTENT:
        return []
    return [
        "this profile does not count flushes, fences and non-temporal stores: the time that a "
        "program waits for its data to become durable is not predicted; a build by nearfar cc "
        "counts them"
    ]


def common_caveats(
    workload: WorkloadProfile, phases: list[PhaseTraffic], near: MemoryCosts
) -> list[str]:
    """Return the sentences that are the same for every far memory."""
    return [
        *_extrapolated(workload, phases),
        *_other_machine(workload, near.device),
        *_without_time(phases),
        *_of_program(workload, phases),
        *(remark for phase in phases for remark in phase.remarks),
        *_of_profile(workload),
        "contention from other programs, for either memory or the last-level cache, is not "
        "predicted",
        *beaten_curves(phases, near),
        *(unknown_core(near.core, near.device) if any(phase.bursts for phase in phases) else []),
    ]


def _other_machine(workload: WorkloadProfile, near: DeviceProfile) -> list[str]:
    """Warn where the profile comes from another processor than the near memory's figures."""
    if near.measured is None:
        return [
            f"near memory {near.name} is published, not measured on the profile's machine: "
            "near time and near curves belong to different cores"
        ]
    if not near.producer.same_processor(workload.producer):
        return [
            f"the profile comes from {workload.producer.processor!r}, and near memory {near.name} "
            f"was measured on {near.producer.processor!r}: measure it on the profile's machine"
        ]
    if near.producer.host != workload.producer.host:
        return [
            f"the profile comes from host {workload.producer.host!r}, and near memory {near.name} "
            f"was measured on {near.producer.host!r}: if these are two machines, measure it on the "
            "profile's"
        ]
    return []


def _extrapolated(workload: WorkloadProfile, phases: list[PhaseTraffic]) -> list[str]:
    """Return a caveat on the counts of a size that was not run."""
    about = workload.extrapolation
    if about is None:
        return []
    ranges = []
    for phase in phases:
        (low, high), time = phase.extrapolated, phase.near_time_ns
        if time.value > 0.0:
            ranges.append(
                f"{phase.name}: near time {time.low / time.value - 1.0:+.0%} to "
                f"{time.high / time.value - 1.0:+.0%}, misses {low - 1.0:+.0%} to {high - 1.0:+.0%}"
            )
    sizes = ", ".join(f"{size:g}" for size in about.sizes)
    return [
        f"{about.parameter}={about.target:g} was not run: the profile is extrapolated from "
        f"{about.parameter}={sizes} ({'; '.join(ranges)}), and the interval includes that",
    ]


def _without_time(phases: list[PhaseTraffic]) -> list[str]:
    """Return a warning on phases with misses and without time."""
    names = [
        phase.name
        for phase in phases
        if phase.near_time_ns.value == 0.0 and float(misses(phase.total)) > 0.0
    ]
    if not names:
        return []
    return [
        f"near time of {', '.join(names)} is 0: it is shorter than the clock can measure, and is "
        "not predicted"
    ]


def _of_program(workload: WorkloadProfile, phases: list[PhaseTraffic]) -> list[str]:
    lines = sum(float(misses(phase.total)) for phase in phases)
    in_streams = sum(streamed(phase.total) for phase in phases)
    caveats = []
    if lines > 0 and in_streams / lines > MANY_STREAM_MISSES:
        caveats.append(
            f"{in_streams / lines:.0%} of misses are streams: how well the prefetcher follows them "
            "from far memory is estimated from bandwidths"
        )
    if lines == 0 and workload.uncounted_share < 1.0:
        caveats.append("the profile has no cache misses in these phases: nothing waits for memory")
    if workload.program.threads_seen > 1:
        caveats.append(
            f"{workload.program.threads_seen} threads: CPU time is predicted; waiting for locks "
            "and imbalance between threads are not"
        )
    if workload.cache.origin in ("code", "counters"):
        return caveats
    unclassified = _opaque_share(workload, phases)
    if unclassified > MANY_OPAQUE_MISSES:
        caveats.append(
            f"{unclassified:.0%} of misses are loads whose addresses follow no detected pattern: "
            "where they advance step by step, the prefetcher hides part of the predicted time"
        )
    if workload.cache.origin == "detected":
        caveats.append(
            f"misses are those of a last-level cache of {workload.cache.size_bytes >> 20} MiB; "
            "on a machine with another cache, profile for it"
        )
    return caveats


def _of_profile(workload: WorkloadProfile) -> list[str]:
    """Return the profile's warnings about numbers, and a warning on bursts of another build."""
    other_build = (
        "the bursts are of another build than near time (the SHA-256 of the executables differ): "
        "they are not used; profile the program again"
    )
    return [
        *([other_build] if of_another_build(workload) else []),
        *(text for text in workload.warnings if not text.startswith(NAMES_ONLY)),
    ]


def _opaque_share(workload: WorkloadProfile, phases: list[PhaseTraffic]) -> float:
    """Return the share of misses that are loads neither of a known class nor in sequence."""
    opaque = total = 0.0
    names = {phase.name for phase in phases}
    for phase in workload.phases:
        for row in phase.objects if phase.name in names else ():
            traffic = row.traffic
            total += traffic.misses()
            # A store's address matters less: it waits in the store buffer either way.
            opaque += max(traffic.read_misses.opaque - traffic.read_sequential.opaque, 0.0)
    return opaque / total if total else 0.0
