"""One kernel or program at a time: timed in both memories, curves in between, then predicted."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.contention.companion import Companion, working
from nearfar.contention.program_memory import ProgramMemory
from nearfar.documents import WorkloadProfile
from nearfar.documents.validation import Inputs, KernelResult
from nearfar.measure import topology
from nearfar.measure.spec import PAGE_BYTES
from nearfar.validate import whole_program
from nearfar.validate.interleave import Halves, Timed, calm
from nearfar.validate.kernel import PHASE, Kernel
from nearfar.validate.placement import Placement
from nearfar.validate.predicting import misses_of, slowdowns, with_near_time
from nearfar.validate.running import Running
from nearfar.validate.wanted import Companions, Found, Wanted

HUGE_ENOUGH = 0.9
"""Share of huge pages near below which near curves are not of the program's pages."""

MOST_TIMES = 2
"""So many times the rounds that are asked for are taken where the cores move."""

OWN_READS = 2
"""A round, of a kernel's own data: what lies between near's and far's is small, and counts."""

MOST_STARTS = 3
"""Of a program's run that the cores' moves spoil."""


@dataclass
class Loop:
    """What all things timed in a session share."""

    wanted: Wanted
    machine: topology.Topology
    found: Found
    beside: Companions
    tell: Callable[[str, float], None]
    launcher: Path

    @property
    def _placement(self) -> Placement:
        return self.found.near.placement

    def kernel(self, kernel: Kernel, workload: WorkloadProfile) -> KernelResult | None:
        """Time one kernel in both memories and predict it; None: the cores moved too often, or
        other work kept them busy."""
        cpu, region = self.machine.cpus[0], self.wanted.region_bytes
        started: list[Running] = []
        halves = Halves()
        try:
            for place in (self.wanted.near, self.wanted.far):
                started.append(Running(kernel, place, region, cpu))
            shares = [one.ready() for one in started]

            def timed(time: Callable[[], Timed], companion: Companion | None) -> Timed:
                def take() -> Timed:
                    with working(companion):
                        return time()

                found, placement = self._placement.during(take)
                return Timed(found.ns, found.disturbed, placement)

            own: tuple[list[Timed], list[Timed]] = ([], [])

            def memories() -> None:
                companions = (self.beside.spinner, self.beside.far)
                for kept, one, companion in OWN_READS * list(
                    zip(own, started, companions, strict=True)
                ):
                    kept.append(timed(one.memory, companion))

            placement = self._rounds(
                kernel.name,
                halves,
                lambda: timed(started[0].run, self.beside.spinner),
                lambda: timed(started[1].run, self.beside.far),
                rounds=self.wanted.effort.rounds,
                beside=memories,
            )
        finally:
            for one in started:
                one.end()
        if placement is None:
            return None
        return self._result(
            kernel.name,
            workload,
            halves,
            placement,
            shares,
            phase=PHASE,
            runs=self.wanted.effort.profile_runs,
            own=own,
        )

    def program(
        self, program: whole_program.Program, workload: WorkloadProfile
    ) -> KernelResult | None:
        """Time a whole program in both memories and predict it; None: the cores moved too often, or
        other work kept them busy."""
        shares = [0.0, 0.0]
        halves = Halves()

        def timed(index: int, place: ProgramMemory, companion: Companion | None) -> Timed:
            for _ in range(MOST_STARTS):
                done, placement = whole_program.run(
                    program,
                    place,
                    self.machine.cpus[0],
                    self.launcher,
                    companion=companion,
                    placement=self._placement,
                )
                if done is not None:
                    shares[index] = max(shares[index], done.huge_share)
                    return Timed(done.ns, placement=placement)
            return Timed(0.0, placement=None)

        placement = self._rounds(
            program.name,
            halves,
            lambda: timed(0, self.wanted.near, self.beside.spinner),
            lambda: timed(1, self.wanted.far, self.beside.far),
            rounds=self.wanted.effort.program_rounds,
        )
        if placement is None:
            return None
        return self._result(program.name, workload, halves, placement, shares, phase=None, runs=1)

    def _rounds(
        self,
        name: str,
        halves: Halves,
        near: Callable[[], Timed],
        far: Callable[[], Timed],
        *,
        rounds: int,
        beside: Callable[[], None] = lambda: None,
    ) -> int | None:
        """Take all rounds, curves spread among them, and more until one placement has enough.

        `beside` is done once a round. Returns the placement with enough of both, else that with
        most; None: there is none.
        """
        parts = max(rounds // min(self.wanted.effort.curve_rounds, rounds), 1)
        for number in range(MOST_TIMES * rounds):
            halves.take_round(near, far)
            beside()
            for curves in (self.found.near, self.found.far):
                curves.sample_share(number % parts + 1, parts)
            self.tell(f"measuring {name}", min((number + 1) / rounds, 1.0))
            # Half of what would be there had the cores stayed.
            enough = [one for one in halves.placements() if halves.count(one) >= rounds]
            if number + 1 >= rounds and enough and self._known(enough[0]):
                return enough[0]
        return next((one for one in halves.placements() if self._known(one)), None)

    def _known(self, placement: int) -> bool:
        """Say whether both memories' curves are known of a placement."""
        return all(curves.known(placement) for curves in (self.found.near, self.found.far))

    def _result(
        self,
        name: str,
        workload: WorkloadProfile,
        halves: Halves,
        placement: int,
        shares: Sequence[float],
        *,
        phase: str | None,
        runs: int,
        own: Sequence[Sequence[Timed]] = ((), ()),
    ) -> KernelResult:
        pairs = halves.of(placement)
        near_ns = pairs.near_ns()
        near_own, far_own = (
            calm([one for one in each if one.placement == placement]) for each in own
        )
        inputs = Inputs(
            workload=with_near_time(workload, near_ns, phase, runs),
            near=self.found.near.device("near", placement),
            far=self.found.far.device("far", placement),
            page_bytes=PAGE_BYTES[self.wanted.near.spec.pages or "4k"],
            phases=[] if phase is None else [phase],
            far_page_bytes=PAGE_BYTES[self.wanted.far.spec.pages or "4k"],
            far_own_ns=statistics.median(far_own) if far_own else None,
            near_own_ns=statistics.median(near_own) if near_own else None,
        )
        models, lacking, bound = slowdowns(inputs)
        self.found.placement = placement
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
            far_ns=pairs.far_ns(),
            slowdown=pairs.slowdown(),
            a_a=pairs.a_a(),
            misses=misses_of(workload, phase) / runs,
            huge_share_near=shares[0],
            huge_share_far=shares[1],
            hand_off_ns=self._placement.hand_off_ns(placement),
            left_out=len(halves.far) - halves.count(placement),
            near_samples_ns=[one.ns for one in pairs.near()],
            far_samples_ns=[one.ns for one in pairs.far()],
            models=models,
            lacking=lacking,
            bound=bound,
            inputs=inputs,
        )
        self.found.results.append(result)
        return result
