"""One session: all kernels and programs in near and far memory, device curves in between."""

from __future__ import annotations

import contextlib
import datetime
import platform
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.documents import WorkloadProfile
from nearfar.documents.header import cpu_model
from nearfar.documents.validation import Inputs, KernelResult, Session
from nearfar.measure import topology
from nearfar.measure.settings import Progress
from nearfar.measure.spec import PAGE_BYTES
from nearfar.predict.calibration import tier_of
from nearfar.validate import whole_program
from nearfar.validate.companion import Companion, at_work, contending, spinning
from nearfar.validate.curves import Curves
from nearfar.validate.interleave import Halves, Timed
from nearfar.validate.kernel import PHASE, Kernel, build, profile, profiles
from nearfar.validate.place import Place
from nearfar.validate.predicting import misses_of, slowdowns, with_near_time
from nearfar.validate.running import Running

FIRST_CURVES = 3
"""Rounds of curves before the first kernel: they say how much cache a profile is to simulate."""

HUGE_ENOUGH = 0.9
"""Share of huge pages near below which near curves are not of the program's pages."""


@dataclass(frozen=True)
class Effort:
    """How much is done; what takes longer is surer."""

    rounds: int
    """Of each kernel; four samples each."""
    curve_rounds: int
    """Of device curves, spread over a kernel's rounds."""
    profile_runs: int
    """Runs that a kernel's profile counts: sampled misses, so more are surer."""
    program_rounds: int


QUICK = Effort(rounds=5, curve_rounds=1, profile_runs=2, program_rounds=2)
"""About two minutes; with one round of curves a kernel, those of its neighbours count too."""

FULL = Effort(rounds=15, curve_rounds=4, profile_runs=4, program_rounds=5)
"""About ten minutes: the curves of a kernel's own minute outnumber those before."""


@dataclass(frozen=True)
class Wanted:
    """What a session is to do."""

    near: Place
    far: Place
    kernels: tuple[str, ...]
    programs: tuple[tuple[str, ...], ...]
    region_bytes: int
    effort: Effort


@dataclass
class Found:
    """What a session found so far; kept when it is interrupted."""

    session: Session
    near: Curves
    far: Curves
    results: list[KernelResult] = field(default_factory=list)
    lacking: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    interrupted: bool = False


Keep = Callable[[Session, KernelResult], None]
"""Told of each result as soon as it is there."""


def run(wanted: Wanted, machine: topology.Topology, keep: Keep, progress: Progress) -> Found:
    """Do one session; Ctrl-C ends it early with what it has, if it has anything.

    Raises NearfarError for a memory, kernel or program that fails.
    """
    clock = _Clock(wanted, progress)
    with contextlib.ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="nearfar-validate-"))
        folder = Path(name)
        programs = _programs(wanted, folder)
        kernels = build(wanted.kernels, folder, lambda share: clock.step("building kernels", share))
        launcher = next(iter(kernels.values())).plain
        clock.next()
        clock.step("taking both memories", 0.0)
        near = Curves.open(wanted.near.spec, wanted.region_bytes)
        far = Curves.open(wanted.far.spec, wanted.region_bytes)
        beside = stack.enter_context(_companions(wanted, machine, launcher, far))
        far.beside = beside.contender
        for number in range(FIRST_CURVES):
            near.sample_round()
            far.sample_round()
            clock.step("measuring both memories", (number + 1) / FIRST_CURVES)
        clock.next()
        llc_bytes = near.llc_bytes() or near.opened.llc_bytes
        found = Found(_session(wanted, near, far, llc_bytes), near, far)
        of_programs = {}
        for number, program in enumerate(programs):
            clock.step(f"profiling {program.name}", 0.0)
            output = folder / f"program-{number}.json"
            of_programs[program.name] = profile(program.command, output, llc_bytes)
            clock.next()
        made = profiles(
            list(kernels.values()),
            folder,
            region_bytes=wanted.region_bytes,
            runs=wanted.effort.profile_runs,
            llc_bytes=llc_bytes,
            tell=lambda share: clock.step("profiling kernels", share),
        )
        clock.next()
        loop = _Loop(wanted, machine, found, beside, clock, launcher)
        try:
            for kernel in kernels.values():
                keep(found.session, loop.kernel(kernel, made[kernel.name]))
                clock.next()
            for program in programs:
                keep(found.session, loop.program(program, of_programs[program.name]))
                clock.next()
        except KeyboardInterrupt:
            if not found.results:
                raise
            found.interrupted = True
    return found


def _programs(wanted: Wanted, folder: Path) -> list[whole_program.Program]:
    if wanted.programs:
        whole_program.check_placeable(wanted.near)
        whole_program.check_placeable(wanted.far)
    return [whole_program.prepare(command, folder) for command in wanted.programs]


@dataclass(frozen=True)
class _Companions:
    """What runs on the other core, if there is one."""

    spinner: Companion | None = None
    contender: Companion | None = None
    """Of a far memory with a load."""

    @property
    def far(self) -> Companion | None:
        return self.contender or self.spinner


@contextlib.contextmanager
def _companions(
    wanted: Wanted, machine: topology.Topology, launcher: Path, far: Curves
) -> Iterator[_Companions]:
    """Yield what runs on another core beside near and beside far data."""
    if len(machine.cpus) < 2:
        yield _Companions()
        return
    cpu = machine.cpus[-1]
    with contextlib.ExitStack() as stack:
        spinner = spinning(launcher, cpu)
        stack.callback(spinner.end)
        contender = None
        if wanted.far.spec.load != "none":
            contender = contending(wanted.far, cpu, far.plan.facts.buffer_bytes)
            stack.callback(contender.end)
        yield _Companions(spinner, contender)


@dataclass
class _Loop:
    wanted: Wanted
    machine: topology.Topology
    found: Found
    beside: _Companions
    clock: _Clock
    launcher: Path

    def kernel(self, kernel: Kernel, workload: WorkloadProfile) -> KernelResult:
        """Time one kernel in both memories and predict it."""
        cpu, region = self.machine.cpus[0], self.wanted.region_bytes
        started: list[Running] = []
        halves = Halves()
        try:
            for place in (self.wanted.near, self.wanted.far):
                started.append(Running(kernel, place, region, cpu))
            shares = [one.ready() for one in started]

            def near() -> Timed:
                with at_work(self.beside.spinner):
                    return started[0].run()

            def far() -> Timed:
                with at_work(self.beside.far):
                    return started[1].run()

            self._rounds(kernel.name, halves, near, far, self.wanted.effort.rounds)
        finally:
            for one in started:
                one.end()
        return self._result(
            kernel.name, workload, halves, shares, phase=PHASE, runs=self.wanted.effort.profile_runs
        )

    def program(self, program: whole_program.Program, workload: WorkloadProfile) -> KernelResult:
        """Time a whole program in both memories and predict it."""
        cpu = self.machine.cpus[0]
        shares = [0.0, 0.0]
        halves = Halves()

        def timed(index: int, place: Place, companion: Companion | None) -> Timed:
            with at_work(companion):
                done = whole_program.run(program, place, cpu, self.launcher)
            shares[index] = max(shares[index], done.huge_share)
            return Timed(done.ns)

        self._rounds(
            program.name,
            halves,
            lambda: timed(0, self.wanted.near, self.beside.spinner),
            lambda: timed(1, self.wanted.far, self.beside.far),
            self.wanted.effort.program_rounds,
        )
        return self._result(program.name, workload, halves, shares, phase=None, runs=1)

    def _rounds(
        self,
        name: str,
        halves: Halves,
        near: Callable[[], Timed],
        far: Callable[[], Timed],
        rounds: int,
    ) -> None:
        """Take all rounds, with rounds of curves spread evenly among them, one at the end."""
        curves = min(self.wanted.effort.curve_rounds, rounds)
        for number in range(rounds):
            halves.take_round(near, far)
            if (number + 1) * curves // rounds > number * curves // rounds:
                self.found.near.sample_round()
                self.found.far.sample_round()
            self.clock.step(f"measuring {name}", (number + 1) / rounds)

    def _result(
        self,
        name: str,
        workload: WorkloadProfile,
        halves: Halves,
        shares: Sequence[float],
        *,
        phase: str | None,
        runs: int,
    ) -> KernelResult:
        near_ns = halves.near_ns()
        inputs = Inputs(
            workload=with_near_time(workload, near_ns, phase, runs),
            near=self.found.near.device("near"),
            far=self.found.far.device("far"),
            page_bytes=PAGE_BYTES[self.wanted.near.spec.pages or "4k"],
            phases=[] if phase is None else [phase],
        )
        models, lacking, bound = slowdowns(inputs)
        self.found.lacking.update(lacking)
        if self.wanted.near.spec.pages == "thp" and shares[0] < HUGE_ENOUGH:
            self.found.warnings.append(
                f"huge pages held {shares[0]:.0%} of what {name} had near: its misses there wait "
                "for page walks that the near curves do not have"
            )
        result = KernelResult(
            session=self.found.session.id,
            name=name,
            what="program" if phase is None else "kernel",
            near_ns=near_ns,
            far_ns=halves.far_ns(),
            slowdown=halves.slowdown(),
            a_a=halves.a_a(),
            misses=misses_of(workload, phase) / runs,
            huge_share_near=shares[0],
            huge_share_far=shares[1],
            near_samples_ns=[one.ns for one in halves.near],
            far_samples_ns=[one.ns for one in halves.far],
            models=models,
            lacking=lacking,
            bound=bound,
            inputs=inputs,
        )
        self.found.results.append(result)
        return result


def _session(wanted: Wanted, near: Curves, far: Curves, llc_bytes: int) -> Session:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    return Session(
        id=f"{now} {platform.node()}",
        time_utc=now,
        host=platform.node(),
        cpu_model=cpu_model(),
        near=str(near.spec),
        far=str(far.spec),
        tier=tier_of(far.device("far")),
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
        self._lengths = [0.5 * count, 5.0 + 1.5 * FIRST_CURVES, *[each] * programs]
        self._lengths += [(1.0 + effort.profile_runs) * count]
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
