"""Delays: an instrumented program waits at simulated misses of far objects."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nearfar.documents.plan import Placement
from nearfar.emulate import file
from nearfar.emulate.way import WAYS, Say, Times, Wanted
from nearfar.profile import program
from nearfar.profile.compiler import twin
from nearfar.profile.identity import Identity, identity_of
from nearfar.profile.launch import Ended, Job, run
from nearfar.profile.objects import make_objects
from nearfar.profile.phases import phase_times
from nearfar.profile.session import Gathered, Request, Run, gather_runs, run_folder
from nearfar.profile.sources.compiled import Compiled
from nearfar.profile.sources.source import Seen

_ADDR_NO_RANDOMIZE = 0x0040000
"""Of linux/personality.h."""


def fix_addresses() -> None:
    """Have the program about to be executed lie where it lay before: sites keep their keys."""
    ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE)


class _AtFixedAddresses(Compiled):
    def run(
        self, job: Job, executable: Path, plain: program.Build, folder: Path
    ) -> tuple[Ended, Seen]:
        """Run the instrumented program."""
        del plain
        build = program.instrumented_build(executable)
        return run(job, build.executable, build.environment, folder, fix_addresses), Seen()


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

    def lacks(self, wanted: Wanted, executable: Path) -> str:
        """Return why not."""
        del wanted
        if twin.is_instrumented(executable):
            return ""
        return "delays need a program built by `nearfar cc` or `nearfar c++`"

    def run(self, request: Request, wanted: Wanted, say: Say) -> Times:
        """Run plain, traced without delays (its cost is taken off), and with delays."""
        request = replace(request, repetitions=1, source=_AtFixedAddresses())
        gathered = gather_runs(request, lambda text: say(text.replace(" of 2", " of 3")))
        plain, traced = gathered.plain_runs[0], gathered.instrumented
        if plain.ended.failed:
            return Times(plain.phases, traced.phases, plain.ended.status, True)
        kept = _kept(gathered, wanted.placements)
        say("run 3 of 3: with delays")
        build = program.instrumented_build(gathered.executable)
        with run_folder(request) as (folder, control):
            path = folder / file.FILE_NAME
            shares = _shares(plain, traced, gathered.phase_numbers)
            file.write(path, wanted.near, wanted.far, shares, kept.keys)
            ended = run(request.job, build.executable, build.environment, folder, fix_addresses)
            emulated = Run(ended, phase_times(control, ended))
            paid = file.paid(path)
        return Times(
            near=plain.phases,
            emulated=emulated.phases,
            status=ended.status,
            failed=ended.failed,
            delayed_ns=float(paid.delayed_ns),
            overhead_ns=float(max(0, traced.ended.cpu_ns - plain.ended.cpu_ns)),
            unpaid_ns=float(paid.unpaid_ns),
            near_objects=kept.names,
            caveats=_caveats(paid, kept, plain, traced),
        )


def _shares(plain: Run, traced: Run, numbers: Mapping[int, str]) -> dict[int, float]:
    """Return plain over traced CPU time by number of phase; -1: of the whole run."""
    shares = {-1: min(1.0, plain.ended.cpu_ns / max(1, traced.ended.cpu_ns))}
    for number, name in numbers.items():
        before, with_tests = plain.phases.get(name), traced.phases.get(name)
        if before is not None and with_tests is not None and with_tests.cpu_ns > 0:
            shares[number] = min(1.0, before.cpu_ns / with_tests.cpu_ns)
    return shares


def _kept(gathered: Gathered, placements: Sequence[Placement]) -> _Kept:
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


def _caveats(paid: file.Paid, kept: _Kept, plain: Run, traced: Run) -> list[str]:
    said = []
    if paid.batches == 0:
        said.append(
            "no batch of misses was full: this program hardly misses its last-level cache, so "
            "nothing was delayed"
        )
    if paid.unpaid_ns > 0.05 * plain.ended.cpu_ns:
        said.append(
            f"tracing took {paid.unpaid_ns / 1e9:.3g} s more than the far memory would have added: "
            "the run is slower than it should be by that much"
        )
    if kept.unknown:
        names = ", ".join(kept.unknown[:5]) + (" ..." if len(kept.unknown) > 5 else "")
        said.append(f"not met in this run, so not kept near: {names}")
    unlike = set(plain.phases) ^ set(traced.phases)
    if unlike:
        said.append(f"phases that only one run had: {', '.join(sorted(unlike))}")
    return said
