"""Checks of the machine while a measurement runs: clock drift, stolen time, interruptions."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from nearfar.measure.instrument.verdict import InstrumentVerdict

ITERATIONS = 3000
"""About 1 ms: a thousand times the clock's cost, a hundredth of a round."""

MAX_TRIES = 3
"""Repetitions of the loop; the shortest counts, as interruptions only add."""

MAX_DRIFT = 0.03
"""Relative spread of the loop's time beyond which the clock alone makes figures differ: three times
the interval that ends a measurement (`rounds.NARROW_HALF_WIDTH`)."""

TRIMMED_SHARE = 0.1
"""Share of rounds left out at either end of the spread: single long ones are interruptions."""


def loop_ns(cpu: int) -> float:
    """Return the CPU time of the fixed loop on `cpu`, ns; the thread then returns to its CPUs."""
    with _pinned(cpu):
        best = float("inf")
        for _ in range(MAX_TRIES):
            start = time.thread_time_ns()
            hashlib.pbkdf2_hmac("sha256", b"nearfar", b"fixed work", ITERATIONS)
            best = min(best, time.thread_time_ns() - start)
    return best


def judge_frequency(times_ns: Sequence[float]) -> InstrumentVerdict:
    """Judge how much the fixed loop's time moved over the rounds, and which way."""
    if len(times_ns) < 4:
        text = f"frequency drift is unknown: {len(times_ns)} rounds are too few to measure it"
        return InstrumentVerdict("frequency", "unknown", text, facts={"frequency_drift": "unknown"})
    ordered = sorted(times_ns)
    cut = int(TRIMMED_SHARE * len(ordered))
    low, high = ordered[cut], ordered[len(ordered) - 1 - cut]
    spread = high / low - 1
    half = len(times_ns) // 2
    trend = median(times_ns[half:]) / median(times_ns[:half]) - 1
    kept = {"frequency_drift": f"{spread:.3f}", "frequency_trend": f"{trend:+.3f}"}
    text = (
        f"a fixed piece of arithmetic took {spread:.1%} longer at the slow end of "
        f"{len(times_ns)} rounds than at the fast end, and {abs(trend):.1%} "
        f"{'longer' if trend > 0 else 'less'} in their second half"
    )
    if spread <= MAX_DRIFT:
        return InstrumentVerdict("frequency", "good", text, facts=kept)
    return InstrumentVerdict(
        "frequency",
        "doubtful",
        f"the clock drifted: {text}",
        "fix it (cpupower frequency-set -g performance), let the machine warm up first, or, on a "
        "shared machine, measure at a quieter time",
        kept,
    )


@contextlib.contextmanager
def _pinned(cpu: int) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError:
        yield  # the CPU went offline or was taken away: the loop runs wherever it may
        return
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


MAX_STEAL_SHARE = 0.01
"""Share of the CPUs' time that the hypervisor may take, as `environment.STEAL_WARNING`."""

MAX_SWITCHES_PER_S = 50.0
"""Involuntary context switches a second: one every 20 ms is one in every sample."""

MAX_PRESSURE_SHARE = 0.05
"""Share of time in which some program may wait for a CPU, from the kernel's pressure account."""

MAX_DISTURBED_SHARE = 0.05
"""Share of samples that may be interrupted."""


@dataclass(frozen=True)
class InterferenceCounters:
    """Counters of the measuring CPUs at one moment."""

    wall_s: float
    steal_s: float
    all_s: float
    involuntary_switches: int
    waited_s: float | None
    """Time in which some program waited for a CPU; None: the kernel keeps no pressure account."""


def read_counters(
    cpus: tuple[int, ...],
    proc: Path = Path("/proc"),
    clock: Callable[[], float] = time.monotonic,
) -> InterferenceCounters:
    """Read the counters now."""
    per_second = os.sysconf("SC_CLK_TCK")
    steal = total = 0
    names = {f"cpu{cpu}" for cpu in cpus}
    for line in (proc / "stat").read_text().splitlines():
        name, _, rest = line.partition(" ")
        if name in names:
            ticks = [int(word) for word in rest.split()[:8]]
            steal += ticks[7] if len(ticks) > 7 else 0
            total += sum(ticks)
    return InterferenceCounters(
        wall_s=clock(),
        steal_s=steal / per_second,
        all_s=total / per_second,
        involuntary_switches=resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw,
        waited_s=_waited_s(proc),
    )


def judge_interference(
    before: InterferenceCounters, after: InterferenceCounters, disturbed_share: float = 0.0
) -> list[InstrumentVerdict]:
    """Judge the time between two readings; `disturbed_share` of samples were interrupted."""
    seconds = max(after.wall_s - before.wall_s, 1e-9)
    return [
        _steal(before, after),
        _switches(before, after, seconds, disturbed_share),
        _pressure(before, after, seconds),
    ]


def _steal(before: InterferenceCounters, after: InterferenceCounters) -> InstrumentVerdict:
    share = (after.steal_s - before.steal_s) / max(after.all_s - before.all_s, 1e-9)
    text = f"the hypervisor took {share:.1%} of the measuring CPUs' time"
    remedy = "measure again at a quieter time, or on a machine that is not shared"
    kept = {"steal_of_measuring_cpus": f"{share:.4f}"}
    return InstrumentVerdict(
        "steal", "doubtful" if share > MAX_STEAL_SHARE else "good", text, remedy, kept
    )


def _switches(
    before: InterferenceCounters,
    after: InterferenceCounters,
    seconds: float,
    disturbed_share: float,
) -> InstrumentVerdict:
    rate = (after.involuntary_switches - before.involuntary_switches) / seconds
    text = (
        f"measuring threads were switched out {rate:.0f} times a second, and {disturbed_share:.0%} "
        "of samples were interrupted"
    )
    bad = rate > MAX_SWITCHES_PER_S or disturbed_share > MAX_DISTURBED_SHARE
    remedy = "end other programs, or keep them off these CPUs (isolcpus=, cpuset)"
    kept = {"switches_per_s": f"{rate:.1f}", "disturbed_samples_share": f"{disturbed_share:.3f}"}
    return InstrumentVerdict("interruptions", "doubtful" if bad else "good", text, remedy, kept)


def _pressure(
    before: InterferenceCounters, after: InterferenceCounters, seconds: float
) -> InstrumentVerdict:
    if before.waited_s is None or after.waited_s is None:
        text = "whether programs waited for CPUs is unknown: the kernel has no pressure account"
        return InstrumentVerdict(
            "pressure", "unknown", text, "boot with psi=1", {"cpu_pressure": "unknown"}
        )
    share = (after.waited_s - before.waited_s) / seconds
    text = f"for {share:.0%} of the time some program waited for a CPU"
    remedy = "end other programs, or leave one CPU to them with --threads"
    kept = {"cpu_pressure": f"{share:.3f}"}
    return InstrumentVerdict(
        "pressure", "doubtful" if share > MAX_PRESSURE_SHARE else "good", text, remedy, kept
    )


def _waited_s(proc: Path) -> float | None:
    try:
        lines = (proc / "pressure/cpu").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("some "):
            return int(line.rpartition("total=")[2]) / 1e6
    return None


class InstrumentWatch:
    """Watch on the clock between rounds, and on what took CPU time from start to end."""

    def __init__(
        self,
        cpus: tuple[int, ...],
        loop_ns: Callable[[int], float] = loop_ns,
        proc: Path = Path("/proc"),
    ) -> None:
        self._cpus = cpus
        self._loop_ns = loop_ns
        self._proc = proc
        self._before = read_counters(cpus, proc)
        self._times_ns: list[float] = []
        self._round = -1

    def round(self, number: int) -> None:
        """Time the fixed loop once at the beginning of round `number`; takes 1 ms."""
        if number != self._round:
            self._round = number
            self._times_ns.append(self._loop_ns(self._cpus[0]))

    def verdicts(self, disturbed_share: float = 0.0) -> list[InstrumentVerdict]:
        """Return what changed since the start; `disturbed_share` of samples were interrupted."""
        after = read_counters(self._cpus, self._proc)
        return [
            judge_frequency(self._times_ns),
            *judge_interference(self._before, after, disturbed_share),
        ]
