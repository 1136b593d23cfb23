"""Core pairings: the caches that two virtual CPUs share, by the transfer time of a line.

A hypervisor that does not pin virtual CPUs moves them to other cores within seconds. On one
machine, a line took 27 to 50 ns from one CPU to the other (one last-level cache) or 150 to 210 ns
(two). A chase next to a core that loads memory took 400 ns and 300 ns: a load slows down more if
both share a cache and a path to memory. If a kernel is measured in one pairing and predicted from
curves of another, the prediction is wrong by tens of per cent, whatever the model. So each sample
lies between two probes, and only samples of one pairing are compared. On machines whose virtual
CPUs stay, there is one pairing.

`benchmarks.steered_cores` extends this: it also brings the cores into a pairing before a sample.
"""

from __future__ import annotations

import contextlib
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.measure.native import _measure
from nearfar.options.validate import Cores

T = TypeVar("T")

MIN_APART_NS = 90.0
"""Line transfer time from which cores count as apart: between the 27 to 50 ns of one last-level
cache and the 150 to 210 ns of two."""

MAX_PAIRING_RATIO = 2.0
"""Ratio of transfer times within one pairing: in one last-level cache a line took 27 to 50 ns, and
memory was the same for all (403 ns where a line took less than 35 ns, 396 ns where more)."""

MAX_KEPT_PROBES = 99
"""Latest probes of a pairing whose median is its transfer time."""

MAX_PROBE_AGE_S = 0.004
"""Age up to which a probe still counts: the end of one sample is the beginning of the next."""

MAX_PROBE_S = 0.03
"""Maximum time of a probe whose result counts: it takes 3 ms if both CPUs are free, and longer if
other work keeps them from meeting."""

MAX_SLOW_PROBES_S = 3.0
"""Total time of consecutive slow probes after which probing ends: under constant load, each probe
takes seconds. A shorter total is a passing disturbance or a pause of the hypervisor."""

MAX_RETRIES = 4
"""Probes after a slow one, before a sample that takes seconds is given up."""

REQUIRED_PROBES = 48
"""Probes to find the pairing that `--cores` requires, with a sleep before each."""

SLEEP_S = 0.05
"""Sleep before each of these probes: a hypervisor chooses another core when a CPU wakes after 20 to
100 ms of sleep, but not after 5 ms."""

LINE_MEMORY_BYTES = 2 << 20
"""Memory that holds the transferred line: one huge page, so that its time has no page walk."""


class CorePairings:
    """The pairings of two CPUs, numbered from 0 as they are seen."""

    def __init__(
        self,
        transfer_ns: Callable[[], float] | None,
        clock: Callable[[], float] = time.monotonic,
        *,
        cores: Cores | None = None,
    ) -> None:
        """`transfer_ns` measures the transfer of a line between the CPUs; None: there is one CPU.

        Only pairings of kind `cores` match; None: all match.
        """
        self._transfer_ns, self._clock, self._cores = transfer_ns, clock, cores
        self._probes: list[list[float]] = []
        self._current: int | None = 0
        self._probed_at_s = -math.inf
        self._slow_s = 0.0
        self.disturbed = False
        """Whether other work on the machine ended probing."""

    def probe(self) -> int | None:
        """Return the current pairing; None: other work kept the CPUs busy."""
        if self._transfer_ns is None:
            return 0
        started_s = self._clock()
        ns = self._transfer_ns()
        self._probed_at_s = self._clock()
        took_s = self._probed_at_s - started_s
        if took_s <= MAX_PROBE_S:
            self._slow_s = 0.0
            self._current = self._number(ns)
            return self._current
        self._slow_s += took_s
        self._current = None
        if self._slow_s < MAX_SLOW_PROBES_S:
            return None
        self.disturbed = True
        self.stop_probing()
        return 0

    def probe_patiently(self) -> int | None:
        """Probe again a few times if other work interferes."""
        pairing = self.probe()
        for _ in range(MAX_RETRIES):
            if pairing is not None:
                break
            pairing = self.probe()
        return pairing

    def settle(self, required: int | None = None, *, patiently: bool = False) -> int | None:
        """Return the pairing before a sample; a subclass may first change it to `required`."""
        del required
        if patiently:
            return self.probe_patiently()
        return self._current if self._is_fresh() else self.probe()

    def during(self, take: Callable[[], T], required: int | None = None) -> tuple[T, int | None]:
        """Return the result of `take` and the pairing during it; None: the pairing changed."""
        before = self.settle(required)
        result = take()
        after = self.probe()
        return result, before if after == before else None

    def require(self) -> None:
        """Refuse CPUs that are not in a matching pairing in any of `REQUIRED_PROBES` probes."""
        if self._cores is None:
            return
        for _ in range(REQUIRED_PROBES):
            pairing = self.probe()
            if pairing is not None and self.matches(pairing):
                return
            time.sleep(SLEEP_S)
        need = "share a cache" if self._cores == "together" else "do not share a cache"
        raise NearfarError(
            f"--cores {self._cores} needs two CPUs that {need}; in {REQUIRED_PROBES} probes a line "
            f"took {self.describe()} between them (with a shared cache: less than "
            f"{MIN_APART_NS:.0f} ns): leave --cores out, or pin the virtual CPUs",
            ExitCode.MACHINE_LACKS,
        )

    def matches(self, pairing: int) -> bool:
        """Return whether results may come from this pairing."""
        ns = self.transfer_ns(pairing)
        return self._cores is None or ns is None or (ns >= MIN_APART_NS) == (self._cores == "apart")

    def stop_probing(self) -> None:
        """Count every sample as one pairing: pairings cannot be distinguished here."""
        self._transfer_ns = None
        self._probes.clear()
        self._current = 0

    def transfer_ns(self, pairing: int) -> float | None:
        """Return the median time of a line in a pairing, ns; None where there is one CPU."""
        return self._median_ns(pairing) if pairing < len(self._probes) else None

    def describe(self) -> str:
        """Return the times of all pairings seen, for messages."""
        return ", ".join(f"{ns:.0f}" for ns in sorted(map(statistics.median, self._probes))) + " ns"

    def _is_fresh(self) -> bool:
        return self._current is not None and self._clock() - self._probed_at_s < MAX_PROBE_AGE_S

    def _median_ns(self, pairing: int) -> float:
        return statistics.median(self._probes[pairing])

    def _number(self, ns: float) -> int:
        """Return the number of the pairing that a probe of `ns` belongs to, perhaps a new one."""
        distances = [abs(math.log(ns / statistics.median(probes))) for probes in self._probes]
        nearest = min(range(len(distances)), key=distances.__getitem__, default=None)
        if nearest is None or distances[nearest] > math.log(MAX_PAIRING_RATIO):
            self._probes.append([ns])
            return len(self._probes) - 1
        probes = self._probes[nearest]
        probes.append(ns)
        del probes[:-MAX_KEPT_PROBES]
        return nearest


OpenPairings = Callable[[Sequence[int], Path], AbstractContextManager[CorePairings]]
"""Opens the pairings of this process's CPUs; the path is the plain build of any kernel."""


def transfer_between(cpus: Sequence[int]) -> Callable[[], float] | None:
    """Return a function that measures a line's transfer from the first to the last CPU, ns.

    None: there is only one CPU.
    """
    if len(cpus) < 2:
        return None
    memory = _measure.Memory.anonymous(LINE_MEMORY_BYTES, "thp", None)
    return lambda: float(_measure.core_to_core(cpus[0], cpus[-1], memory).line_ns)


def observed_pairings(cores: Cores | None) -> OpenPairings:
    """Return pairings that are probed and never changed; refuses CPUs that do not match `cores`."""

    @contextlib.contextmanager
    def open_pairings(cpus: Sequence[int], kernel: Path) -> Iterator[CorePairings]:
        del kernel
        pairings = CorePairings(transfer_between(cpus), cores=cores)
        pairings.require()
        yield pairings

    return open_pairings
