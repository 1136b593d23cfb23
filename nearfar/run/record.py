"""The RunRecord of a run, from its observations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from nearfar.base.units import format_bytes, format_count
from nearfar.documents import producer
from nearfar.documents.plan import Placement, Plan
from nearfar.documents.run_record import ObjectLanding, RunMemory, RunRecord
from nearfar.memories.paged.keeper import LOCKED_SHARE
from nearfar.run import layout
from nearfar.run.launch import LIBRARY, NEAR_LIBRARY, PlacedRun, library_for
from nearfar.run.local_memories import LocalMemory
from nearfar.run.matcher import RECOGNISABLE
from nearfar.run.snapshot import ObjectBytes
from nearfar.run.targets import Targets

ALLOCATORS = {
    LIBRARY: f"jemalloc, arenas per memory ({LIBRARY})",
    NEAR_LIBRARY: f"jemalloc ({NEAR_LIBRARY})",
}
"""The allocator of each preloaded library."""

MAX_SIZE_RATIO = 1.25
"""Ratio of an object's size to the profile's within which its ranges count as the same."""

MIN_REPORTED_BYTES = 1 << 20
"""Fewer bytes elsewhere are not reported: a plan that fills a capacity to the byte rounds pages."""

FAILED_CALLS = {
    "bind": "mbind failed {times} ({reason}): that memory is where the kernel chose. In a "
    "container, mbind needs CAP_SYS_NICE or a seccomp profile that allows it",
    "lock": "mlock2 failed {times} ({reason}): those objects are paged like the others. "
    "Locking needs CAP_IPC_LOCK, or a higher ulimit -l",
    "advice": "madvise refused {times} to set the page size of --pages ({reason}): those pages are "
    "as large as the kernel chose",
}
"""Kinds of calls that the library counts when they fail, and the warnings about them."""


def make_record(
    plan: Plan,
    memories: Sequence[LocalMemory],
    targets: Targets,
    run: PlacedRun,
    *,
    plan_path: str,
    command: Sequence[str],
    executable: Path,
    warnings: Sequence[str],
) -> RunRecord:
    """Return the document of a run under a plan."""
    seen = run.seen
    objects, known_bytes, kernel_bytes = _landing_rows(plan, memories, targets, run)
    total = sum(item.planned_bytes for item in objects)
    fullest = max(seen.fullest.values(), key=lambda snapshot: snapshot.size(), default=None)
    heap = fullest.heap_bytes if fullest else 0
    no_object = fullest.objects.get(layout.NO_OBJECT) if fullest else None
    unrecognised = no_object.recognised if no_object else 0
    paged = any(memory.kind == layout.PAGED for memory in memories)
    unlocked = sum(item.fallback_bytes for item in objects)
    return RunRecord(
        producer=producer(),
        plan=plan_path,
        policy="plan",
        command=list(command),
        executable=str(executable),
        exit_status=run.ended.status,
        wall_time_ns=run.ended.wall_ns,
        cpu_time_ns=run.ended.cpu_ns,
        allocator=ALLOCATORS[library_for(targets)],
        memories=[
            RunMemory(name=memory.name, device=memory.device, spec=str(memory.spec))
            for memory in memories
        ],
        objects=objects,
        pages_by_memory=fullest.by_memory() if fullest else {},
        recognised_share_of_profile=known_bytes / total if total else None,
        recognised_share_of_heap=1 - unrecognised / heap if heap else None,
        heap_bytes=heap,
        out_of_sight_bytes=max(fullest.outside_bytes if fullest else 0, seen.unserved_bytes),
        fallback_bytes=unlocked if paged else kernel_bytes + _library_fallback_bytes(run),
        pictures=seen.snapshots,
        processes=seen.process_count,
        verb_cpu_ns=float(seen.cpu_ns),
        stacks_asked=seen.stacks,
        migrations=[] if run.adapter is None else run.adapter.done,
        warnings=[
            *warnings,
            *targets.warnings,
            *(_unlocked_warnings(unlocked) if paged else _full_memory_warnings(run, kernel_bytes)),
            *_range_warnings(plan, targets, objects, run),
            *_warnings(run),
        ],
    )


def _landing_rows(
    plan: Plan, memories: Sequence[LocalMemory], targets: Targets, run: PlacedRun
) -> tuple[list[ObjectLanding], int, int]:
    """Return the objects' rows, planned bytes of recognised objects, and misplaced bytes.

    Misplaced bytes are on another node than they were bound to.
    """
    names = [memory.name for memory in memories]
    landings = []
    kernel_bytes = known_bytes = 0
    bound = not any(state.bind_failures for state in run.seen.states.values())
    for number, placement in enumerate(plan.placements):
        if placement.kind not in RECOGNISABLE and number not in targets.files:
            continue
        shares = {
            names[memory]: share
            for memory, share in targets.shares(targets.of_object.get(number, 0)).items()
        }
        moving = number in targets.moving
        sizes = run.seen.objects.get(number + 1, ObjectBytes())
        # Where binding failed, a page's node shows nothing about the plan.
        elsewhere = sizes.elsewhere if bound and not moving else 0
        kernel_bytes += elsewhere
        landing = _landing(
            placement, shares, sizes, memories, moving=moving, bound=bound, elsewhere=elsewhere
        )
        if targets.shapes[targets.of_object.get(number, 0)][0] == layout.IN_RANGES:
            landing.on_plan = _ranges_on_plan(sizes, targets.of_object[number], run)
        landings.append(landing)
        if landing.recognised_bytes or number in run.seen.matched:
            known_bytes += placement.size_bytes
    return landings, known_bytes, kernel_bytes


def _ranges_on_plan(sizes: ObjectBytes, target: int, run: PlacedRun) -> float | None:
    """Return the share of an object's present bytes that are in the memory of their range.

    Bytes that the library put elsewhere because that memory was full do not count.
    """
    present = sizes.present()
    full = max((state.fallback_bytes[target] for state in run.seen.states.values()), default=0)
    return max(0.0, sizes.as_bound - full) / present if present else None


def _landing(
    placement: Placement,
    shares: dict[str, float],
    sizes: ObjectBytes,
    memories: Sequence[LocalMemory],
    *,
    moving: bool,
    bound: bool,
    elsewhere: int,
) -> ObjectLanding:
    present = sizes.present()
    if any(memory.kind == layout.PAGED for memory in memories):
        # Only locked pages can be judged: the kernel chooses where all others are.
        judged = shares.get("near", 0.0) * present
        on_plan = min(sizes.by_memory.get("near", 0), judged)
        fallback = sizes.fallback if judged else 0
    else:
        judged = present
        on_plan = sum(
            min(size, shares.get(name, 0.0) * present) for name, size in sizes.by_memory.items()
        )
        fallback = elsewhere
        if not moving and len(shares) == 1 and "near" not in shares:
            # All bytes that are not in the planned memory, including those in a third memory.
            fallback = max(elsewhere + sizes.fallback, round(present - on_plan) if bound else 0)
    return ObjectLanding(
        object=placement.object,
        name=placement.name,
        planned=shares,
        planned_bytes=placement.size_bytes,
        recognised_bytes=sizes.recognised,
        bytes_by_memory=sizes.by_memory,
        fallback_bytes=fallback,
        on_plan=on_plan / judged if judged else None,
    )


def _library_fallback_bytes(run: PlacedRun) -> int:
    """Return the bytes that the library put elsewhere because the planned memory was full."""
    return sum(sum(state.fallback_bytes[1:]) for state in run.seen.states.values())


def _warnings(run: PlacedRun) -> list[str]:
    warnings = [*_refusal_warnings(run), *_loss_warnings(run)]
    if run.adapter is not None and run.adapter.lost:
        warnings.append(f"pages were no longer moved ({run.adapter.lost})")
    return warnings


def _unlocked_warnings(unlocked_bytes: int) -> list[str]:
    if unlocked_bytes < MIN_REPORTED_BYTES:
        return []
    return [
        f"{format_bytes(unlocked_bytes)} of the plan's objects were not locked: they are larger "
        f"than in the profile, and no more is locked than the plan says, {LOCKED_SHARE:.0%} of the "
        "budget at most; plan with a profile of this input"
    ]


def _full_memory_warnings(run: PlacedRun, kernel_bytes: int) -> list[str]:
    warnings = []
    if (fallback := _library_fallback_bytes(run)) >= MIN_REPORTED_BYTES:
        warnings.append(
            f"{format_bytes(fallback)} went to another far memory, or near, because their memory "
            "was full: raise its capacity, or plan with the capacity that it has"
        )
    if kernel_bytes >= MIN_REPORTED_BYTES:
        warnings.append(
            f"{format_bytes(kernel_bytes)} are on another node than they were bound to, because "
            "the bound node was full. Free memory on that node, or plan with its free memory as "
            "capacity"
        )
    return warnings


def _range_warnings(
    plan: Plan, targets: Targets, objects: Sequence[ObjectLanding], run: PlacedRun
) -> list[str]:
    """Return a sentence for each object whose ranges are not those of the plan."""
    warnings = []
    seen = {item.object: item for item in objects}
    for number, target in targets.of_object.items():
        placement = plan.placements[number]
        landing = seen.get(placement.object)
        if targets.shapes[target][0] != layout.IN_RANGES or landing is None:
            continue
        here, planned = landing.recognised_bytes, placement.size_bytes
        if here and not planned / MAX_SIZE_RATIO <= here <= planned * MAX_SIZE_RATIO:
            size = "smaller" if here < planned else "larger"
            warnings.append(
                f"{placement.name} is {size} here ({format_bytes(here)}) than in the profile "
                f"({format_bytes(planned)}), so its ranges hold other data: profile this build "
                "with this input and plan again"
            )
    refused = 0
    for state in run.seen.states.values():
        refused |= int(state.files_refused)
    warnings += [
        f"{name} is mapped from a file system whose pages memory policies cannot place, so it "
        "stays where it is: put it on tmpfs, or on DAX with all of it in far memory"
        for at, name in enumerate(targets.files.values())
        if refused >> at & 1
    ]
    return warnings


def _refusal_warnings(run: PlacedRun) -> list[str]:
    """Return a sentence for each kind of system call that was refused."""
    seen, states = run.seen, list(run.seen.states.values())
    warnings = []
    if not seen.pids:
        warnings.append("the library was never loaded: no block was placed or counted")
    if seen.without_addresses:
        warnings.append(
            f"{len(seen.without_addresses)} of the program's processes may not reserve 56 GiB of "
            "addresses (ulimit -v, RLIMIT_AS): their allocations are near and not in this record"
        )
    if seen.refused:
        warnings.append(
            f"the kernel refused to report the nodes of pages ({seen.refused}): the data was "
            "placed nevertheless. In a container, move_pages needs CAP_SYS_NICE, and reading "
            "another process' memory CAP_SYS_PTRACE, or --security-opt seccomp=unconfined"
        )
    for call, sentence in FAILED_CALLS.items():
        failures = [(getattr(s, f"{call}_failures"), getattr(s, f"{call}_errno")) for s in states]
        if count := sum(number for number, _ in failures):
            reason = os.strerror(next(errno for number, errno in failures if number))
            warnings.append(sentence.format(times=format_count(count, "time"), reason=reason))
    return warnings


def _loss_warnings(run: PlacedRun) -> list[str]:
    """Return a sentence for each kind of block that the library could not match or count."""
    states = list(run.seen.states.values())
    warnings = []
    if unanswered := sum(state.stacks_unanswered for state in states):
        warnings.append(
            f"{format_count(unanswered, 'call stack')} got no answer in time: such blocks are near"
        )
    if lost := sum(state.extents_lost for state in states):
        warnings.append(f"the table was full: {format_count(lost, 'piece')} of memory not counted")
    return warnings
