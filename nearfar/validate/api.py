"""The validation that options ask for."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes, parse_size_bytes
from nearfar.contention.program_memory import (
    STAND_IN,
    ProgramMemory,
    check_cpus,
    check_pair,
    program_memory,
    slower_memories,
)
from nearfar.documents.validation import KernelResult, Session, ValidationReport
from nearfar.measure import room
from nearfar.measure.native import require_native
from nearfar.measure.obtain import source_of
from nearfar.measure.settings import Progress, no_progress
from nearfar.memories import topology
from nearfar.memories.checks import check_devdax
from nearfar.options.validate import ValidateOptions
from nearfar.program.executable import find_executable
from nearfar.validate import store
from nearfar.validate.core_pairing import (
    CorePairings,
    OpenPairings,
    observed_pairings,
    transfer_between,
)
from nearfar.validate.curves import MemoryCurves
from nearfar.validate.kernel import chosen_kernels
from nearfar.validate.predictions import predict_again
from nearfar.validate.prepared import Prepared, load_prepared, save_record
from nearfar.validate.report import pooled, report_of
from nearfar.validate.session import FIRST_ROUNDS, run
from nearfar.validate.session_plan import FULL, QUICK, SessionPlan
from nearfar.version import built_from

CACHES_PER_REGION = {False: 8, True: 4}
"""Size of a kernel's data over the last-level cache, full and quick: at most 1/8 or 1/4 of reads
hit it."""

REGIONS_IN_USE = 17
"""Regions allocated at once: four each for the curves of near memory, of far memory, and of far
memory with near's pages; two buffers for the core that loads memory; and two kernels whose
structures are up to 1.5 times the requested size."""

MIN_REGION_BYTES = 4 << 20

DEVICE_PARTS = 8
"""Regions per DAX device: the curves use the first half, kernels the second."""


def validate(
    options: ValidateOptions,
    progress: Progress = no_progress,
    *,
    open_pairings: OpenPairings | None = None,
    prepared: Prepared | None = None,
) -> tuple[ValidationReport, list[str]]:
    """Predict and measure; return the report, and the slower memories that are not used.

    `open_pairings` controls the CPUs in another way than --cores does; `prepared` lets several
    sessions of the same kernels and programs build and profile them once. Raises NearfarError if
    something is missing or fails.
    """
    if options.pool:
        return pool(options.pool, again=options.again), []
    machine = topology.detect()
    slower = slower_memories(machine)
    plan = plan_session(options)
    pairings = open_pairings or observed_pairings(options.cores)
    plan = dataclasses.replace(plan, open_pairings=pairings)
    keep_in = (options.store or store.default_store()) if options.learn else None
    if keep_in is not None:
        store.prepare_store(keep_in)

    def keep(session: Session, result: KernelResult) -> None:
        if keep_in is not None:
            store.append(keep_in, session, result)

    report = report_of(run(plan, machine, keep, progress, prepared))
    return report, [spec for spec in slower if spec != str(plan.far.spec)]


def prepare(folder: Path, options: ValidateOptions) -> Prepared:
    """Return kernels and programs built and profiled in `folder`, for sessions of any process.

    A folder that was prepared from the same sources is used again; any other content is deleted.
    """
    plan = plan_session(options)
    earlier = load_prepared(folder, plan)
    if earlier is not None:
        return earlier
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    prepared = Prepared(folder)
    prepared.build(plan, no_progress)
    pairings = CorePairings(transfer_between(topology.detect().cpus))
    near = MemoryCurves.open(plan.near.spec, plan.region_bytes, pairings, ["idle"])
    for _ in range(FIRST_ROUNDS):
        near.sample_round()
    frequent = max(near.seen_pairings(), key=near.count, default=0)
    prepared.profile(plan, near.llc_bytes(frequent) or near.opened.llc_bytes, no_progress)
    save_record(prepared, plan)
    return prepared


def plan_session(options: ValidateOptions) -> SessionPlan:
    """Return the plan of a session, checked. Allocates no memory."""
    require_native()
    machine = topology.detect()
    far_memory = program_memory(options.far or [*slower_memories(machine), STAND_IN][0], machine)
    near_memory = program_memory(options.near, machine)
    check_pair(near_memory, far_memory)
    check_cpus(far_memory, machine)
    for memory in (near_memory, far_memory):
        source_of(memory.spec, machine)  # refuses a memory that is not there; allocates none
    programs = options.programs()
    for command in programs:
        find_executable(command[0])
    names = chosen_kernels(
        [word.strip() for word in options.only.split(",")] if options.only else []
    )
    region_bytes = parse_size_bytes(options.size) if options.size else 0
    if 0 < region_bytes < MIN_REGION_BYTES:
        raise NearfarError(
            f"data of {format_bytes(region_bytes)} fit into the caches: choose a --size of at "
            f"least {format_bytes(MIN_REGION_BYTES)}, or leave it out"
        )
    region = region_bytes or default_region_bytes(machine, options.quick)
    far_memory, region = _share_device(far_memory, region)
    check_region(region)
    effort = QUICK if options.quick else FULL
    return SessionPlan(
        near=near_memory,
        far=far_memory,
        kernels=tuple(names),
        programs=tuple(tuple(command) for command in programs),
        region_bytes=region,
        effort=effort.with_rounds(options.rounds) if options.rounds else effort,
    )


def pool(paths: Sequence[Path], *, again: bool = False) -> ValidationReport:
    """Return the report of all sessions in stores and reports.

    Scores are those of the stored predictions. With `again`, the models of this nearfar predict
    once more; their constants may have been chosen with these sessions known.
    """
    sessions, results = store.read_results(paths)
    if again:
        results = [predict_again(result) for result in results]
        sessions = [
            msgspec.structs.replace(session, predicted_by=f"{built_from()}, again")
            for session in sessions
        ]
    return pooled(sessions, results)


def default_region_bytes(machine: topology.Topology, quick: bool) -> int:
    """Return the size of kernels' data: a multiple of the caches, less where memory is short."""
    preferred = CACHES_PER_REGION[quick] * machine.llc_bytes
    usable = int(room.available_bytes() * room.USABLE_SHARE) // REGIONS_IN_USE
    return min(preferred, usable) >> 21 << 21


def check_region(region_bytes: int) -> None:
    """Refuse data too small to miss the caches or too large for the free memory."""
    if region_bytes < MIN_REGION_BYTES:
        raise NearfarError(
            f"free memory leaves {format_bytes(region_bytes)} for each kernel's data, and at least "
            f"{format_bytes(MIN_REGION_BYTES)} are needed: free some memory, or choose a --size",
            ExitCode.MACHINE_LACKS,
        )
    needed, usable = REGIONS_IN_USE * region_bytes, room.available_bytes()
    if needed > usable:
        raise NearfarError(
            f"a session with data of {format_bytes(region_bytes)} allocates {format_bytes(needed)} "
            f"at once, and {format_bytes(usable)} are available: choose a smaller --size",
            ExitCode.MACHINE_LACKS,
        )


def _share_device(far: ProgramMemory, region_bytes: int) -> tuple[ProgramMemory, int]:
    """Return far memory and region size; curves use the first half of a DAX device."""
    if far.spec.kind != "devdax" or far.spec.path is None:
        return far, region_bytes
    size_bytes, align_bytes = check_devdax(far.spec.path)
    offset = size_bytes // 2 // align_bytes * align_bytes
    region = min(region_bytes, size_bytes // DEVICE_PARTS // align_bytes * align_bytes)
    return dataclasses.replace(far, offset_bytes=offset), region
