"""State of the machine during a measurement (load, stolen time, swapping): facts and warnings."""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.machine.sysfs import Tree
from nearfar.machine.virtualisation import read_virtualisation
from nearfar.measure.native import _measure

MAX_STOLEN_SHARE = 0.02
"""Share of a CPU's time that may be stolen: the CPU clock may count it as the thread's, and
latencies must be right to 3 %. A tick of 10 ms in a sample of 20 ms is far more."""


class StolenTime:
    """Stolen time of some CPUs, from /proc/stat; read only on virtual machines, as it is slow."""

    def __init__(
        self,
        cpus: Sequence[int],
        root: Path = Path("/"),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ticks: _measure.StolenTicks | None = None
        # "none" is a real machine; an unknown one may be virtual.
        if read_virtualisation(Tree(root)) != "none":
            with contextlib.suppress(OSError):
                self.ticks = _measure.StolenTicks(str(root / "proc/stat"), list(cpus))
        self._clock = clock
        self._tick_s = 1 / os.sysconf("SC_CLK_TCK")
        self._at = clock()

    def matters(self) -> bool:
        """Return whether a CPU had so much time stolen since the last call that times are wrong."""
        if self.ticks is None:
            return False
        most, at = self.ticks.most_since_last_call(), self._clock()
        passed, self._at = at - self._at, at
        return most > 0 and most * self._tick_s > MAX_STOLEN_SHARE * passed


STEAL_WARNING = 0.01
"""Stolen share of CPU time beyond which medians of the authors' runs moved visibly."""

LOAD_WARNING = 0.25
"""Other programs' share of all CPUs, by CPU time, beyond which caches and bandwidth are shared."""

SWAPPED_WARNING = 16
"""Pages read back from swap, by any program, beyond which memory is short. Major faults alone show
nothing: lazily loaded libraries cause some in every run."""


@dataclass(frozen=True)
class Snapshot:
    """Counters at one moment."""

    load_average: float
    """Load average of the last minute."""
    busy_s: float
    """CPU time all programs used since boot, stolen time left out, seconds."""
    steal_s: float
    all_s: float
    own_s: float
    """CPU time of this process."""
    minor_faults: int
    major_faults: int
    involuntary_switches: int
    swapped_in_pages: int = 0
    """Read back from swap since boot, by all programs."""


def snapshot(proc: Path = Path("/proc")) -> Snapshot:
    """Read the counters now."""
    ticks = [int(word) for word in (proc / "stat").read_text().splitlines()[0].split()[1:9]]
    per_second = os.sysconf("SC_CLK_TCK")
    user, nice, system, idle, wait, irq, softirq, steal = (tick / per_second for tick in ticks)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return Snapshot(
        load_average=os.getloadavg()[0],
        busy_s=user + nice + system + irq + softirq,
        steal_s=steal,
        all_s=user + nice + system + idle + wait + irq + softirq + steal,
        own_s=usage.ru_utime + usage.ru_stime,
        minor_faults=usage.ru_minflt,
        major_faults=usage.ru_majflt,
        involuntary_switches=usage.ru_nivcsw,
        swapped_in_pages=_swapped_in(proc),
    )


def _swapped_in(proc: Path) -> int:
    for line in _text(proc / "vmstat").splitlines():
        name, _, value = line.partition(" ")
        if name == "pswpin":
            return int(value)
    return 0  # a kernel without swap


def describe(before: Snapshot, after: Snapshot) -> tuple[dict[str, str], list[str]]:
    """Return facts and warnings about the time between two snapshots."""
    elapsed = max(after.all_s - before.all_s, 1e-9)
    steal = (after.steal_s - before.steal_s) / elapsed
    own = after.own_s - before.own_s
    others = max(after.busy_s - before.busy_s - own, 0.0) / elapsed
    recorded = {
        "load_average_before": f"{before.load_average:.2f}",
        "load_average_after": f"{after.load_average:.2f}",
        "other_programs_cpu_share": f"{others:.3f}",
        "steal_share": f"{steal:.4f}",
        "page_faults_minor": str(after.minor_faults - before.minor_faults),
        "page_faults_major": str(after.major_faults - before.major_faults),
        "pages_swapped_in": str(after.swapped_in_pages - before.swapped_in_pages),
        "involuntary_context_switches": str(
            after.involuntary_switches - before.involuntary_switches
        ),
    }
    warnings: list[str] = []
    if steal > STEAL_WARNING:
        warnings.append(
            f"the hypervisor took {steal:.1%} of CPU time: measure again at a quieter time"
        )
    if others > LOAD_WARNING:
        warnings.append(
            f"other programs used {others:.0%} of the CPUs: caches and bandwidth were shared"
        )
    swapped = after.swapped_in_pages - before.swapped_in_pages
    if swapped > SWAPPED_WARNING and after.major_faults > before.major_faults:
        warnings.append(
            f"{swapped} pages were read back from swap while measuring: memory is short, so "
            "measure with less (--largest), or end other programs"
        )
    return recorded, warnings


def fixed_facts(cpu: int, root: Path = Path("/")) -> dict[str, str]:
    """Return what does not change during a measurement: governor, huge pages, virtualisation."""
    sysfs = root / "sys"
    frequency = sysfs / f"devices/system/cpu/cpu{cpu}/cpufreq"
    huge = _text(sysfs / "kernel/mm/transparent_hugepage/enabled")
    chosen = huge[huge.find("[") + 1 : huge.find("]")] if "[" in huge else "unknown"
    turbo = {"0": "on", "1": "off"}.get(
        _text(sysfs / "devices/system/cpu/intel_pstate/no_turbo"), "unknown"
    )
    return {
        "governor": _text(frequency / "scaling_governor") or "unknown",
        "turbo": turbo,
        "transparent_huge_pages": chosen,
        "virtualisation": read_virtualisation(Tree(root)),
        "numa_balancing": _text(root / "proc/sys/kernel/numa_balancing") or "unknown",
    }


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
