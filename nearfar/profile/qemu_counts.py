"""The phases' counts by QEMU, as a check of the profile's source.

The compiler pass sees the code that it built. Inline assembly, libraries and generated code also
access memory, and only QEMU sees all accesses. QEMU runs the plain build, for bursts or because
the pass left code out, and counts with the same simulated cache.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.files import file_digest
from nearfar.base.folders import owned_folder
from nearfar.base.units import format_ns
from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import CountCheck, MemoryObject, ObjectTraffic, Traffic
from nearfar.profile.added_traffic import add_traffic
from nearfar.profile.identity import match_by_allocation
from nearfar.profile.objects import make_objects
from nearfar.profile.run_file import ProcessFile, read_run
from nearfar.profile.session import ProfileRequest, prepare_folder
from nearfar.profile.sources.process_files import name_instructions
from nearfar.profile.sources.qemu import QemuSource
from nearfar.profile.traffic import gather, sampling
from nearfar.program.control import PHASE_BEFORE
from nearfar.program.launch import Job, RunOutcome

RATE_LOG2 = 6
"""log2 of the sampling rate: one line in 64."""

CHECK_S = 20.0
"""Longest time under QEMU, s, of a check that no option asked for."""

LEFT_OUT = "assembly was left out", "vector accesses were left out"
"""Endings of the pass's notes about code whose accesses it does not see."""


class CheckSource(QemuSource):
    """QEMU, whose run ends when sampling does."""

    def _bounded(self, job: Job) -> Job:
        if not job.ends_itself:
            return job
        return replace(job, duration_s=self._sample_s, limit=f"{self._sample_s:g} s under QEMU")


@dataclass(frozen=True)
class QemuRun:
    """One run of the plain build under QEMU."""

    folder: Path
    outcome: RunOutcome
    names: Mapping[int, str]
    """Names of its phases by number."""
    files: Sequence[ProcessFile]
    digest: str
    """SHA-256 of the build."""


@contextlib.contextmanager
def qemu_run(
    profile: WorkloadProfile,
    request: ProfileRequest,
    source: QemuSource,
    prepare: Callable[[Path], None] = lambda folder: None,
) -> Iterator[QemuRun]:
    """Run the plain build under QEMU; `prepare` gets the run folder beforehand."""
    with (
        owned_folder("nearfar-plain-", None) as twins,
        owned_folder("nearfar-emulated-", request.folder()) as folder,
    ):
        executable = Path(profile.program.executable)
        plain = request.source.plain(executable, request.plain, twins)
        size = (request.cache_bytes, request.cache_ways, request.memory_bytes)
        control = prepare_folder(folder, *size, counting=request.job.after_s == 0)
        try:
            prepare(folder)
            outcome, _ = source.run(request.job, executable, plain, folder)
            names = {
                number: row.name.decode(errors="replace")
                for number, row in enumerate(control.phases())
                if number != PHASE_BEFORE
            }
        finally:
            control.close()
        digest = file_digest(plain.executable)
        yield QemuRun(folder, outcome, names, read_run(folder), digest)


def leaves_code_out(profile: WorkloadProfile) -> bool:
    """Return whether the compiler pass noted accesses that it does not see."""
    return any(warning.endswith(LEFT_OUT) for warning in profile.warnings)


def check_counts(
    profile: WorkloadProfile, request: ProfileRequest, say: Callable[[str], None]
) -> None:
    """Count again under QEMU if the pass left code out and one short run is enough.

    Servers are omitted, because their driver would have to run again.
    """
    stopped = request.job.driver is not None or request.job.duration_s is not None
    if not request.source.is_built_in or stopped or not leaves_code_out(profile):
        return
    say(
        "the compiler pass left code out: the plain build runs under QEMU, at most "
        f"{format_ns(CHECK_S * 1e9)}"
    )
    try:
        with qemu_run(profile, request, CheckSource(CHECK_S, RATE_LOG2)) as run:
            profile.checks = counts_again(profile, run)
    except NearfarError as error:
        profile.warnings.append(
            f"the code that was left out could not be counted under QEMU: {error}"
        )


def counts_again(profile: WorkloadProfile, run: QemuRun) -> list[CountCheck]:
    """Return QEMU's counts of the profile's phases, by the profile's objects.

    Memory without an object in the profile becomes an object of kind "unknown".
    """
    files = run.files
    if not files:
        return []
    for file in files:
        name_instructions(file)
    objects, object_of = make_objects(files)
    number_of = match_by_allocation(objects, profile.objects)
    counted = gather(files, object_of)
    known = {phase.name for phase in profile.phases}
    complete = run.outcome.finished and profile.program.processes_seen <= 1
    checks = []
    for number, name in run.names.items():
        rows: dict[int, Traffic] = {}
        for (phase, place), traffic in counted.objects.items():
            if phase == number and name in known:
                owner = number_of[place]
                owner = unknown_object(profile) if owner < 0 else owner
                rows[owner] = add_traffic(rows[owner], traffic) if owner in rows else traffic
        if rows:
            checks.append(
                CountCheck(
                    phase=name,
                    source="qemu",
                    complete=complete,
                    relative_error=sampling(files).relative_error,
                    objects=[ObjectTraffic(object=at, traffic=rows[at]) for at in sorted(rows)],
                )
            )
    return checks


def unknown_object(profile: WorkloadProfile) -> int:
    """Return the number of the profile's unknown memory, which is added if there is none."""
    for memory in profile.objects:
        if memory.kind == "unknown" and not memory.frames:
            return memory.id
    profile.objects.append(
        MemoryObject(
            id=len(profile.objects),
            name="unknown memory",
            kind="unknown",
            frames=[],
            allocations=0,
            allocated_bytes=0,
            peak_live_bytes=0,
            live_bytes_at_peak=0,
            size_bytes=0,
        )
    )
    return profile.objects[-1].id
