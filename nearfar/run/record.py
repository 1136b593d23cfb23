"""From what was seen of a run to its RunRecord."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from nearfar.base.units import format_bytes
from nearfar.documents import producer
from nearfar.documents.plan import Placement, Plan
from nearfar.documents.run_record import ObjectLanding, RunMemory, RunRecord
from nearfar.run import layout
from nearfar.run.landing import Counted
from nearfar.run.launch import Outcome
from nearfar.run.match import RECOGNISABLE
from nearfar.run.memories import Place
from nearfar.run.targets import Targets

_LEAST_SAID = 1 << 20
ALLOCATOR = "jemalloc, arenas per memory (libnearfar_run.so)"


def make_record(
    plan: Plan,
    places: Sequence[Place],
    targets: Targets,
    outcome: Outcome,
    *,
    plan_path: str,
    command: Sequence[str],
    executable: Path,
    warnings: Sequence[str],
) -> RunRecord:
    """Return the document."""
    seen, ended = outcome.seen, outcome.ended
    names = [place.name for place in places]
    objects = []
    by_kernel = known = 0
    unbound = any(state.bind_failures for state in seen.states.values())
    for number, placement in enumerate(plan.placements):
        if placement.kind not in RECOGNISABLE:
            continue
        shares = {
            names[memory]: share
            for memory, share in targets.shares(targets.of_object.get(number, 0)).items()
        }
        moving = number in targets.moving
        counted = seen.objects.get(number + 1, Counted())
        # A page that could not be bound says nothing of its node.
        elsewhere = 0 if moving or unbound else counted.elsewhere
        by_kernel += elsewhere
        landing = _landing(
            placement, shares, counted, moving=moving, bound=not unbound, elsewhere=elsewhere
        )
        objects.append(landing)
        if landing.recognised_bytes or number in seen.told:
            known += placement.size_bytes
    total = sum(thing.planned_bytes for thing in objects)
    fullest = max(seen.fullest.values(), key=lambda picture: picture.size(), default=None)
    heap = fullest.heap_bytes if fullest else 0
    nameless = (
        fullest.objects[layout.NO_OBJECT].recognised
        if fullest and layout.NO_OBJECT in fullest.objects
        else 0
    )
    fallback = by_kernel + _by_library(outcome)
    return RunRecord(
        producer=producer(),
        plan=plan_path,
        policy="plan",
        command=list(command),
        executable=str(executable),
        exit_status=ended.status,
        wall_time_ns=ended.wall_ns,
        cpu_time_ns=ended.cpu_ns,
        allocator=ALLOCATOR,
        memories=[
            RunMemory(name=place.name, device=place.device, spec=str(place.spec))
            for place in places
        ],
        objects=objects,
        pages_by_memory=fullest.by_memory() if fullest else {},
        recognised_share_of_profile=known / total if total else None,
        recognised_share_of_heap=1 - nameless / heap if heap else None,
        heap_bytes=heap,
        out_of_sight_bytes=max(fullest.outside_bytes if fullest else 0, seen.unserved_bytes),
        fallback_bytes=fallback,
        pictures=seen.pictures,
        processes=len(seen.pids),
        migrations=[] if outcome.adapter is None else outcome.adapter.done,
        warnings=[*warnings, *targets.warnings, *_warnings(outcome, by_kernel)],
    )


def _landing(
    placement: Placement,
    shares: dict[str, float],
    counted: Counted,
    *,
    moving: bool,
    bound: bool,
    elsewhere: int,
) -> ObjectLanding:
    there = counted.there()
    right = sum(
        min(size, shares.get(name, 0.0) * there) for name, size in counted.by_memory.items()
    )
    near = next(iter(shares), "") if len(shares) == 1 else ""
    fallback = elsewhere
    if not moving and "near" not in shares and near:
        # Of one memory: what is not in it, the part in a third one included.
        fallback = max(elsewhere + counted.fallback, round(there - right) if bound else 0)
    return ObjectLanding(
        object=placement.object,
        name=placement.name,
        planned=shares,
        planned_bytes=placement.size_bytes,
        recognised_bytes=counted.recognised,
        bytes_by_memory=counted.by_memory,
        fallback_bytes=fallback,
        on_plan=right / there if there else None,
    )


def _by_library(outcome: Outcome) -> int:
    """Return bytes that the library put elsewhere, since the planned memory had no room."""
    return sum(sum(state.fallback_bytes[1:]) for state in outcome.seen.states.values())


def _warnings(outcome: Outcome, by_kernel: int) -> list[str]:
    seen = outcome.seen
    said: list[str] = []
    if not seen.pids:
        said.append("the library was never loaded: no block was placed, and nothing was seen")
    if seen.without_addresses:
        said.append(
            f"{len(seen.without_addresses)} of the program's processes may not have 56 GiB of "
            "addresses (ulimit -v, RLIMIT_AS): what they allocate is near and not in this record"
        )
    if seen.refused:
        said.append(
            f"the kernel would not say where pages are ({seen.refused}): the data was placed all "
            "the same. In a container, move_pages needs CAP_SYS_NICE, and reading another "
            "process' memory CAP_SYS_PTRACE, or --security-opt seccomp=unconfined"
        )
    states = list(seen.states.values())
    if failures := sum(state.bind_failures for state in states):
        number = next(state.bind_errno for state in states if state.bind_failures)
        said.append(
            f"mbind failed {failures} times ({os.strerror(number)}): that memory is where the "
            "kernel chose. In a container, mbind needs CAP_SYS_NICE or a seccomp profile that "
            "allows it"
        )
    if failures := sum(state.advice_failures for state in states):
        number = next(state.advice_errno for state in states if state.advice_failures)
        said.append(
            f"madvise refused {failures} times what --pages asks for ({os.strerror(number)}): "
            "those pages are as large as the kernel chose"
        )
    if unanswered := sum(state.stacks_unanswered for state in states):
        said.append(f"{unanswered} call stacks could not be asked after: their blocks are near")
    if lost := sum(state.extents_lost for state in states):
        said.append(f"{lost} pieces of memory did not fit into the table: they are not counted")
    # Less is pages of rounding, where a plan fills a capacity to the byte.
    if (fallback := _by_library(outcome)) >= _LEAST_SAID:
        said.append(
            f"{format_bytes(fallback)} went to another far memory, or near, since their memory was "
            "full: give it room, or plan with its capacity"
        )
    if by_kernel >= _LEAST_SAID:
        said.append(
            f"{format_bytes(by_kernel)} are on another node than they were bound to: the kernel "
            "puts there what a full node has no room for. Free it, or plan with what it has free "
            "as its capacity"
        )
    if outcome.adapter is not None and outcome.adapter.lost:
        said.append(f"pages were no longer moved ({outcome.adapter.lost})")
    return said
