"""Warnings on the limits of a profile."""

from __future__ import annotations

from nearfar.base.units import format_bytes, format_count
from nearfar.documents import WorkloadProfile
from nearfar.profile.compiler import twin
from nearfar.profile.memory_warnings import (
    allocator_warning,
    joined_warnings,
    reserved_warnings,
    undivided_warnings,
    unseen_warnings,
)
from nearfar.profile.modules import foreign_libraries
from nearfar.profile.session import GatheredRuns, ProfileRequest
from nearfar.program.children import is_own_child
from nearfar.program.launch import input_was_piped

_TABLES = {
    "sites": "allocation sites (their memory is under 'other allocations')",
    "counters": "combinations of phase, instruction and object (not counted)",
    "instructions": "instructions (counted without name)",
    "modules": "loaded libraries (their frames have no names)",
    "strings": "names",
    "ranges": "phases and objects whose traffic is counted by range",
}
MAX_NOTES = 20
"""Largest number of notes on code that is not instrumented."""
MIN_RUN_NS = 20e6
"""CPU time below which a run is mostly start-up, and the kernel's accounting coarse."""
MIN_UNCOUNTED_SHARE = 0.01
"""Share of the CPU time in uncounted processes above which there is a warning."""
MAX_UNCOUNTED_SHARE = 0.5
"""Share of the CPU time in uncounted processes beyond which an answer is about another program."""
MAX_SAMPLING_ERROR = 0.03
"""Sampling error above which a finer rate is worth its cost."""
PLAUSIBLE_SLOWDOWNS = (0.3, 30.0)
"""Range of slowdowns that noise and other compiler options explain: tracing takes 1 to 4 times the
plain time."""
MAX_UNKNOWN_SHARE = 0.05
"""Share of misses in unknown memory above which there is a warning."""

INPUT_SPENT = (
    "standard input was a pipe, which only the first run could read: give it as a file (< FILE)"
)


def collect_warnings(
    request: ProfileRequest, gathered: GatheredRuns, profile: WorkloadProfile
) -> list[str]:
    """Return one sentence for each limit of the profile."""
    return [
        *_runs(request, gathered, profile),
        *gathered.seen.caveats,
        *_tables(gathered, request),
        *_allocator(gathered, profile),
        *_precision(request, profile),
        *(_unseen(request, gathered, profile) if request.source.is_built_in else []),
        *reserved_warnings(profile),
        *undivided_warnings(profile),
        *joined_warnings(profile),
        *_notes(gathered),
    ]


def _runs(request: ProfileRequest, gathered: GatheredRuns, profile: WorkloadProfile) -> list[str]:
    warnings: list[str] = []
    outcome = gathered.instrumented.outcome
    failed_plain = [run.outcome.status for run in gathered.plain_runs if run.outcome.failed]
    if outcome.failed:
        which = request.source.runs
        warnings.append(f"the {which} {outcome.status}: its counts until then were saved")
    if input_was_piped():
        warnings.append(INPUT_SPENT)
    if failed_plain:
        warnings.append(f"the plain program {failed_plain[0]}")
    low, high = PLAUSIBLE_SLOWDOWNS
    slowdown = profile.instrumented_slowdown
    if request.plain is not None and not low <= slowdown <= high:
        warnings.append(
            f"{gathered.plain} took {1 / slowdown:.2g} times the CPU time of the instrumented "
            "program: near time is that of --plain, so name a build of the same program that "
            "does the same work"
        )
    traced = gathered.instrumented.phases
    plain_names = {name for run in gathered.plain_runs for name in run.phases}
    if missing := [name for name in traced if name not in plain_names]:
        warnings.append(
            f"the plain program did not mark {', '.join(missing)}: their near time is not known"
        )
    for name in gathered.instrumented_in_plain:
        warnings.append(
            f"{name} was instrumented in the plain runs too (the program loads it by name while it "
            "runs): its near time is slightly too long"
        )
    if request.job.after_s and not profile.phases:
        warnings.append(
            f"nothing was counted: the program ended before --after {request.job.after_s:g} s"
        )
    stopped = request.job.duration_s is not None
    if stopped and not any(time.operations for time in traced.values()):
        warnings.append(
            "the runs were stopped after --duration and no phase marks its operations: "
            "the plain runs did more work in the time than was counted; mark operations "
            "(nearfar/mark.h or `nearfar mark`)"
        )
    if len(gathered.files) > 1 and len(traced) > 1:
        warnings.append(
            f"{len(gathered.files)} processes were seen; the CPU time of those that make no marks "
            "is in the phase that was current at the end"
        )
    if profile.uncounted_share >= MIN_UNCOUNTED_SHARE:
        busiest = profile.uncounted_command or "the program that these processes run"
        if is_own_child(busiest, request.job.command):
            busiest = "it as a single process if it can run so"
        warnings.append(
            f"child processes took {profile.uncounted_share:.0%} of the CPU time, and their "
            "accesses were not counted: intervals allow for all of that time being spent waiting "
            f"for memory; profile {busiest}"
        )
    if gathered.lost_processes:
        warnings.append(f"{gathered.lost_processes} processes were not counted: {gathered.message}")
    if gathered.lost_marks:
        warnings.append(f"{gathered.lost_marks} marks were lost: more than 64 processes make marks")
    return warnings


def _tables(gathered: GatheredRuns, request: ProfileRequest) -> list[str]:
    warnings: list[str] = []
    for table, what in _TABLES.items():
        lost = sum(file.lost().get(table, 0) for file in gathered.files)
        if lost:
            warnings.append(
                f"the table of {what} was full {format_count(lost, 'time')}; give more than "
                f"--memory {format_bytes(request.memory_bytes)}"
            )
    totals = {
        name: sum(int(file.header[name]) for file in gathered.files)
        for name in ("dropped", "lost_regions", "mixed_rates", "wrong_modules")
    }
    if totals["dropped"]:
        warnings.append(
            f"{totals['dropped']} sampled accesses by signal handlers were not counted: "
            "they interrupted the counting of another access"
        )
    if totals["lost_regions"]:
        warnings.append(
            f"{totals['lost_regions']} mappings were beyond the table: their memory is unknown"
        )
    if totals["mixed_rates"]:
        warnings.append(
            f"{totals['mixed_rates']} source files were built with another --nearfar-rate than the "
            "others and were not counted; build all with one rate"
        )
    if totals["wrong_modules"]:
        warnings.append(
            f"{totals['wrong_modules']} source files were built by another version of nearfar and "
            "were not counted; build them again"
        )
    return warnings


def _allocator(gathered: GatheredRuns, profile: WorkloadProfile) -> list[str]:
    warning = allocator_warning(gathered.executable, profile.objects)
    return [warning] if warning else []


def _unseen(request: ProfileRequest, gathered: GatheredRuns, profile: WorkloadProfile) -> list[str]:
    # Memory allocated before counting began may be untouched afterwards.
    if request.job.after_s:
        return []
    foreign = foreign_libraries(gathered.files, gathered.executable)
    return unseen_warnings(profile, foreign, gathered.executable)


def _precision(request: ProfileRequest, profile: WorkloadProfile) -> list[str]:
    warnings: list[str] = []
    finer, built, run_finer = request.source.finer
    requested, simulated = request.cache_bytes, profile.cache.size_bytes
    if abs(simulated - requested) > 0.01 * requested:
        warnings.append(
            f"the simulated cache is {format_bytes(simulated)} rather than "
            f"{format_bytes(requested)}: a smaller step is not possible at rate "
            f"{profile.sampling.rate}; {finer}"
        )
    if not profile.sampling.sampled_accesses:
        warnings.append(f"no sampled line was touched: the program computes only{built}")
    elif profile.sampling.relative_error > MAX_SAMPLING_ERROR:
        warnings.append(
            f"only {profile.sampling.sampled_misses} misses were sampled: totals are within "
            f"{profile.sampling.relative_error:.0%}; run longer or {run_finer}"
        )
    near_ns = sum(phase.near_cpu_time_ns.value for phase in profile.phases)
    if near_ns < MIN_RUN_NS:
        warnings.append(
            "the plain program ran for less than 20 ms: times this short are mostly noise"
        )
    unknown = {memory.id for memory in profile.objects if memory.kind == "unknown"}
    misses = {True: 0.0, False: 0.0}
    for phase in profile.phases:
        for row in phase.objects:
            misses[row.object in unknown] += row.traffic.misses()
    total = misses[True] + misses[False]
    if total and misses[True] / total > MAX_UNKNOWN_SHARE:
        warnings.append(
            f"{misses[True] / total:.0%} of the misses are in memory that was not allocated "
            "through functions nearfar sees"
        )
    return warnings


def _notes(gathered: GatheredRuns) -> list[str]:
    notes = twin.notes(gathered.executable)
    more = len(notes) - MAX_NOTES
    return notes[:MAX_NOTES] + ([f"... and {more} more such notes"] if more > 0 else [])
