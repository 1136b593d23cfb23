"""The WorkloadProfile, assembled from the runs of one program."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from nearfar.base.statistics import median_estimate
from nearfar.documents import WorkloadProfile, producer
from nearfar.documents.profiled_run import CacheModel, Program
from nearfar.documents.workload import (
    Instruction,
    InstructionTraffic,
    MissCurve,
    ObjectTraffic,
    PageCurve,
    Phase,
    RangeTraffic,
    Traffic,
)
from nearfar.profile.compiler import twin
from nearfar.profile.events import core_of, flushes_counted
from nearfar.profile.live_bytes import live_samples, resident_objects, resident_samples
from nearfar.profile.miss_curves import CURVE_BYTES, miss_curves
from nearfar.profile.objects import make_objects
from nearfar.profile.page_curves import page_curves
from nearfar.profile.ranges import with_ranges
from nearfar.profile.session import GatheredRuns, ProfileRequest
from nearfar.profile.sources.process_files import name_instructions, scale_to_counts
from nearfar.profile.sources.source import phase_share
from nearfar.profile.traffic import RunTraffic, gather, instructions_to_keep, sampling
from nearfar.profile.warnings import collect_warnings
from nearfar.program.control import PHASE_BEFORE
from nearfar.program.names import fortran_name
from nearfar.program.phases import PhaseTime
from nearfar.program.symbols import demangle


def assemble(request: ProfileRequest, gathered: GatheredRuns) -> WorkloadProfile:
    """Assemble the profile of one program's runs."""
    files = gathered.files
    if not request.source.names_instructions:
        for file in files:
            name_instructions(file)
            scale_to_counts(file, gathered.seen.counted)
    objects, object_of = make_objects(files)
    traffic = gather(files, object_of)
    curves = miss_curves(files, object_of)
    page_curve_bytes, pages = page_curves(files, object_of, objects)
    objects, ranges = with_ranges(objects, files, object_of)
    names = {n: name for n, name in gathered.phase_numbers.items() if n != PHASE_BEFORE}
    kept = instructions_to_keep(traffic, set(names))
    phases = _phases(gathered, traffic, (curves, pages, ranges), names, kept)
    objects = resident_objects(objects, phases, 64, gathered.instrumented.outcome.peak_bytes)
    header = files[0].header
    simulated = int(header["cache_sets"]) * int(header["cache_ways"]) * 64 * files[0].rate
    uncounted = _uncounted_share(request, gathered)
    profile = WorkloadProfile(
        producer=producer(),
        program=Program(
            command=list(request.job.command),
            executable=str(gathered.executable),
            compiler=request.source.compiler
            or twin.compiler_text(gathered.executable)
            or files[0].text(int(header["compiler"])),
            threads_seen=sum(int(file.header["threads"]) for file in files),
            processes_seen=len(files),
            exit_status=gathered.instrumented.outcome.status,
            plain_executable=str(gathered.plain),
            plain_digest=gathered.plain_digest,
        ),
        size=request.size,
        cache=CacheModel(
            size_bytes=simulated,
            ways=int(header["cache_ways"]),
            line_bytes=64,
            origin=request.cache_origin,
        ),
        sampling=sampling(files),
        core=core_of(files),
        flushes_counted=flushes_counted(files),
        curve_bytes=CURVE_BYTES,
        page_curve_bytes=page_curve_bytes,
        instrumented_slowdown=_slowdown(gathered, phases),
        seen_share=_seen_share(gathered, names),
        seen_share_at_most=gathered.seen.timed is not None
        and not gathered.plain_runs[0].outcome.finished,
        uncounted_share=uncounted,
        uncounted_command=gathered.plain_runs[0].outcome.busiest_child if uncounted else "",
        objects=objects,
        instructions=_readable([traffic.instructions[number] for number in kept]),
        phases=phases,
        live=resident_samples(
            live_samples(files, object_of, names, gathered.instrumented.outcome.wall_ns), objects
        ),
    )
    profile.warnings = collect_warnings(request, gathered, profile)
    return profile


def _phases(
    gathered: GatheredRuns,
    traffic: RunTraffic,
    curves: tuple[
        Mapping[tuple[int, int], MissCurve],
        Mapping[tuple[int, int], PageCurve],
        Mapping[tuple[int, int], RangeTraffic],
    ],
    names: Mapping[int, str],
    kept: list[int],
) -> list[Phase]:
    """Return the phases; `curves`: miss curves, page curves and ranges, by phase and object."""
    index_of = {number: at for at, number in enumerate(kept)}
    phases: list[Phase] = []
    for number, name in names.items():
        rows = {
            object_id: traffic.objects.get((phase, object_id), Traffic())
            for phase, object_id in {*traffic.objects, *curves[1]}
            if phase == number
        }
        time = gathered.instrumented.phases.get(name, PhaseTime())
        if not rows and not time.cpu_ns and not time.operations:
            continue
        share = phase_share(gathered.seen.shares, number)
        near, wall = _near(gathered, name, time, share)
        timed = gathered.seen.timed
        phases.append(
            Phase(
                name=name,
                near_cpu_time_ns=timed.cpu_ns if timed else median_estimate(near),
                near_repetitions=len(near),
                near_wall_time_ns=timed.wall_ns if timed else median_estimate(wall).value,
                operations=time.operations * share or None,
                counted=gathered.seen.counted.get(number, {}),
                objects=[
                    ObjectTraffic(
                        object=object_id,
                        traffic=rows[object_id],
                        curve=curves[0].get((number, object_id)),
                        page_curve=curves[1].get((number, object_id)),
                        ranges=curves[2].get((number, object_id)),
                    )
                    for object_id in sorted(rows)
                ],
                instructions=[
                    InstructionTraffic(
                        instruction=index_of[i],
                        object=object_id,
                        misses=misses,
                        accesses=traffic.accesses[(phase, i, object_id)],
                    )
                    for (phase, i, object_id), misses in traffic.misses.items()
                    if phase == number and i in index_of
                ],
            )
        )
    return phases


def _near(
    gathered: GatheredRuns, name: str, time: PhaseTime, share: float
) -> tuple[list[float], list[float]]:
    """Return CPU and wall time of the phase in each plain run, ns, for the counted work.

    If operations are known and differ (a plain run of fixed length does more), times are scaled to
    those of the instrumented run, `share` of which was sampled.
    """
    cpu, wall = [], []
    for run in gathered.plain_runs:
        plain = run.phases.get(name, PhaseTime())
        both = plain.operations > 0 and time.operations > 0
        scale = share * (time.operations / plain.operations if both else 1.0)
        cpu.append(plain.cpu_ns * scale)
        wall.append(plain.wall_ns * scale)
    return cpu, wall


def _seen_share(gathered: GatheredRuns, names: Mapping[int, str]) -> float:
    """Return the CPU time of the sampled work over that of the plain run up to its end."""
    seen, plain = gathered.seen, gathered.plain_runs[0]
    if seen.timed is not None:
        return min(1.0, seen.timed.cpu_ns.value / max(1, plain.outcome.cpu_ns))
    if seen.part_was_chosen or not seen.shares:
        return 1.0
    times = {n: plain.phases.get(name, PhaseTime()).cpu_ns for n, name in names.items()}
    sampled_ns = sum(phase_share(seen.shares, n) * time_ns for n, time_ns in times.items())
    return min(1.0, sampled_ns / max(1, sum(times.values())))


def _uncounted_share(request: ProfileRequest, gathered: GatheredRuns) -> float:
    """Return the share of the plain runs' CPU time in processes that were not counted.

    If more than one process was counted, all child processes are treated as counted.
    """
    if request.source.counts_children or len(gathered.files) > 1:
        return 0.0
    return median(run.outcome.others_share for run in gathered.plain_runs)


def _slowdown(gathered: GatheredRuns, phases: list[Phase]) -> float:
    near = sum(phase.near_cpu_time_ns.value for phase in phases)
    traced = sum(time.cpu_ns for time in gathered.instrumented.phases.values())
    return traced / near if near else 1.0


def _readable(instructions: list[Instruction]) -> list[Instruction]:
    names = demangle(instruction.function for instruction in instructions)
    for instruction in instructions:
        function = instruction.function
        instruction.function = names.get(function) or fortran_name(function)
    return instructions
