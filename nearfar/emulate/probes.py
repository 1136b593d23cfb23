"""The error of a mechanism: it runs a chase, chains and a stream; the far profile has the truth."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from statistics import median

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.folders import owned_folder
from nearfar.base.units import LINE_BYTES
from nearfar.documents.emulation import Probe
from nearfar.emulate.mechanism import (
    EmulationTarget,
    EmulationTimes,
    Mechanism,
    Say,
    check_ended,
)
from nearfar.emulate.near_now import UNKNOWN, NearNow, near_now
from nearfar.emulate.runs import plain_build_of, run_plain
from nearfar.native_files import include_folder
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.memory import MemoryCosts
from nearfar.profile.session import ProfileRequest
from nearfar.program.executable import Build
from nearfar.program.phases import PhaseTime

TOLERANCE = 0.10
"""Largest error of a faithful mechanism, about that of a good prediction."""

ROUNDS = 5
"""Rounds whose median counts; some five seconds each."""
MAJORITY = ROUNDS // 2 + 1
"""Rounds on one side of the tolerance that decide on which side the median of all lies."""
MAX_ROUNDS = 7
"""Rounds where near memory drifts; the `ROUNDS` steadiest count."""
MAX_DRIFT = 0.05
"""Change of near memory within a round above which the round is repeated: a round runs plain,
traced and with delays in turn, so the change would count as a cost of tracing."""

NAMES = ("chase", "chains-4", "chains-16", "stream")
LINES = 1_500_000
"""Lines of the chase: 0.1 to 0.6 s; chains touch 2 and 4 times as many, the stream 8 times."""
CACHES = 8
"""Region over last-level cache: an eighth of random lines still hits the cache then."""
MIN_REGION_BYTES = 256 << 20
"""Least region, beyond what a TLB and the caches' page tables reach, as for measured chains: in a
small region of small pages walks are cheap, and a chase takes half of what the curve says."""
HUGE_BYTES = 2 << 20
HUGE_LINES = "huge_lines"
"""The phase whose operations are the lines in huge pages."""
MIN_HUGE_SHARE = 0.95
"""Share of the region in huge pages from which remaining walks are within 1 % of a line's time."""
FEW_LINES = 16
"""Lines that are enough to see which pages the probes get."""


@dataclass(frozen=True)
class ProbeRound:
    """One run of the probes with a mechanism, between two plain runs."""

    times: EmulationTimes
    before: Mapping[str, float]
    """ns per line of each probe, plain."""
    after: Mapping[str, float]

    @property
    def drift(self) -> float:
        """The largest relative change of a probe's time between the plain runs."""
        return max(abs(self.after[name] / ns - 1.0) for name, ns in self.before.items())


@dataclass(frozen=True)
class ProbeResults:
    """Probes of a mechanism, the slow motion that they needed, and near memory's state."""

    probes: list[Probe]
    slow_motion: float = 1.0
    now: NearNow = UNKNOWN
    drift: float = 0.0
    """The largest change of near memory within a round."""

    @property
    def error(self) -> float:
        """The largest error of a probe, as a share."""
        return worst(self.probes)

    def caveats(self) -> list[str]:
        """Return caveats if near memory differs from its profile or drifted."""
        if self.drift <= MAX_DRIFT:
            return self.now.caveats()
        return [
            *self.now.caveats(),
            f"near memory drifted by {self.drift:.0%} within a round of probes, and the steadiest "
            f"of {MAX_ROUNDS} rounds count: the errors printed include this drift",
        ]


def steadiest(
    run_round: Callable[[float], ProbeRound],
    slow_motion: float,
    decided: Callable[[Sequence[ProbeRound]], bool] = lambda _: False,
) -> list[ProbeRound]:
    """Run rounds until `ROUNDS` of them have little drift or the limit is reached.

    Stop earlier if the rounds with little drift are `decided`. Return the `ROUNDS` rounds with the
    least drift, which depends on plain runs only, never on a round's error. Each round starts with
    the slow motion that the last round needed.
    """
    rounds: list[ProbeRound] = []
    steady: list[ProbeRound] = []
    while len(steady) < ROUNDS and len(rounds) < MAX_ROUNDS:
        rounds.append(run_round(rounds[-1].times.slow_motion if rounds else slow_motion))
        steady = [probed for probed in rounds if probed.drift <= MAX_DRIFT]
        if decided(steady):
            return steady
    return sorted(rounds, key=lambda probed: probed.drift)[:ROUNDS]


def is_decided(errors: Sequence[Mapping[str, float]]) -> bool:
    """Return whether further rounds cannot change the verdict; `errors` are those of each round.

    Of each probe, most of `ROUNDS` rounds are within the tolerance, or of one probe, most are
    beyond it on the same side: the median of `ROUNDS` rounds is there too.
    """

    def most(holds: Callable[[float], bool], name: str) -> bool:
        return sum(holds(each[name]) for each in errors) >= MAJORITY

    return all(most(lambda error: abs(error) <= TOLERANCE, name) for name in NAMES) or any(
        most(lambda error: error > TOLERANCE, name) or most(lambda error: error < -TOLERANCE, name)
        for name in NAMES
    )


def progress(number: int) -> str:
    """Return the progress line of a round."""
    if number <= ROUNDS:
        return f"probes, round {number} of at most {ROUNDS}"
    return f"probes, round {number} of at most {MAX_ROUNDS}: near memory drifted in an earlier one"


def target_ns(memory: MemoryCosts, name: str) -> float:
    """Return ns per line of a probe in `memory`, from the memory's profile."""
    if name == "stream":
        return memory.core_stream_ns
    return memory.cost_ns(float(name.removeprefix("chains-")) if name != "chase" else 1.0)


def in_huge_pages(target: EmulationTarget) -> EmulationTarget:
    """Return the target with pages of 2 MiB, if this machine gives them to programs on request.

    The cost of page walks depends on the program's pages and on the content of the caches, not on
    the far memory. Huge pages avoid page walks, so that probes test the far memory only.
    """
    near = target.near.device
    setting = near.measured.environment.get("transparent_huge_pages", "") if near.measured else ""
    if setting not in ("always", "madvise"):
        return target
    near_side = near_memory(near, HUGE_BYTES)
    return replace(target, near=near_side, far=far_memory(target.far.device, near_side))


def judge(
    mechanism: Mechanism, request: ProfileRequest, target: EmulationTarget, say: Say
) -> ProbeResults:
    """Run the probes with all data far, and return their errors against the far memory.

    The probes use huge pages if available. If tracing takes too long for a probe, the mechanism
    raises the slow motion for the following rounds. The result is the median of several rounds,
    because the memory of a shared machine varies by several percent; further rounds that cannot
    change the verdict do not run. If the mechanism slows a plain run down, a plain run comes before
    and after it, and a round in which these differ is repeated.
    """
    target = replace(target, placements=(), group_of=kernel_of)
    with owned_folder("nearfar-probes-", None) as folder:
        probe_request = _probe_request(request, _compiled(folder))
        twin = folder / "twin"
        twin.mkdir()
        plain = plain_build_of(probe_request, twin)
        if (huge := in_huge_pages(target)) is not target and _gets_huge_pages(probe_request, plain):
            target = huge
        near = target.near
        if mechanism.slows_down:
            target = replace(
                target, near_now=lambda phases: near_now(near, [_per_line(phases)]).memory(near)
            )
        numbers = count(1)

        def run_round(slow_motion: float) -> ProbeRound:
            say(progress(next(numbers)))
            slower = replace(target, slow_motion=slow_motion)
            times = mechanism.run(probe_request, slower, lambda _: None)
            check_ended(times, probe_request.job.command)
            before = after = _per_line(times.near)
            if mechanism.slows_down:
                again = run_plain(probe_request, plain)
                check_ended(again.outcome, probe_request.job.command)
                after = _per_line(again.phases)
            return ProbeRound(times, before, after)

        rounds = steadiest(
            run_round,
            target.slow_motion,
            lambda steady: is_decided([_errors(target.far, probed.times) for probed in steady]),
        )
    now = UNKNOWN
    if mechanism.slows_down:
        now = near_now(near, [run for probed in rounds for run in (probed.before, probed.after)])
    times = [probed.times for probed in rounds]
    return ProbeResults(
        _probes(target.far, times),
        max(run.slow_motion for run in times),
        now,
        max(probed.drift for probed in rounds),
    )


def _gets_huge_pages(request: ProfileRequest, plain: Build) -> bool:
    """Return whether the probes' region gets pages of 2 MiB; the machine may have none free."""
    program, region_bytes, _ = request.job.command
    command = [program, region_bytes, str(FEW_LINES)]
    few = replace(request, job=replace(request.job, command=command))
    pages = run_plain(few, plain).phases.get(HUGE_LINES, PhaseTime())
    return pages.operations * LINE_BYTES >= MIN_HUGE_SHARE * int(region_bytes)


def _probe_request(request: ProfileRequest, probes: Path) -> ProfileRequest:
    """Return `request` with the program `probes` instead of the profiled program."""
    region_bytes = max(CACHES * request.cache_bytes, MIN_REGION_BYTES)
    job = replace(
        request.job,
        command=[str(probes), str(region_bytes), str(LINES)],
        driver=None,
        duration_s=None,
        after_s=0.0,
        stdout_to_stderr=True,
    )
    return replace(request, job=job, plain=None, split_sizes=False)


def _per_line(phases: Mapping[str, PhaseTime]) -> dict[str, float]:
    """Return ns per line of each probe: the median of its phases."""
    parts: dict[str, list[float]] = {name: [] for name in NAMES}
    for name, phase in phases.items():
        if (kernel := kernel_of(name)) in parts and phase.operations:
            parts[kernel].append(phase.cpu_ns / phase.operations)
    return {name: median(values) for name, values in parts.items()}


def kernel_of(phase: str) -> str:
    """Return the name of the probe to which a phase belongs."""
    return phase.partition(".")[0]


def _errors(far: MemoryCosts, times: EmulationTimes) -> dict[str, float]:
    """Return the error of each probe in one round, as a share."""
    emulated = _per_line(times.emulated)
    return {name: emulated[name] / target_ns(far, name) - 1.0 for name in NAMES}


def _probes(far: MemoryCosts, runs: Sequence[EmulationTimes]) -> list[Probe]:
    near = [_per_line(times.near) for times in runs]
    emulated = [_per_line(times.emulated) for times in runs]
    by_run = [_errors(far, times) for times in runs]
    probes = []
    for name in NAMES:
        values = [run[name] for run in emulated]
        errors = [run[name] for run in by_run]
        probes.append(
            Probe(
                name=name,  # type: ignore[arg-type]
                near_ns=median(run[name] for run in near),
                target_ns=target_ns(far, name),
                emulated_ns=median(values),
                error=median(errors),
                error_range=(min(errors), max(errors)),
            )
        )
    return probes


def worst(probes: Sequence[Probe]) -> float:
    """Return the largest error, as a share."""
    return max(abs(probe.error) for probe in probes)


def _compiled(folder: Path) -> Path:
    target = folder / "probes"
    source = Path(__file__).with_name("probes.c")
    command = [sys.executable, "-m", "nearfar", "cc", "-O2", f"-I{include_folder()}", str(source)]
    done = subprocess.run(
        [*command, "-o", str(target)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise NearfarError(
            f"cannot compile the probes that judge an emulation: {reason}; `nearfar machine` lists "
            "what `nearfar cc` needs",
            ExitCode.MACHINE_LACKS,
        )
    return target
