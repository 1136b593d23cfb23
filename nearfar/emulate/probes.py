"""How faithful a way is: a chase, chains and a stream run in it, against the far profile."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from statistics import median

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import LINE_BYTES
from nearfar.documents.emulation import Probe
from nearfar.emulate.now import UNKNOWN, Now, now
from nearfar.emulate.rounds import DRIFT, MOST_ROUNDS, ROUNDS, Round, steadiest
from nearfar.emulate.runs import plain_of, plain_run
from nearfar.emulate.way import Say, Times, Wanted, Way, check_ended
from nearfar.native_files import include_folder
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.memory import MemoryCosts
from nearfar.profile.session import ProfileRequest
from nearfar.program.executable import Build
from nearfar.program.phases import PhaseTime

TOLERANCE = 0.10
"""What is off by more is not called faithful: the issue of many predictions is less than that."""

NAMES = ("chase", "chains-4", "chains-16", "stream")
LINES = 1_500_000
"""Touched by the chase: 0.1 to 0.6 s; chains touch 2 and 4 times as many, the stream 8."""
CACHES = 8
"""Region over last-level cache: an eighth of random lines still hits the cache then."""
LEAST_REGION_BYTES = 256 << 20
"""Chains are measured over regions beyond what a TLB and the caches' page tables reach: in a small
region of small pages walks are cheap, and a chase takes half of what the curve says."""
HUGE_BYTES = 2 << 20
HUGE_LINES = "huge_lines"
"""The phase whose operations are the lines that lie in such pages."""
MOSTLY_HUGE = 0.95
"""Of the region: then walks of what is left are within a percent of a line's time."""
FEW_LINES = 16
"""Enough to see which pages the probes get."""


def target_ns(memory: MemoryCosts, name: str) -> float:
    """Return what a line of this probe takes in a memory, ns, by its profile."""
    if name == "stream":
        return memory.core_stream_ns
    return memory.cost_ns(float(name.removeprefix("chains-")) if name != "chase" else 1.0)


def in_huge_pages(wanted: Wanted) -> Wanted:
    """Return what is wanted in pages of 2 MiB, where this machine gives them to who asks.

    Page walks are the program's pages', not the far memory's, and how long they take depends on
    what else the caches hold: without them, the probes judge what a line of the far memory takes.
    """
    near = wanted.near.device
    setting = near.measured.environment.get("transparent_huge_pages", "") if near.measured else ""
    if setting not in ("always", "madvise"):
        return wanted
    near_side = near_memory(near, HUGE_BYTES)
    return replace(wanted, near=near_side, far=far_memory(wanted.far.device, near_side))


@dataclass(frozen=True)
class Judged:
    """Probes of a way, the slow motion that they were run in, and near memory meanwhile."""

    probes: list[Probe]
    slow_motion: float = 1.0
    now: Now = UNKNOWN
    drift: float = 0.0
    """How much near memory changed within a round, at most."""

    def caveats(self) -> list[str]:
        """Say where near memory was not what its profile says, or did not stay as it was."""
        if self.drift <= DRIFT:
            return self.now.caveats()
        return [
            *self.now.caveats(),
            f"near memory drifted by {self.drift:.0%} within a round of probes, and the steadiest "
            f"of {MOST_ROUNDS} were taken: the errors printed are the machine's too",
        ]


def judge(way: Way, request: ProfileRequest, wanted: Wanted, say: Say) -> Judged:
    """Run the probes as the program is run, everything far; in huge pages where there are.

    Where tracing takes too long for a probe, the way runs them in as slow a motion as that takes,
    and so the rounds that follow. The middle of several rounds counts: memory of a shared machine
    differs by several percent from run to run. A way that reckons from plain time has plain runs
    before and after, and rounds in which those differ are run again.
    """
    wanted = replace(wanted, placements=(), one_of=kernel_of)
    with tempfile.TemporaryDirectory(prefix="nearfar-probes-") as folder:
        mine = _request(request, _compiled(Path(folder)))
        twin = Path(folder, "twin")
        twin.mkdir()
        plain = plain_of(mine, twin)
        if (huge := in_huge_pages(wanted)) is not wanted and _gets_huge_pages(mine, plain):
            wanted = huge
        near = wanted.near
        if way.slows_down:
            wanted = replace(
                wanted, near_now=lambda phases: now(near, [_per_line(phases)]).memory(near)
            )
        number = count(1)

        def one_round(slow_motion: float) -> Round:
            most = f"{ROUNDS}, up to {MOST_ROUNDS} where near memory drifts"
            say(f"probes, round {next(number)} of {most}")
            times = way.run(mine, replace(wanted, slow_motion=slow_motion), lambda _: None)
            check_ended(times, mine.job.command)
            before = after = _per_line(times.near)
            if way.slows_down:
                again = plain_run(mine, plain)
                check_ended(again.outcome, mine.job.command)
                after = _per_line(again.phases)
            return Round(times, before, after)

        rounds = steadiest(one_round, wanted.slow_motion)
    known = UNKNOWN
    if way.slows_down:
        known = now(near, [run for one in rounds for run in (one.before, one.after)])
    times = [one.times for one in rounds]
    slow = max(one.slow_motion for one in times)
    return Judged(_probes(wanted.far, times), slow, known, max(one.drift for one in rounds))


def _gets_huge_pages(request: ProfileRequest, plain: Build) -> bool:
    """Whether the probes' region lies in pages of 2 MiB: a machine may have none left to give."""
    program, region_bytes, _ = request.job.command
    command = [program, region_bytes, str(FEW_LINES)]
    few = replace(request, job=replace(request.job, command=command))
    pages = plain_run(few, plain).phases.get(HUGE_LINES, PhaseTime())
    return pages.operations * LINE_BYTES >= MOSTLY_HUGE * int(region_bytes)


def _request(request: ProfileRequest, probes: Path) -> ProfileRequest:
    region_bytes = max(CACHES * request.cache_bytes, LEAST_REGION_BYTES)
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
    """Return ns per line of each probe: of its middle part."""
    found: dict[str, list[float]] = {name: [] for name in NAMES}
    for name, phase in phases.items():
        if (kernel := kernel_of(name)) in found and phase.operations:
            found[kernel].append(phase.cpu_ns / phase.operations)
    return {name: median(parts) for name, parts in found.items()}


def kernel_of(phase: str) -> str:
    """Return the probe that a phase is a part of."""
    return phase.partition(".")[0]


def _probes(far: MemoryCosts, runs: Sequence[Times]) -> list[Probe]:
    near = [_per_line(times.near) for times in runs]
    emulated = [_per_line(times.emulated) for times in runs]
    found = []
    for name in NAMES:
        target = target_ns(far, name)
        taken = [run[name] for run in emulated]
        found.append(
            Probe(
                name=name,  # type: ignore[arg-type]
                near_ns=median(run[name] for run in near),
                target_ns=target,
                emulated_ns=median(taken),
                error=median(taken) / target - 1.0,
                error_range=(min(taken) / target - 1.0, max(taken) / target - 1.0),
            )
        )
    return found


def worst(probes: list[Probe]) -> float:
    """Return the largest error, as a share."""
    return max(abs(one.error) for one in probes)


def _compiled(folder: Path) -> Path:
    target = folder / "probes"
    source = Path(__file__).with_name("probes.c")
    command = [sys.executable, "-m", "nearfar", "cc", "-O2", f"-I{include_folder()}", str(source)]
    done = subprocess.run(
        [*command, "-o", str(target)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise NearfarError(
            f"the probes that judge an emulation could not be compiled: {why}; "
            "`nearfar machine` says what `nearfar cc` lacks",
            ExitCode.MACHINE_LACKS,
        )
    return target
