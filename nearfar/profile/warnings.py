"""What a profile did not see and why, in sentences."""

from __future__ import annotations

from nearfar.base.units import format_bytes
from nearfar.documents import WorkloadProfile
from nearfar.profile.compiler import twin
from nearfar.profile.memory_warnings import allocator_warning, reserved_warnings, unseen_warnings
from nearfar.profile.modules import foreign_libraries
from nearfar.profile.session import GatheredRuns, ProfileRequest

_TABLES = {
    "sites": "allocation sites (their memory is under 'other allocations')",
    "counters": "combinations of phase, instruction and object (not counted)",
    "instructions": "instructions (counted without name)",
    "modules": "loaded libraries (their frames have no names)",
    "strings": "names",
}
MAX_NOTES = 20
"""Notes on functions that are not instrumented that a person reads."""
MIN_RUN_NS = 20e6
"""CPU times below are mostly start-up, and the kernel's accounting of them is coarse."""
MAX_SAMPLING_ERROR = 0.03
"""Sampling error from which on a finer rate is worth its price."""
PLAUSIBLE_SLOWDOWNS = (0.3, 30.0)
"""Tracing takes 1 to 4 times the plain time; outside of these, noise and another compiler's
options do not explain it."""
MAX_UNKNOWN_SHARE = 0.05
"""Share of misses in memory of which nothing is known that is worth a word."""

_BUILD = "build with a smaller --nearfar-rate"
_HOW_FINER = {
    "compiled": (
        _BUILD,
        ", or what touches memory was not built by nearfar; --nearfar-rate=1 when building sees "
        "every line",
        _BUILD,
    ),
    "qemu": (
        "give a smaller --rate",
        "; --rate 1 sees every line",
        "give a smaller --rate",
    ),
    "counters": ("", "", "run longer"),
}
"""By source: how to see more lines, for each of the three sentences that say it."""

_WHICH = {
    "compiled": "instrumented program",
    "counters": "counted program",
    "qemu": "program under QEMU",
}


def collect_warnings(
    request: ProfileRequest, gathered: GatheredRuns, profile: WorkloadProfile
) -> list[str]:
    """Return one sentence for each thing that limits what the profile says."""
    return [
        *_runs(request, gathered, profile),
        *_tables(gathered, request),
        *_allocator(gathered, profile),
        *_precision(request, profile),
        *(_unseen(request, gathered, profile) if request.source.name == "compiled" else []),
        *reserved_warnings(profile),
        *gathered.seen.caveats,
        *_notes(gathered),
    ]


def _runs(request: ProfileRequest, gathered: GatheredRuns, profile: WorkloadProfile) -> list[str]:
    found: list[str] = []
    outcome = gathered.instrumented.outcome
    failed_plain = [run.outcome.status for run in gathered.plain_runs if run.outcome.failed]
    if outcome.failed:
        which = _WHICH[request.source.name]
        found.append(f"the {which} {outcome.status}: what it did until then was saved")
    if failed_plain:
        found.append(f"the plain program {failed_plain[0]}")
    low, high = PLAUSIBLE_SLOWDOWNS
    slowdown = profile.instrumented_slowdown
    if request.plain is not None and not low <= slowdown <= high:
        found.append(
            f"{gathered.plain} took {1 / slowdown:.2g} times the CPU time of the instrumented "
            "program: name by --plain a build of the same program that does the same work; near "
            "time is that of what was named"
        )
    traced = gathered.instrumented.phases
    plain_names = {name for run in gathered.plain_runs for name in run.phases}
    if missing := [name for name in traced if name not in plain_names]:
        found.append(
            f"the plain program did not mark {', '.join(missing)}: near time is not known there"
        )
    for name in gathered.instrumented_in_plain:
        found.append(
            f"{name} was instrumented in the plain runs too (it is loaded by name while the "
            "program runs): near time is a little too long there"
        )
    if request.job.after_s and not profile.phases:
        found.append(
            f"nothing was counted: the program ended before --after {request.job.after_s:g} s"
        )
    stopped = request.job.duration_s is not None
    if stopped and not any(time.operations for time in traced.values()):
        found.append(
            "the runs were stopped after --duration and no phase says how many operations it did: "
            "the plain runs did more work in the time than was counted; mark operations "
            "(nearfar/mark.h or `nearfar mark`)"
        )
    if len(gathered.files) > 1 and len(traced) > 1:
        found.append(
            f"{len(gathered.files)} processes were seen; the CPU time of those that make no marks "
            "is in the phase that was current at the end"
        )
    if gathered.lost_processes:
        found.append(f"{gathered.lost_processes} processes were not counted: {gathered.message}")
    if gathered.lost_marks:
        found.append(f"{gathered.lost_marks} marks were lost: more than 64 processes make marks")
    return found


def _tables(gathered: GatheredRuns, request: ProfileRequest) -> list[str]:
    found: list[str] = []
    for table, what in _TABLES.items():
        lost = sum(file.lost().get(table, 0) for file in gathered.files)
        if lost:
            found.append(
                f"the table of {what} was full {lost} times; give more than --memory "
                f"{format_bytes(request.memory_bytes)}"
            )
    totals = {
        name: sum(int(file.header[name]) for file in gathered.files)
        for name in ("dropped", "lost_regions", "mixed_rates", "wrong_modules")
    }
    if totals["dropped"]:
        found.append(
            f"{totals['dropped']} sampled accesses by signal handlers came while another access "
            "was being counted, and were not"
        )
    if totals["lost_regions"]:
        found.append(
            f"{totals['lost_regions']} mappings were beyond the table: their memory is unknown"
        )
    if totals["mixed_rates"]:
        found.append(
            f"{totals['mixed_rates']} source files were built with another --nearfar-rate than the "
            "rest and were not counted; build all with one"
        )
    if totals["wrong_modules"]:
        found.append(
            f"{totals['wrong_modules']} source files were built by another version of nearfar and "
            "were not counted; build them again"
        )
    return found


def _allocator(gathered: GatheredRuns, profile: WorkloadProfile) -> list[str]:
    warning = allocator_warning(gathered.executable, profile.objects)
    return [warning] if warning else []


def _unseen(request: ProfileRequest, gathered: GatheredRuns, profile: WorkloadProfile) -> list[str]:
    # What was made before counting began may rightly not be touched after.
    if request.job.after_s:
        return []
    foreign = foreign_libraries(gathered.files, gathered.executable)
    return unseen_warnings(profile, foreign, gathered.executable)


def _precision(request: ProfileRequest, profile: WorkloadProfile) -> list[str]:
    found: list[str] = []
    finer, built, run_finer = _HOW_FINER[request.source.name]
    wanted, had = request.cache_bytes, profile.cache.size_bytes
    if abs(had - wanted) > 0.01 * wanted:
        found.append(
            f"the simulated cache is {format_bytes(had)} rather than {format_bytes(wanted)}: at "
            f"rate {profile.sampling.rate} a smaller step is not possible; {finer}"
        )
    if not profile.sampling.sampled_accesses:
        found.append(f"no sampled line was touched: the program computes only{built}")
    elif profile.sampling.relative_error > MAX_SAMPLING_ERROR:
        found.append(
            f"only {profile.sampling.sampled_misses} misses were sampled: totals are right to "
            f"{profile.sampling.relative_error:.0%}; run longer or {run_finer}"
        )
    near_ns = sum(phase.near_cpu_time_ns.value for phase in profile.phases)
    if near_ns < MIN_RUN_NS:
        found.append("the plain program ran for less than 20 ms: times this short are mostly noise")
    unknown = {thing.id for thing in profile.objects if thing.kind == "unknown"}
    misses = {True: 0.0, False: 0.0}
    for phase in profile.phases:
        for row in phase.objects:
            misses[row.object in unknown] += row.traffic.misses()
    total = misses[True] + misses[False]
    if total and misses[True] / total > MAX_UNKNOWN_SHARE:
        found.append(
            f"{misses[True] / total:.0%} of the misses are in memory that was not allocated "
            "through functions nearfar sees"
        )
    return found


def _notes(gathered: GatheredRuns) -> list[str]:
    notes = twin.notes(gathered.executable)
    more = len(notes) - MAX_NOTES
    return notes[:MAX_NOTES] + ([f"... and {more} more such notes"] if more > 0 else [])
