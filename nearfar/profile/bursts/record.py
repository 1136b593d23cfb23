"""The additional run under QEMU that records bursts.

A burst is all that a thread executes in a short stretch. The plain build runs, so its instructions
are those that run without nearfar. The same run samples lines as `--source qemu` does, which gives
each instruction's miss rate.
"""

from __future__ import annotations

from collections.abc import Callable

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_ns
from nearfar.documents import WorkloadProfile
from nearfar.documents.bursts import Bursts
from nearfar.documents.workload import Traffic
from nearfar.native_files import native_file
from nearfar.profile.bursts import file as burst_file
from nearfar.profile.bursts.document import BurstAssembler
from nearfar.profile.qemu_counts import (
    RATE_LOG2,
    CheckSource,
    counts_again,
    qemu_run,
)
from nearfar.profile.session import ProfileRequest
from nearfar.profile.sources.qemu import QemuSource
from nearfar.program.executable import Build
from nearfar.program.launch import Job

MIN_UNSEEN_SHARE = 0.05
"""An object gets a warning if it has this share of a phase's missing loads (without streams), but
none in the bursts. Bursts are spread by instructions, so a slow part of few instructions may have
no burst."""


class BurstSource(CheckSource):
    """QEMU with the plugin for bursts; the run ends when sampling does."""

    def _command(self, job: Job, plain: Build) -> list[str]:
        words = super()._command(job, plain)
        at = words.index("-plugin")
        return [*words[:at], "-plugin", str(native_file("libnearfar_bursts.so")), *words[at:]]


def add_bursts(
    profile: WorkloadProfile, request: ProfileRequest, sample_s: float, say: Callable[[str], None]
) -> None:
    """Record bursts and add them to `profile`, or a warning that says why there are none."""
    say(f"bursts: the plain build under QEMU, at most {format_ns(sample_s * 1e9)}")
    try:
        profile.bursts = _recorded(profile, request, sample_s)
    except NearfarError as error:
        profile.warnings.append(f"there are no bursts: {error}")
        return
    reached = {phase.phase for phase in profile.bursts.phases}
    missing = [phase.name for phase in profile.phases if phase.name not in reached]
    if missing:
        profile.warnings.append(
            f"there are no bursts of {', '.join(missing)}: the program did not mark them in its "
            f"{format_ns(sample_s * 1e9)} under QEMU; give a longer --sample"
        )
    profile.warnings += unseen_loads(profile, profile.bursts)


def unseen_loads(profile: WorkloadProfile, bursts: Bursts) -> list[str]:
    """Warn of objects with many of a phase's missing loads but none in its bursts.

    Streams are left out: they depend on nothing.
    """
    warnings = []
    phases = {phase.name: phase for phase in profile.phases}
    for recorded in bursts.phases:
        loads = {row.object: _waiting(row.traffic) for row in phases[recorded.phase].objects}
        total = max(sum(loads.values()), 1.0)
        recorded_objects = {row.object for row in recorded.objects if row.read_misses}
        unseen = [
            f"{profile.objects[number].name} ({count / total:.0%} of such loads)"
            for number, count in loads.items()
            if number not in recorded_objects and count > MIN_UNSEEN_SHARE * total
        ]
        if unseen:
            warnings.append(
                f"no burst of phase {recorded.phase!r} has a missing load, streams aside, of "
                f"{', '.join(unseen)}: their dependences are not known, since bursts are spread by "
                "instructions; mark that part as a phase of its own"
            )
    return warnings


def _waiting(traffic: Traffic) -> float:
    """Return the missing loads of an object that are not streams."""
    missed, in_sequence = traffic.read_misses, traffic.read_sequential
    return (
        max(missed.chase - in_sequence.chase, 0.0)
        + max(missed.indirect - in_sequence.indirect, 0.0)
        + max(missed.opaque - in_sequence.opaque, 0.0)
    )


def _recorded(profile: WorkloadProfile, request: ProfileRequest, sample_s: float) -> Bursts:
    source = (
        BurstSource(sample_s, request.source.rate_log2, request.source.instructions)
        if isinstance(request.source, QemuSource)
        else BurstSource(sample_s, RATE_LOG2)
    )
    with qemu_run(profile, request, source, burst_file.make) as run:
        recorded = burst_file.read(run.folder)
        if not run.files or not any(recorded.bursts.values()):
            raise NearfarError(
                f"the program {run.outcome.status} under QEMU before any was recorded"
            )
        bursts = BurstAssembler(profile, recorded, run.files[0], run.names).bursts()
        bursts.build_digest = run.digest
        if not isinstance(request.source, QemuSource):
            profile.checks = counts_again(profile, run)
        return bursts
