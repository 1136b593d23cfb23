"""Delays: an instrumented program waits at simulated misses of far objects."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from nearfar.documents.plan import Placement
from nearfar.emulate import cost_file
from nearfar.emulate.delayed_run import (
    MAX_SHARE_CHANGE,
    MAX_UNPAID_SHARE,
    DelayedRun,
    PhaseGroups,
    Shares,
)
from nearfar.emulate.mechanism import MECHANISMS, EmulationTarget, EmulationTimes, Say
from nearfar.profile.compiler import twin
from nearfar.profile.identity import Identity, identity_of, nearest_by_column
from nearfar.profile.objects import make_objects
from nearfar.profile.session import (
    GatheredRuns,
    ProfileRequest,
    gather_runs,
    run_folder,
)
from nearfar.profile.sources.compiled import CompiledSource, instrumented_build
from nearfar.profile.sources.source import SourceReport
from nearfar.program.executable import Build
from nearfar.program.launch import Job, RunOutcome, run_job
from nearfar.program.phases import ProfiledRun, phase_times

_ADDR_NO_RANDOMIZE = 0x0040000
"""ADDR_NO_RANDOMIZE of linux/personality.h."""

MAX_REPEATS = 2
"""Most runs with corrected shares; after two, the rest is noise. The first run in slow motion does
not count."""

MAX_NAMES = 5
"""Names that a caveat lists."""


def fix_addresses() -> None:
    """Disable address randomisation for the next program, so that sites keep their keys."""
    ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE)


class _AtFixedAddresses(CompiledSource):
    def run(
        self, job: Job, executable: Path, plain: Build, folder: Path
    ) -> tuple[RunOutcome, SourceReport]:
        """Run the instrumented program."""
        del plain
        build = instrumented_build(executable)
        outcome = run_job(job, build.executable, build.environment, folder, fix_addresses)
        return outcome, SourceReport()


@dataclass(frozen=True)
class _NearObjects:
    """The objects that stay near."""

    keys: list[int]
    names: list[str]
    unknown: list[str]
    """Placements that match no object of this run."""


@MECHANISMS.register("delays")
class Delays:
    """Adds waits to batches of misses, computed as in the model `inversion`."""

    slows_down: ClassVar[bool] = True

    def missing(self, target: EmulationTarget, executable: Path) -> str:
        """Return why it cannot be used."""
        del target
        if twin.is_instrumented(executable):
            return ""
        return "delays need a program built by `nearfar cc` or `nearfar c++`"

    def run(self, request: ProfileRequest, target: EmulationTarget, say: Say) -> EmulationTimes:
        """Run plain, then traced without delays (to subtract the cost of tracing), then delayed."""
        request = replace(request, repetitions=1, source=_AtFixedAddresses())
        gathered = gather_runs(request, lambda text: say(text.replace(" of 2", " of 3")))
        plain, traced = gathered.plain_runs[0], gathered.instrumented
        if plain.outcome.failed:
            return EmulationTimes(plain.phases, traced.phases, plain.outcome.status, True)
        if target.near_now is not None:
            target = replace(target, near=target.near_now(plain.phases))
        near = _near_objects(gathered, target.placements)
        delayed = _delay(request, target, gathered, near, say)
        return EmulationTimes(
            near=plain.phases,
            emulated=delayed.phases,
            status=delayed.outcome.status,
            failed=delayed.outcome.failed,
            delayed_ns=float(delayed.settled.delayed_ns),
            overhead_ns=float(max(0, traced.outcome.cpu_ns - plain.outcome.cpu_ns)),
            unpaid_ns=float(delayed.settled.unpaid_ns),
            slow_motion=delayed.slow_motion,
            near_objects=near.names,
            caveats=_caveats(delayed, near, plain, traced),
        )


def _delay(
    request: ProfileRequest,
    target: EmulationTarget,
    gathered: GatheredRuns,
    near: _NearObjects,
    say: Say,
) -> DelayedRun:
    """Run with delays; repeat the run if tracing took longer than was assumed.

    During waits other processes use the caches, so tracing takes longer in a run with delays. A
    repetition has shorter waits, which change the time of tracing again, so one repetition may not
    be enough.
    """
    plain, groups = gathered.plain_runs[0], PhaseGroups(gathered.phase_numbers, target.group_of)
    shares = groups.shares(plain, gathered.instrumented)
    say("run 3 of 3: with delays")
    delayed = _run_once(request, target, gathered, shares, near)
    repeats = 0
    while repeats < MAX_REPEATS and not delayed.outcome.failed:
        actual = groups.shares(plain, groups.without_waits(delayed))
        slow = groups.slow_motion(plain, delayed, shares, actual, target.max_slow_motion)
        if slow > delayed.slow_motion:
            say(f"again, {slow:.1f} times slower: tracing takes longer than the far memory")
        elif groups.share_change(shares, actual, delayed) > MAX_SHARE_CHANGE:
            say("again: tracing takes longer with delays than it took without")
        else:
            break
        repeats += delayed.slow_motion > 1.0 or slow == 1.0
        target = replace(target, slow_motion=slow)
        delayed, shares = _run_once(request, target, gathered, actual, near), actual
    return delayed


def _run_once(
    request: ProfileRequest,
    target: EmulationTarget,
    gathered: GatheredRuns,
    shares: Shares,
    near: _NearObjects,
) -> DelayedRun:
    build = instrumented_build(gathered.executable)
    slow = target.slow_motion
    with run_folder(request) as (folder, control):
        path = folder / cost_file.FILE_NAME
        memories = (target.near, target.far)
        cost_file.write(path, *memories, shares, near.keys, ahead=target.ahead, slow_motion=slow)
        outcome = run_job(request.job, build.executable, build.environment, folder, fix_addresses)
        phases = {
            name: replace(
                time, cpu_ns=round(time.cpu_ns / slow), wall_ns=round(time.wall_ns / slow)
            )
            for name, time in phase_times(control, outcome).items()
        }
        return DelayedRun(outcome, phases, cost_file.read_settlement(path), slow)


def _near_objects(gathered: GatheredRuns, placements: Sequence[Placement]) -> _NearObjects:
    """Find the sites of the objects that stay near."""
    if not placements:
        return _NearObjects([], [], [])
    objects, object_of = make_objects(gathered.files)
    executable = str(gathered.executable)
    identities = {placed.id: identity_of(placed, executable) for placed in objects}
    near: set[int] = set()
    unknown = []
    for placement in placements:
        matches = _matches(identity_of(placement, executable), identities)
        near |= matches
        if not matches:
            unknown.append(placement.name)
    keys = [
        int(gathered.files[process].sites[number]["key"])
        for (process, number), object_id in object_of.items()
        if object_id in near
    ]
    return _NearObjects(keys, [placed.name for placed in objects if placed.id in near], unknown)


def _matches(identity: Identity, others: Mapping[int, Identity]) -> set[int]:
    """Return the numbers of objects with this identity; sites match to their common depth."""
    matches = {}
    for number, other in others.items():
        depth = min(len(identity.sites), len(other.sites))
        if identity.at_depth(depth) == other.at_depth(depth):
            matches[number] = other
    return nearest_by_column(identity, matches)


def _caveats(
    delayed: DelayedRun, near: _NearObjects, plain: ProfiledRun, traced: ProfiledRun
) -> list[str]:
    caveats = []
    settled, slow = delayed.settled, delayed.slow_motion
    if slow > 1.0:
        caveats.append(
            f"slow motion: the run took {slow:.2g} times as long as it would in the far memory, "
            "computing included, because tracing alone takes longer than the far memory would; the "
            "times shown are divided by that, but timeouts and other programs ran at normal speed"
        )
    if settled.batches == 0:
        caveats.append(
            "nothing was delayed: this program has too few last-level cache misses for one batch"
        )
    if settled.unpaid_ns > MAX_UNPAID_SHARE * plain.outcome.cpu_ns * slow:
        caveats.append(
            f"tracing took {settled.unpaid_ns / slow / 1e9:.3g} s more than the far memory would "
            "have added: the run is slower than it should be by that much"
        )
    if near.unknown:
        more = " ..." if len(near.unknown) > MAX_NAMES else ""
        names = ", ".join(near.unknown[:MAX_NAMES]) + more
        caveats.append(f"not seen in this run, so not kept near: {names}")
    different = set(plain.phases) ^ set(traced.phases)
    if different:
        caveats.append(f"phases of only one of the runs: {', '.join(sorted(different))}")
    return caveats
