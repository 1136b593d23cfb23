"""Bring the virtual CPUs of a session of `validate` into one core pairing, and keep them there.

A hypervisor may move a virtual CPU whenever it wakes: after a sleep of 50 ms both shared a cache in
three of four cases; kept awake, they stayed for a second to half a minute. So spinners of the idle
class keep the cores awake, and cores in another pairing sleep until they are in the required one.

    validate(..., open_pairings=steered("apart"))
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.contention.co_runner import start_spinner
from nearfar.options.validate import Cores
from nearfar.validate.core_pairing import (
    SLEEP_S,
    CorePairings,
    OpenPairings,
    transfer_between,
)

MAX_SLEEPS = 40
"""Sleeps before a sample: one in ten separated cores that shared a cache."""

MIN_PAUSE_S = 5.0
"""Pause after `MAX_SLEEPS` without success: the hypervisor has reasons to keep the cores."""

MAX_PAUSE_S = 20.0
"""Limit of that pause, which doubles each time: less than a program waits for its pairing."""

FIRST_PROBES = 48
"""Probes, with a sleep before each, that find the pairings to choose from."""

MIN_PROBE_SHARE = 1 / 24
"""Share of all probes, at some time after the first, that makes a pairing frequent: rarer ones do
not come back soon."""


@dataclass(frozen=True)
class _Pause:
    """A time without sleeps, and its length if the next ones are in vain too, s."""

    until_s: float = -math.inf
    length_s: float = MIN_PAUSE_S


class SteeredPairings(CorePairings):
    """Pairings of cores that can be let sleep until the hypervisor pairs them as required."""

    def __init__(
        self,
        transfer_ns: Callable[[], float] | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[], None] = lambda: None,
    ) -> None:
        """`sleep` lets both cores sleep for a while."""
        super().__init__(transfer_ns, clock)
        self._sleep = sleep
        self._preferred: Cores | None = None
        self._pauses: dict[int, _Pause] = {}
        self._counts: Counter[int] = Counter()
        self._frequent: set[int] = set()

    def prefer(self, cores: Cores) -> None:
        """Prefer the frequent pairing with the longest transfer time, or the shortest."""
        self._preferred = cores
        for _ in range(FIRST_PROBES):
            if self._transfer_ns is None:
                return  # other work disturbs the probes
            self._sleep()
            self.probe()

    def probe(self) -> int | None:
        """Return the current pairing and count how often each is seen."""
        pairing = super().probe()
        if pairing is None or self._transfer_ns is None:
            return pairing
        self._counts[pairing] += 1
        total = self._counts.total()
        if self._preferred is not None and total >= FIRST_PROBES:
            # Permanently: while cores stay elsewhere, many probes miss a frequent pairing.
            self._frequent |= {
                number for number, count in self._counts.items() if count >= MIN_PROBE_SHARE * total
            }
        return pairing

    def stop_probing(self) -> None:
        """Count every sample as one pairing."""
        super().stop_probing()
        self._counts.clear()
        self._frequent.clear()

    def settle(self, required: int | None = None, *, patiently: bool = False) -> int | None:
        """Bring the cores to `required`, by default to the preferred pairing, if possible."""
        pairing = super().settle(patiently=patiently)
        if required is None:
            # A rare pairing may be one slow probe: probe again before long work begins.
            if patiently and self._preferred is not None and pairing not in self._frequent:
                pairing = super().settle(patiently=True)
            required = self._best(pairing)
        if required is None or pairing == required:
            return pairing
        return self._sleep_until(required, pairing)

    def _best(self, pairing: int | None) -> int | None:
        if self._preferred is None or self._transfer_ns is None:
            return None
        choose = max if self._preferred == "apart" else min
        current = () if pairing is None else (pairing,)
        return choose((*self._frequent, *current), key=self._median_ns, default=None)

    def _sleep_until(self, required: int, pairing: int | None) -> int | None:
        """Let the cores sleep while they are in another pairing; return the last one seen."""
        if pairing is None:
            pairing = self.probe_patiently()
        pause = self._pauses.get(required, _Pause())
        for _ in range(MAX_SLEEPS):
            if pairing == required:
                break
            if self._transfer_ns is None or self._clock() < pause.until_s:
                return pairing
            self._sleep()
            pairing = self.probe_patiently()
        if pairing == required:
            self._pauses.pop(required, None)
        else:
            length_s = min(2.0 * pause.length_s, MAX_PAUSE_S)
            self._pauses[required] = _Pause(self._clock() + pause.length_s, length_s)
        return pairing


def steered(cores: Cores) -> OpenPairings:
    """Return a function that opens pairings of cores kept awake, `apart` or `together`."""

    @contextlib.contextmanager
    def open_pairings(cpus: Sequence[int], kernel: Path) -> Iterator[CorePairings]:
        if len(cpus) < 2:
            yield CorePairings(None)
            return
        with awake(kernel, (cpus[0], cpus[-1])) as sleep:
            pairings = SteeredPairings(transfer_between(cpus), sleep=sleep)
            pairings.prefer(cores)
            yield pairings

    return open_pairings


@contextlib.contextmanager
def awake(kernel: Path, cpus: Sequence[int]) -> Iterator[Callable[[], None]]:
    """Keep cores from sleeping, behind all other work on them; yield what lets them sleep.

    On one machine cores were moved to another cache three times a second, and once in two to forty
    seconds when awake. The timed process must be of this session: Linux shares out a core by
    session first, whatever is idle in it (sched(7), autogroup).
    """
    with contextlib.ExitStack() as stack:
        spinners = []
        for cpu in dict.fromkeys(cpus):
            spinner = start_spinner(kernel, cpu)
            stack.callback(spinner.end)
            spinner.run_when_idle()
            spinner.resume()
            spinners.append(spinner)

        def sleep() -> None:
            for spinner in spinners:
                spinner.stop()
            time.sleep(SLEEP_S)
            for spinner in spinners:
                spinner.resume()

        yield sleep
