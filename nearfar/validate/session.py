"""One session: all kernels and programs in near and far memory, device curves in between."""

from __future__ import annotations

import contextlib
import datetime
import platform
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from nearfar.contention.co_runner import start_load, start_spinner
from nearfar.documents import DeviceProfile
from nearfar.documents.processor import cpu_model
from nearfar.documents.validation import KernelResult, Session
from nearfar.measure.settings import Progress
from nearfar.memories import topology
from nearfar.predict.calibration import memory_tier
from nearfar.validate.core_pairing import CorePairings
from nearfar.validate.curves import MemoryCurves
from nearfar.validate.prepared import Prepared, preparing
from nearfar.validate.session_plan import KeepResult, SessionCoRunners, SessionPlan, SessionState
from nearfar.validate.timing import TimingLoop
from nearfar.version import built_from

FIRST_ROUNDS = 3
"""Rounds of curves before the first kernel: they show the size of the cache to simulate."""

MAX_FIRST_ROUNDS = 12
"""Maximum number of these rounds if the cores move."""

DISTURBED = (
    "other work kept the CPUs busy, so their core pairing could not be probed, and samples of "
    "shared and separate caches are mixed: run nothing else on this machine"
)

Work = Callable[[], KernelResult | None]
"""Times and predicts one kernel or program; None: too few samples of one core pairing."""


def run(
    plan: SessionPlan,
    machine: topology.Topology,
    keep: KeepResult,
    progress: Progress,
    prepared: Prepared | None = None,
) -> SessionState:
    """Run one session; Ctrl-C ends it early and keeps its results, if there are any.

    `prepared` holds the kernels, programs and profiles of earlier sessions. Raises NearfarError for
    a memory, kernel or program that fails.
    """
    clock = _Clock(plan, progress)
    with contextlib.ExitStack() as stack:
        files = prepared or stack.enter_context(preparing())
        files.build(plan, clock.step)
        launcher = next(iter(files.kernels.values())).plain
        clock.next()
        clock.step("allocating both memories", 0.0)
        pairings = stack.enter_context(plan.open_pairings(machine.cpus, launcher))
        near, far, co_runners = _open_memories(plan, machine, pairings, launcher, stack)
        warnings: list[str] = []
        first = _first_curves(near, far, clock, warnings)
        clock.next()
        llc_bytes = near.llc_bytes(first) or near.opened.llc_bytes
        llc_bytes = files.profile(plan, llc_bytes, clock.step)
        clock.next()
        session = _session(plan, far.device("far", first), llc_bytes)
        state = SessionState(session, near, far, first, warnings=warnings)
        loop = TimingLoop(plan, machine, state, co_runners, clock.step, launcher)
        try:
            _time_all(_timing_tasks(loop, files), state, keep, clock)
        except KeyboardInterrupt:
            if not state.results:
                raise
            state.interrupted = True
        if pairings.disturbed:
            state.warnings.append(DISTURBED)
    return state


def _open_memories(
    plan: SessionPlan,
    machine: topology.Topology,
    pairings: CorePairings,
    launcher: Path,
    stack: contextlib.ExitStack,
) -> tuple[MemoryCurves, MemoryCurves, SessionCoRunners]:
    """Allocate near and far memory, and start the co-runners on the other CPU."""
    # A load leaves one core to measure far memory with, so near memory is measured with one too.
    alone = plan.far.spec.load != "none"
    near = MemoryCurves.open(plan.near.spec, plan.region_bytes, pairings, alone=alone)
    far = MemoryCurves.open_far(plan.far.spec, plan.near.spec, plan.region_bytes, pairings)
    co_runners = stack.enter_context(_co_runners(plan, machine, launcher, far))
    far.set_co_runner(co_runners.load)
    if alone:
        near.set_co_runner(co_runners.spinner)
    return near, far, co_runners


def _timing_tasks(loop: TimingLoop, files: Prepared) -> list[tuple[str, Work]]:
    works: list[tuple[str, Work]] = [
        (kernel.name, partial(loop.kernel, kernel, files.profiles[kernel.name]))
        for kernel in files.kernels.values()
    ]
    works += [
        (program.name, partial(loop.program, program, files.profiles[program.name]))
        for program in files.programs
    ]
    return works


def _time_all(
    works: Sequence[tuple[str, Work]], state: SessionState, keep: KeepResult, clock: _Clock
) -> None:
    """Time all kernels and programs; at the end, repeat those that moving cores spoiled."""
    spoiled = []
    for name, work in works:
        result = work()
        if result is None:
            spoiled.append((name, work))
        else:
            keep(state.session, result)
        clock.next()
    for name, work in spoiled:
        result = work()
        if result is not None:
            keep(state.session, result)
            continue
        state.warnings.append(
            f"{name} is left out: while it was measured, the hypervisor moved the cores or other "
            "work kept them busy too often"
        )


def _first_curves(near: MemoryCurves, far: MemoryCurves, clock: _Clock, warnings: list[str]) -> int:
    """Sample curves until those of a core pairing are complete; return this pairing."""
    pairings = near.pairings
    for number in range(MAX_FIRST_ROUNDS):
        near.sample_round()
        far.sample_round()
        clock.step("measuring both memories", min((number + 1) / FIRST_ROUNDS, 1.0))
        if number + 1 < FIRST_ROUNDS:
            continue
        # Sampling the few missing points of a pairing is quicker than another round.
        for pairing in sorted(near.seen_pairings(), key=far.count, reverse=True):
            if pairings.matches(pairing) and near.complete(pairing) and far.complete(pairing):
                return pairing
    warnings.append(
        f"the hypervisor moved this machine's cores so often (a line took {pairings.describe()} "
        f"between them) that no core pairing has complete device curves after {MAX_FIRST_ROUNDS} "
        "rounds: samples of shared and separate caches are mixed, and errors are larger for it"
    )
    pairings.stop_probing()
    for curves in (near, far):
        curves.forget()
        for _ in range(FIRST_ROUNDS):
            curves.sample_round()
    return 0


@contextlib.contextmanager
def _co_runners(
    plan: SessionPlan, machine: topology.Topology, launcher: Path, far: MemoryCurves
) -> Iterator[SessionCoRunners]:
    """Yield the processes that run on the other CPU while near and far data are used."""
    if len(machine.cpus) < 2:
        yield SessionCoRunners()
        return
    cpu = machine.cpus[-1]
    with contextlib.ExitStack() as stack:
        spinner = start_spinner(launcher, cpu)
        stack.callback(spinner.end)
        load = None
        if plan.far.spec.load != "none":
            load = start_load(plan.far, cpu, far.plan.facts.buffer_bytes)
            stack.callback(load.end)
        yield SessionCoRunners(spinner, load)


def _session(plan: SessionPlan, far: DeviceProfile, llc_bytes: int) -> Session:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    return Session(
        id=f"{now} {platform.node()}",
        time_utc=now,
        host=platform.node(),
        cpu_model=cpu_model(),
        near=str(plan.near.spec),
        far=str(plan.far.spec),
        tier=memory_tier(far),
        llc_bytes=llc_bytes,
        region_bytes=plan.region_bytes,
        rounds=plan.effort.rounds,
        predicted_by=built_from(),
    )


class _Clock:
    """Progress over steps of different lengths, in rough seconds."""

    def __init__(self, plan: SessionPlan, progress: Progress) -> None:
        effort, kernels, programs = plan.effort, len(plan.kernels), len(plan.programs)
        # Measured on a server core of 2023: a round of both curves takes 1.5 s, of a kernel 0.4 s.
        each = 2.0 + 0.4 * effort.rounds + 1.5 * effort.curve_rounds
        self._lengths = [0.5 * kernels, 5.0 + 3.0 * FIRST_ROUNDS]
        self._lengths += [(3.0 + effort.profile_runs) * kernels + 10.0 * programs]
        self._lengths += [each] * kernels + [3.0 * each] * programs
        self._progress, self._at = progress, 0

    def step(self, what: str, share: float) -> None:
        """Report how much of the present step is done."""
        before = sum(self._lengths[: self._at])
        length = self._lengths[self._at] if self._at < len(self._lengths) else 0.0
        self._progress(what, (before + share * length) / sum(self._lengths))

    def next(self) -> None:
        """Begin the next step."""
        self._at += 1
