"""What took time from the measurement: the hypervisor, the scheduler, other programs waiting."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nearfar.measure.instrument.verdict import InstrumentVerdict

STEAL = 0.01
"""Share of the CPUs' time that the hypervisor took, as `environment.STEAL_WARNING`."""

SWITCHES_PER_S = 50.0
"""Involuntary switches a second of all our threads: one every 20 ms is one in every sample."""

PRESSURE = 0.05
"""Share of time in which some program waited for a CPU, from the kernel's pressure account."""

DISTURBED = 0.05
"""Share of samples whose kernel says that it was interrupted."""


@dataclass(frozen=True)
class InterferenceCounters:
    """At one moment, of the CPUs that measure."""

    wall_s: float
    steal_s: float
    all_s: float
    involuntary_switches: int
    waited_s: float | None
    """Time in which some program waited for a CPU; None: the kernel keeps no pressure account."""


def read(
    cpus: tuple[int, ...],
    proc: Path = Path("/proc"),
    clock: Callable[[], float] = time.monotonic,
) -> InterferenceCounters:
    """Read the counters now."""
    per_second = os.sysconf("SC_CLK_TCK")
    steal = whole = 0
    wanted = {f"cpu{cpu}" for cpu in cpus}
    for line in (proc / "stat").read_text().splitlines():
        name, _, rest = line.partition(" ")
        if name in wanted:
            ticks = [int(word) for word in rest.split()[:8]]
            steal += ticks[7] if len(ticks) > 7 else 0
            whole += sum(ticks)
    return InterferenceCounters(
        wall_s=clock(),
        steal_s=steal / per_second,
        all_s=whole / per_second,
        involuntary_switches=resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw,
        waited_s=_waited_s(proc),
    )


def judge(
    before: InterferenceCounters, after: InterferenceCounters, disturbed_share: float = 0.0
) -> list[InstrumentVerdict]:
    """Say what happened between two readings; `disturbed_share` of samples were interrupted."""
    seconds = max(after.wall_s - before.wall_s, 1e-9)
    return [
        _steal(before, after),
        _switches(before, after, seconds, disturbed_share),
        _pressure(before, after, seconds),
    ]


def _steal(before: InterferenceCounters, after: InterferenceCounters) -> InstrumentVerdict:
    share = (after.steal_s - before.steal_s) / max(after.all_s - before.all_s, 1e-9)
    text = f"the hypervisor took {share:.1%} of the measuring CPUs' time"
    remedy = "measure again at a quieter time, or on a machine of your own"
    kept = {"steal_of_measuring_cpus": f"{share:.4f}"}
    return InstrumentVerdict("steal", "doubtful" if share > STEAL else "good", text, remedy, kept)


def _switches(
    before: InterferenceCounters,
    after: InterferenceCounters,
    seconds: float,
    disturbed_share: float,
) -> InstrumentVerdict:
    rate = (after.involuntary_switches - before.involuntary_switches) / seconds
    text = (
        f"measuring threads were switched out {rate:.0f} times a second, and {disturbed_share:.0%} "
        "of samples say that they were interrupted"
    )
    bad = rate > SWITCHES_PER_S or disturbed_share > DISTURBED
    remedy = "end other programs, or keep them off these CPUs (isolcpus=, cpuset)"
    kept = {"switches_per_s": f"{rate:.1f}", "disturbed_samples_share": f"{disturbed_share:.3f}"}
    return InstrumentVerdict("interruptions", "doubtful" if bad else "good", text, remedy, kept)


def _pressure(
    before: InterferenceCounters, after: InterferenceCounters, seconds: float
) -> InstrumentVerdict:
    if before.waited_s is None or after.waited_s is None:
        text = "whether programs waited for CPUs is not known: the kernel has no pressure account"
        return InstrumentVerdict(
            "pressure", "unknown", text, "boot with psi=1", {"cpu_pressure": "unknown"}
        )
    share = (after.waited_s - before.waited_s) / seconds
    text = f"for {share:.0%} of the time some program waited for a CPU"
    remedy = "end other programs, or leave one CPU to them: --threads"
    kept = {"cpu_pressure": f"{share:.3f}"}
    return InstrumentVerdict(
        "pressure", "doubtful" if share > PRESSURE else "good", text, remedy, kept
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
