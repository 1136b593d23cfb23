"""Validating from Python: memories and programs in, a ValidationReport out."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes
from nearfar.contention.program_memory import (
    STAND_IN,
    ProgramMemory,
    check_cpus,
    check_pair,
    program_memory,
    slower_memories,
)
from nearfar.documents.validation import KernelResult, Session, ValidationReport
from nearfar.measure import room, topology
from nearfar.measure.checks import check_devdax
from nearfar.measure.obtain import source_of
from nearfar.measure.settings import Progress, native, no_progress
from nearfar.program.executable import find_executable
from nearfar.validate import prepared as prepared_files
from nearfar.validate import store
from nearfar.validate.curves import Curves
from nearfar.validate.kernel import chosen_kernels
from nearfar.validate.placement import Cores, Placement
from nearfar.validate.predicting import again as predicted_again
from nearfar.validate.prepared import Prepared
from nearfar.validate.report import pooled, report_of
from nearfar.validate.session import FIRST_CURVES, run
from nearfar.validate.wanted import FULL, QUICK, Wanted

NEAR = "dram,pages=thp"

CACHES_PER_REGION = {False: 8, True: 4}
"""Data over the last-level cache, full and quick: hits are an eighth or a quarter at most."""

REGIONS_HELD = 17
"""Regions of memory that a session holds at once: the curves' of near memory, of far, and of far
with near's pages (four each, and a buffer for the contending core, twice), and two kernels whose
structures are up to 1.5 times what was asked."""

LEAST_REGION_BYTES = 4 << 20

DEVICE_PARTS = 8
"""Of a DAX device, regions are an eighth: the curves use the first half, kernels the second."""


def validate(
    near: str = "",
    far: str = "",
    *,
    kernels: Sequence[str] = (),
    programs: Sequence[Sequence[str]] = (),
    quick: bool = False,
    region_bytes: int = 0,
    rounds: int = 0,
    cores: Cores = "apart",
    keep_in: Path | None = None,
    prepared: Prepared | None = None,
    progress: Progress = no_progress,
) -> tuple[ValidationReport, list[str]]:
    """Predict and measure; return the report, and slower memories of this machine not used.

    Empty `far`: the slowest kind of memory found, else a stand-in. `region_bytes` and `rounds` of 0
    are by the caches and `quick`; `cores` is where to have them that a hypervisor moves. Results
    are appended to `keep_in` as they come; `prepared` lets several sessions of the same kernels and
    programs build and profile them once. Raises NearfarError for what cannot be had or fails.
    """
    machine = topology.detect()
    there = slower_memories(machine)
    wanted = wanted_of(
        near, far, kernels=kernels, programs=programs, quick=quick, region_bytes=region_bytes,
        rounds=rounds, cores=cores,
    )  # fmt: skip
    if keep_in is not None:
        store.prepare_store(keep_in)

    def keep(session: Session, result: KernelResult) -> None:
        if keep_in is not None:
            store.append(keep_in, session, result)

    report = report_of(run(wanted, machine, keep, progress, prepared))
    return report, [spec for spec in there if spec != str(wanted.far.spec)]


def prepare(
    folder: Path, *, programs: Sequence[Sequence[str]] = (), quick: bool = False
) -> Prepared:
    """Return kernels and programs built and profiled in `folder`, for sessions of any process.

    What is there already and still of these sources is taken; anything else there is deleted.
    """
    wanted = wanted_of(programs=programs, quick=quick)
    had = prepared_files.kept(folder, wanted)
    if had is not None:
        return had
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = Prepared(folder)
    made.build(wanted, no_progress)
    placement = Placement.of(tuple(topology.detect().cpus))
    near = Curves.open(wanted.near.spec, wanted.region_bytes, placement, ["idle"])
    for _ in range(FIRST_CURVES):
        near.sample_round()
    most = max(near.placements(), key=near.count, default=0)
    made.profile(wanted, near.llc_bytes(most) or near.opened.llc_bytes, no_progress)
    prepared_files.keep(made, wanted)
    return made


def wanted_of(
    near: str = "",
    far: str = "",
    *,
    kernels: Sequence[str] = (),
    programs: Sequence[Sequence[str]] = (),
    quick: bool = False,
    region_bytes: int = 0,
    rounds: int = 0,
    cores: Cores = "apart",
) -> Wanted:
    """Return what a session is to do; see `validate`. Takes no memory."""
    native()
    machine = topology.detect()
    there = slower_memories(machine)
    far = far or (there[0] if there else STAND_IN)
    far_place = program_memory(far, machine)
    near_place = program_memory(near or NEAR, machine)
    check_pair(near_place, far_place)
    check_cpus(far_place, machine)
    for place in (near_place, far_place):
        source_of(place.spec, machine)  # refuses a memory that is not there; takes none
    for command in programs:
        find_executable(command[0])
    names = chosen_kernels(kernels)
    if 0 < region_bytes < LEAST_REGION_BYTES:
        raise NearfarError(
            f"data of {format_bytes(region_bytes)} lie in the caches: ask for at least "
            f"{format_bytes(LEAST_REGION_BYTES)}, or leave the size out"
        )
    region = region_bytes or default_region_bytes(machine, quick)
    far_place, region = _on_device(far_place, region)
    check_region(region)
    effort = QUICK if quick else FULL
    if rounds:
        effort = effort.with_rounds(rounds)
    return Wanted(
        near=near_place,
        far=far_place,
        kernels=tuple(names),
        programs=tuple(tuple(command) for command in programs),
        region_bytes=region,
        effort=effort,
        cores=cores,
    )


def pool(paths: Sequence[Path], *, again: bool = False) -> ValidationReport:
    """Return the report of all sessions in stores and reports; `again`: predicted anew."""
    sessions, results = store.read_results(paths)
    if again:
        results = [predicted_again(result) for result in results]
    return pooled(sessions, results)


def default_region_bytes(machine: topology.Topology, quick: bool) -> int:
    """Return how large kernels' data are: by the caches, less where memory is short."""
    wanted = CACHES_PER_REGION[quick] * machine.llc_bytes
    usable = int(room.available_bytes() * room.SHARE) // REGIONS_HELD
    return min(wanted, usable) >> 21 << 21


def check_region(region_bytes: int) -> None:
    """Refuse data too small to miss or too large for the memory there is."""
    if region_bytes < LEAST_REGION_BYTES:
        raise NearfarError(
            f"kernels' data would be {format_bytes(region_bytes)}, and at least "
            f"{format_bytes(LEAST_REGION_BYTES)} are needed: free memory, or ask for more",
            ExitCode.MACHINE_LACKS,
        )
    needed, usable = REGIONS_HELD * region_bytes, room.available_bytes()
    if needed > usable:
        raise NearfarError(
            f"data of {format_bytes(region_bytes)} take {format_bytes(needed)} for all that is "
            f"held at once, and {format_bytes(usable)} are available: choose a smaller --size",
            ExitCode.MACHINE_LACKS,
        )


def _on_device(far: ProgramMemory, region_bytes: int) -> tuple[ProgramMemory, int]:
    """Share a DAX device between the curves and the kernels."""
    if far.spec.kind != "devdax" or far.spec.path is None:
        return far, region_bytes
    size_bytes, align_bytes = check_devdax(far.spec.path)
    offset = size_bytes // 2 // align_bytes * align_bytes
    region = min(region_bytes, size_bytes // DEVICE_PARTS // align_bytes * align_bytes)
    return dataclasses.replace(far, offset_bytes=offset), region
