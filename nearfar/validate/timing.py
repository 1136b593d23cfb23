"""Time one kernel or program at a time in both memories, with curves in between, and predict it."""

from __future__ import annotations

import os
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.contention.co_runner import CoRunner, working
from nearfar.contention.program_memory import ProgramMemory
from nearfar.documents import WorkloadProfile
from nearfar.documents.validation import Inputs, KernelResult
from nearfar.memories import topology
from nearfar.memories.spec import PAGE_BYTES
from nearfar.validate import whole_program
from nearfar.validate.core_pairing import CorePairings
from nearfar.validate.interleave import RoundHalves, TimedRun, undisturbed_ns
from nearfar.validate.kernel import PHASE, Kernel
from nearfar.validate.predictions import misses_of, slowdowns, with_near_time
from nearfar.validate.session_plan import SessionCoRunners, SessionPlan, SessionState

MIN_HUGE_SHARE = 0.9
"""Share of near data in huge pages below which near curves do not apply to the program's pages."""

MAX_ROUNDS_RATIO = 2
"""Maximum number of rounds over the requested number, if the cores move."""

OwnRead = Literal["near_own_ns", "far_own_ns", "near_own_independent_ns", "far_own_independent_ns"]
"""A field of `Inputs`: a time of reads of a kernel's own data."""

ReadKind = Literal["dependent", "independent"]

OWN_READS: Mapping[OwnRead, tuple[int, ReadKind]] = {
    "near_own_ns": (0, "dependent"),
    "far_own_ns": (1, "dependent"),
    "near_own_independent_ns": (0, "independent"),
    "far_own_independent_ns": (1, "independent"),
}
"""Memory (near 0, far 1) and kind of each read."""

READS_PER_ROUND = 2
"""Reads of a kernel's data in each round: the difference between near and far is small."""

MAX_STARTS = 3
"""Maximum number of starts of a program for one sample, if moving cores spoil runs."""


@dataclass(frozen=True)
class _Samples:
    """The samples of one kernel or program."""

    halves: RoundHalves
    pairing: int
    huge_shares: Sequence[float]
    """Shares of huge pages, near and far."""
    reads: Mapping[OwnRead, Sequence[TimedRun]] = field(default_factory=dict)
    """Reads of a kernel's data."""

    def read_ns(self, read: OwnRead) -> float | None:
        """Return the median time of a read; None: not measured."""
        runs = self.reads.get(read, ())
        reads = undisturbed_ns([run for run in runs if run.pairing == self.pairing])
        return statistics.median(reads) if reads else None


@dataclass
class TimingLoop:
    """Times the kernels and programs of a session."""

    plan: SessionPlan
    machine: topology.Topology
    state: SessionState
    co_runners: SessionCoRunners
    tell: Callable[[str, float], None]
    launcher: Path

    @property
    def _pairings(self) -> CorePairings:
        return self.state.near.pairings

    def kernel(self, kernel: Kernel, workload: WorkloadProfile) -> KernelResult | None:
        """Time a kernel in both memories and predict it; None: too few samples of one pairing."""
        cpu, effort = self.machine.cpus[0], self.plan.effort
        co_runners = (self.co_runners.spinner, self.co_runners.far)
        processes: list[KernelProcess] = []
        halves = RoundHalves()
        reads: dict[OwnRead, list[TimedRun]] = {read: [] for read in OWN_READS}
        try:
            for memory in (self.plan.near, self.plan.far):
                processes.append(KernelProcess(kernel, memory, self.plan.region_bytes, cpu))
            shares = [process.wait_until_ready() for process in processes]

            def read_data() -> None:
                for _ in range(READS_PER_ROUND):
                    for read, (memory, kind) in OWN_READS.items():
                        take = partial(processes[memory].read_data, kind)
                        reads[read].append(self._timed(take, co_runners[memory]))

            pairing = self._rounds(
                kernel.name,
                halves,
                lambda: self._timed(processes[0].run, co_runners[0]),
                lambda: self._timed(processes[1].run, co_runners[1]),
                rounds=effort.rounds,
                each_round=read_data,
            )
        finally:
            for process in processes:
                process.end()
        if pairing is None:
            return None
        samples = _Samples(halves, pairing, shares, reads)
        return self._result(kernel.name, workload, samples, phase=PHASE, runs=effort.profile_runs)

    def program(
        self, program: whole_program.WholeProgram, workload: WorkloadProfile
    ) -> KernelResult | None:
        """Time a program in both memories and predict it; None: too few samples of one pairing."""
        shares = [0.0, 0.0]
        halves = RoundHalves()

        def timed(index: int, memory: ProgramMemory, co_runner: CoRunner | None) -> TimedRun:
            for _ in range(MAX_STARTS):
                run, pairing = whole_program.run(
                    program,
                    memory,
                    self.machine.cpus[0],
                    self.launcher,
                    co_runner=co_runner,
                    pairings=self._pairings,
                )
                if run is not None:
                    shares[index] = max(shares[index], run.huge_share)
                    return TimedRun(run.ns, pairing=pairing)
            return TimedRun(0.0, pairing=None)

        pairing = self._rounds(
            program.name,
            halves,
            lambda: timed(0, self.plan.near, self.co_runners.spinner),
            lambda: timed(1, self.plan.far, self.co_runners.far),
            rounds=self.plan.effort.program_rounds,
        )
        if pairing is None:
            return None
        samples = _Samples(halves, pairing, shares)
        return self._result(program.name, workload, samples, phase=None, runs=1)

    def _timed(self, time: Callable[[], TimedRun], co_runner: CoRunner | None) -> TimedRun:
        def take() -> TimedRun:
            with working(co_runner):
                return time()

        run, pairing = self._pairings.during(take)
        return TimedRun(run.ns, run.disturbed, pairing)

    def _rounds(
        self,
        name: str,
        halves: RoundHalves,
        near: Callable[[], TimedRun],
        far: Callable[[], TimedRun],
        *,
        rounds: int,
        each_round: Callable[[], None] = lambda: None,
    ) -> int | None:
        """Take all rounds and sample curves between them; continue until a pairing has enough.

        Returns the pairing with enough samples of both memories, else the pairing with most
        samples; None: no pairing has complete curves.
        """
        parts = max(rounds // min(self.plan.effort.curve_rounds, rounds), 1)
        for number in range(MAX_ROUNDS_RATIO * rounds):
            halves.take_round(near, far)
            each_round()
            for curves in (self.state.near, self.state.far):
                curves.sample_share(number % parts + 1, parts)
            self.tell(f"measuring {name}", min((number + 1) / rounds, 1.0))
            # Enough are half of the far samples that `rounds` rounds take.
            enough = [p for p in self._matching(halves) if halves.count(p) >= rounds]
            if number + 1 >= rounds and enough and self._complete(enough[0]):
                return enough[0]
        return next((p for p in self._matching(halves) if self._complete(p)), None)

    def _matching(self, halves: RoundHalves) -> list[int]:
        return [pairing for pairing in halves.pairings() if self._pairings.matches(pairing)]

    def _complete(self, pairing: int) -> bool:
        return all(curves.complete(pairing) for curves in (self.state.near, self.state.far))

    def _result(
        self,
        name: str,
        workload: WorkloadProfile,
        samples: _Samples,
        *,
        phase: str | None,
        runs: int,
    ) -> KernelResult:
        halves, pairing, shares = samples.halves, samples.pairing, samples.huge_shares
        pairs = halves.pairs(pairing)
        near_ns = pairs.near_ns()
        near_spec, far_spec = self.plan.near.spec, self.plan.far.spec
        inputs = Inputs(
            workload=with_near_time(workload, near_ns, phase, runs),
            near=self.state.near.device("near", pairing),
            far=self.state.far.device("far", pairing),
            page_bytes=PAGE_BYTES[near_spec.pages or "4k"],
            phases=[] if phase is None else [phase],
            far_page_bytes=PAGE_BYTES[far_spec.pages or "4k"],
            **{
                read: samples.read_ns(read) if phase else kernels_read_ns(self.state.results, read)
                for read in OWN_READS
            },
        )
        models, lacking, bound = slowdowns(inputs)
        self.state.pairing = pairing
        self.state.lacking.update(lacking)
        if near_spec.pages == "thp" and shares[0] < MIN_HUGE_SHARE:
            self.state.warnings.append(
                f"only {shares[0]:.0%} of {name}'s near data was in huge pages: its near misses "
                "wait for page walks, which the near curves do not have"
            )
        result = KernelResult(
            session=self.state.session.id,
            name=name,
            what="program" if phase is None else "kernel",
            near_ns=near_ns,
            far_ns=pairs.far_ns(),
            slowdown=pairs.slowdown(),
            a_a=pairs.a_a(),
            misses=misses_of(workload, phase) / runs,
            huge_share_near=shares[0],
            huge_share_far=shares[1],
            hand_off_ns=self._pairings.transfer_ns(pairing),
            left_out=len(halves.far) - halves.count(pairing),
            near_samples_ns=[run.ns for run in pairs.near()],
            far_samples_ns=[run.ns for run in pairs.far()],
            models=models,
            lacking=lacking,
            bound=bound,
            inputs=inputs,
        )
        self.state.results.append(result)
        return result


def kernels_read_ns(results: Sequence[KernelResult], read: OwnRead) -> float | None:
    """Return the median time of a read of the kernels' data; None: not measured.

    A program allocates its data when it starts, as kernels do. The pages that the curves use for
    the whole session may lie farther apart.
    """
    inputs = [result.inputs for result in results if result.what == "kernel" and result.inputs]
    reads = [ns for each in inputs if (ns := getattr(each, read)) is not None]
    return statistics.median(reads) if reads else None


class KernelProcess:
    """A kernel that prepares its data on any CPU, at the same time as others, and runs on `cpu`."""

    def __init__(self, kernel: Kernel, memory: ProgramMemory, region_bytes: int, cpu: int) -> None:
        self._name, self._memory, self._cpu = kernel.name, memory, cpu
        self._process = subprocess.Popen(
            [str(kernel.plain), str(region_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
            env={**os.environ, "NEARFAR_VALIDATE_MEMORY": memory.words()},
        )

    def wait_until_ready(self) -> float:
        """Return the share of its memory in 2 MiB pages, once the data are prepared."""
        huge, present = self._answer("ready")
        os.sched_setaffinity(self._process.pid, {self._cpu})
        return min(huge / present, 1.0) if present else 0.0

    def run(self) -> TimedRun:
        """Return the CPU time of one run, and whether other work used its core in between."""
        return self._timed("run")

    def read_data(self, kind: ReadKind) -> TimedRun:
        """Return the CPU time per random read of all its data, `dependent` or `independent`."""
        return self._timed(kind)

    def _timed(self, word: Literal["run"] | ReadKind) -> TimedRun:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{word}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # _answer reports why it ended
        ns, switches = self._answer("ns")
        return TimedRun(ns, switches > 0)

    def end(self) -> None:
        """Kill the kernel's process."""
        self._process.kill()
        self._process.communicate()

    def _answer(self, word: str) -> tuple[float, float]:
        assert self._process.stdout is not None
        words = self._process.stdout.readline().split()
        if len(words) == 3 and words[0] == word:
            return float(words[1]), float(words[2])
        _, errors = self._process.communicate()
        code = self._process.returncode
        reason = (errors.strip().splitlines() or [f"it ended with {code}"])[-1]
        raise NearfarError(
            f"kernel {self._name} failed in {self._memory.spec}: {reason}",
            ExitCode.MACHINE_LACKS if code == 3 else ExitCode.PROGRAM_FAILED,
        )
