"""Delays: an instrumented program waits at simulated misses of far objects."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from nearfar.documents.plan import Placement
from nearfar.emulate import file
from nearfar.emulate.shares import APART, UNPAID, Delayed, Parts, Shares
from nearfar.emulate.way import WAYS, Say, Times, Wanted
from nearfar.profile.compiler import twin
from nearfar.profile.identity import Identity, identity_of
from nearfar.profile.objects import make_objects
from nearfar.profile.session import (
    GatheredRuns,
    ProfiledRun,
    ProfileRequest,
    gather_runs,
    run_folder,
)
from nearfar.profile.sources.compiled import CompiledSource, instrumented_build
from nearfar.profile.sources.source import SourceReport
from nearfar.program.executable import Build
from nearfar.program.launch import Job, RunOutcome, run_job
from nearfar.program.phases import phase_times

_ADDR_NO_RANDOMIZE = 0x0040000
"""Of linux/personality.h."""


MOST_AGAIN = 2
"""Then what is left is noise. To be in slow motion at all does not count."""


def fix_addresses() -> None:
    """Have the program about to be executed lie where it lay before: sites keep their keys."""
    ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE)


class _AtFixedAddresses(CompiledSource):
    def run(
        self, job: Job, executable: Path, plain: Build, folder: Path
    ) -> tuple[RunOutcome, SourceReport]:
        """Run the instrumented program."""
        del plain
        build = instrumented_build(executable)
        return run_job(
            job, build.executable, build.environment, folder, fix_addresses
        ), SourceReport()


@dataclass(frozen=True)
class _Kept:
    """What stays near."""

    keys: list[int]
    names: list[str]
    unknown: list[str]
    """Placements that no object of this run is."""


@WAYS.register("delays")
class Delays:
    """Batches of misses are settled by the arithmetic of the model `inversion`."""

    slows_down: ClassVar[bool] = True

    def lacks(self, wanted: Wanted, executable: Path) -> str:
        """Return why not."""
        del wanted
        if twin.is_instrumented(executable):
            return ""
        return "delays need a program built by `nearfar cc` or `nearfar c++`"

    def run(self, request: ProfileRequest, wanted: Wanted, say: Say) -> Times:
        """Run plain, traced without delays (its cost is taken off), and with delays."""
        request = replace(request, repetitions=1, source=_AtFixedAddresses())
        gathered = gather_runs(request, lambda text: say(text.replace(" of 2", " of 3")))
        plain, traced = gathered.plain_runs[0], gathered.instrumented
        if plain.outcome.failed:
            return Times(plain.phases, traced.phases, plain.outcome.status, True)
        if wanted.near_now is not None:
            wanted = replace(wanted, near=wanted.near_now(plain.phases))
        kept = _kept(gathered, wanted.placements)
        parts = Parts(gathered.phase_numbers, wanted.one_of)
        shares = parts.shares(plain, traced)
        say("run 3 of 3: with delays")
        delayed = _delayed(request, wanted, gathered, shares, kept)
        # Waits let others into the caches: tracing takes longer beside them than without. With
        # what it takes beside them, waits are shorter, so once more may not be enough.
        again = 0
        while again < MOST_AGAIN and not delayed.outcome.failed:
            beside = parts.shares(plain, parts.without_waits(delayed))
            slow = parts.slow_motion(plain, delayed, shares, beside, wanted.most_slow_motion)
            if slow > delayed.slow_motion:
                say(f"once more, {slow:.1f} times as slowly: tracing takes longer than far memory")
            elif parts.apart(shares, beside, delayed) > APART:
                say("once more: tracing takes longer beside delays than it took without")
            else:
                break
            again += delayed.slow_motion > 1.0 or slow == 1.0
            wanted = replace(wanted, slow_motion=slow)
            delayed, shares = _delayed(request, wanted, gathered, beside, kept), beside
        return Times(
            near=plain.phases,
            emulated=delayed.phases,
            status=delayed.outcome.status,
            failed=delayed.outcome.failed,
            delayed_ns=float(delayed.paid.delayed_ns),
            overhead_ns=float(max(0, traced.outcome.cpu_ns - plain.outcome.cpu_ns)),
            unpaid_ns=float(delayed.paid.unpaid_ns),
            slow_motion=delayed.slow_motion,
            near_objects=kept.names,
            caveats=_caveats(delayed, kept, plain, traced),
        )


def _delayed(
    request: ProfileRequest,
    wanted: Wanted,
    gathered: GatheredRuns,
    shares: Shares,
    kept: _Kept,
) -> Delayed:
    build = instrumented_build(gathered.executable)
    slow = wanted.slow_motion
    with run_folder(request) as (folder, control):
        path = folder / file.FILE_NAME
        memories = (wanted.near, wanted.far)
        file.write(path, *memories, shares, kept.keys, ahead=wanted.ahead, slow_motion=slow)
        outcome = run_job(request.job, build.executable, build.environment, folder, fix_addresses)
        phases = {
            name: replace(
                time, cpu_ns=round(time.cpu_ns / slow), wall_ns=round(time.wall_ns / slow)
            )
            for name, time in phase_times(control, outcome).items()
        }
        return Delayed(outcome, phases, file.paid(path), slow)


def _kept(gathered: GatheredRuns, placements: Sequence[Placement]) -> _Kept:
    """Find the sites of the objects that stay near."""
    if not placements:
        return _Kept([], [], [])
    objects, object_of = make_objects(gathered.files)
    executable = str(gathered.executable)
    identities = {thing.id: identity_of(thing, executable) for thing in objects}
    near: set[int] = set()
    unknown = []
    for placement in placements:
        same = _same(identity_of(placement, executable), identities)
        near |= same
        if not same:
            unknown.append(placement.name)
    keys = [
        int(gathered.files[process].sites[number]["key"])
        for (process, number), thing in object_of.items()
        if thing in near
    ]
    return _Kept(keys, [thing.name for thing in objects if thing.id in near], unknown)


def _same(one: Identity, others: Mapping[int, Identity]) -> set[int]:
    """Return the objects that are `one`, as far as both runs tell objects apart."""
    found = set()
    for number, other in others.items():
        depth = min(len(one.sites), len(other.sites))
        if one.told_by(depth) == other.told_by(depth):
            found.add(number)
    return found


def _caveats(delayed: Delayed, kept: _Kept, plain: ProfiledRun, traced: ProfiledRun) -> list[str]:
    said = []
    paid, slow = delayed.paid, delayed.slow_motion
    if slow > 1.0:
        said.append(
            f"in slow motion: the run took {slow:.2g} times as long as it would in the far memory, "
            "computing too, and the times shown are divided by that (tracing alone takes longer "
            "than the far memory would); timeouts and other programs run at their own pace"
        )
    if paid.batches == 0:
        said.append(
            "no batch of misses was full: this program hardly misses its last-level cache, so "
            "nothing was delayed"
        )
    if paid.unpaid_ns > UNPAID * plain.outcome.cpu_ns * slow:
        said.append(
            f"tracing took {paid.unpaid_ns / slow / 1e9:.3g} s more than the far memory would have "
            "added: the run is slower than it should be by that much"
        )
    if kept.unknown:
        names = ", ".join(kept.unknown[:5]) + (" ..." if len(kept.unknown) > 5 else "")
        said.append(f"not met in this run, so not kept near: {names}")
    unlike = set(plain.phases) ^ set(traced.phases)
    if unlike:
        said.append(f"phases that only one run had: {', '.join(sorted(unlike))}")
    return said
