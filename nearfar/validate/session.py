"""One session: all kernels and programs in near and far memory, device curves in between."""

from __future__ import annotations

import contextlib
import datetime
import platform
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from nearfar.contention.companion import awake, start_load, start_spinner
from nearfar.documents import DeviceProfile
from nearfar.documents.header import cpu_model
from nearfar.documents.validation import KernelResult, Session
from nearfar.measure import topology
from nearfar.measure.settings import Progress
from nearfar.predict.calibration import memory_tier
from nearfar.validate.curves import Curves
from nearfar.validate.loop import Loop
from nearfar.validate.placement import Placement
from nearfar.validate.prepared import Prepared, preparing
from nearfar.validate.wanted import Companions, Found, Keep, Wanted

FIRST_CURVES = 3
"""Rounds of curves before the first kernel: they say how much cache a profile is to simulate."""

HINDERED = (
    "other work kept the cores busy, so that it was not seen where a hypervisor put them, "
    "and what was measured while they lay together and apart is mixed: let nothing else run"
)

MOST_FIRST_CURVES = 12
"""Where the cores move."""


def run(
    wanted: Wanted,
    machine: topology.Topology,
    keep: Keep,
    progress: Progress,
    prepared: Prepared | None = None,
) -> Found:
    """Do one session; Ctrl-C ends it early with what it has, if it has anything.

    `prepared` is what earlier sessions of the same kernels and programs left. Raises NearfarError
    for a memory, kernel or program that fails.
    """
    clock = _Clock(wanted, progress)
    with contextlib.ExitStack() as stack:
        had = prepared or stack.enter_context(preparing())
        had.build(wanted, clock.step)
        kernels, programs = had.kernels, had.programs
        launcher = next(iter(kernels.values())).plain
        clock.next()
        clock.step("taking both memories", 0.0)
        nap = None
        if len(machine.cpus) > 1:
            nap = stack.enter_context(awake(launcher, (machine.cpus[0], machine.cpus[-1])))
        placement = Placement.of(tuple(machine.cpus), nap)
        placement.want(wanted.cores)
        # Beside a contender, far memory's figures are of one core: near memory's must be too.
        alone = wanted.far.spec.load != "none"
        near = Curves.open(wanted.near.spec, wanted.region_bytes, placement, alone=alone)
        far = Curves.open_far(wanted.far.spec, wanted.near.spec, wanted.region_bytes, placement)
        beside = stack.enter_context(_companions(wanted, machine, launcher, far))
        far.contend_with(beside.contender)
        if alone:
            near.contend_with(beside.spinner)
        warnings: list[str] = []
        first = _first_curves(near, far, clock, warnings)
        clock.next()
        llc_bytes = near.llc_bytes(first) or near.opened.llc_bytes
        llc_bytes = had.profile(wanted, llc_bytes, clock.step)
        clock.next()
        session = _session(wanted, far.device("far", first), llc_bytes)
        found = Found(session, near, far, first, warnings=warnings)
        loop = Loop(wanted, machine, found, beside, clock.step, launcher)
        works: list[tuple[str, Work]] = [
            (kernel.name, partial(loop.kernel, kernel, had.profiles[kernel.name]))
            for kernel in kernels.values()
        ]
        works += [
            (program.name, partial(loop.program, program, had.profiles[program.name]))
            for program in programs
        ]
        try:
            _do_all(works, found, keep, clock)
        except KeyboardInterrupt:
            if not found.results:
                raise
            found.interrupted = True
        if placement.hindered:
            found.warnings.append(HINDERED)
    return found


Work = Callable[[], KernelResult | None]
"""Times and predicts one thing; None: the cores were moved, or kept busy, too often."""


def _do_all(works: Sequence[tuple[str, Work]], found: Found, keep: Keep, clock: _Clock) -> None:
    """Do all, and what the cores' moves spoiled once more at the end."""
    spoiled = []
    for name, work in works:
        result = work()
        if result is None:
            spoiled.append((name, work))
        else:
            keep(found.session, result)
        clock.next()
    for name, work in spoiled:
        result = work()
        if result is not None:
            keep(found.session, result)
            continue
        found.warnings.append(
            f"{name} is left out: the hypervisor moved the cores, or other work kept them busy, "
            "too often while it was measured"
        )


def _first_curves(near: Curves, far: Curves, clock: _Clock, warnings: list[str]) -> int:
    """Sample curves until some placement is known; return it."""
    for number in range(MOST_FIRST_CURVES):
        near.sample_round()
        far.sample_round()
        clock.step("measuring both memories", min((number + 1) / FIRST_CURVES, 1.0))
        if number + 1 < FIRST_CURVES:
            continue
        # What two rounds missed of a placement is little, and quicker had than another round.
        for placement in sorted(near.placements(), key=far.count, reverse=True):
            if all(curves.known(placement) for curves in (near, far)):
                return placement
    warnings.append(
        f"the hypervisor moved this machine's cores so often (a line took {near.placement.said()} "
        f"between them) that {MOST_FIRST_CURVES} rounds of device curves hold no whole one: what "
        "was measured while they lay together and apart is mixed, and errors are larger for it"
    )
    near.placement.look_no_more()
    for curves in (near, far):
        curves.forget()
        for _ in range(FIRST_CURVES):
            curves.sample_round()
    return 0


@contextlib.contextmanager
def _companions(
    wanted: Wanted, machine: topology.Topology, launcher: Path, far: Curves
) -> Iterator[Companions]:
    """Yield what runs on another core beside near and beside far data."""
    if len(machine.cpus) < 2:
        yield Companions()
        return
    cpu = machine.cpus[-1]
    with contextlib.ExitStack() as stack:
        spinner = start_spinner(launcher, cpu)
        stack.callback(spinner.end)
        contender = None
        if wanted.far.spec.load != "none":
            contender = start_load(wanted.far, cpu, far.plan.facts.buffer_bytes)
            stack.callback(contender.end)
        yield Companions(spinner, contender)


def _session(wanted: Wanted, far: DeviceProfile, llc_bytes: int) -> Session:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    return Session(
        id=f"{now} {platform.node()}",
        time_utc=now,
        host=platform.node(),
        cpu_model=cpu_model(),
        near=str(wanted.near.spec),
        far=str(wanted.far.spec),
        tier=memory_tier(far),
        llc_bytes=llc_bytes,
        region_bytes=wanted.region_bytes,
        rounds=wanted.effort.rounds,
    )


class _Clock:
    """Progress over steps of different lengths, in rough seconds."""

    def __init__(self, wanted: Wanted, progress: Progress) -> None:
        effort, count = wanted.effort, len(wanted.kernels)
        # Seen on a server core of 2023: 1.5 s a round of both curves, 0.4 s a round of a kernel.
        each = 2.0 + 0.4 * effort.rounds + 1.5 * effort.curve_rounds
        programs = len(wanted.programs)
        self._lengths = [0.5 * count, 5.0 + 3.0 * FIRST_CURVES]
        self._lengths += [(3.0 + effort.profile_runs) * count + 10.0 * programs]
        self._lengths += [each] * count + [3.0 * each] * programs
        self._progress, self._at = progress, 0

    def step(self, what: str, share: float) -> None:
        """Tell how much of the present step is done."""
        before = sum(self._lengths[: self._at])
        length = self._lengths[self._at] if self._at < len(self._lengths) else 0.0
        self._progress(what, (before + share * length) / sum(self._lengths))

    def next(self) -> None:
        """Begin the next step."""
        self._at += 1
