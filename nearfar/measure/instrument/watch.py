"""Watches the machine while a measurement runs: told of every round, asked at the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nearfar.measure.instrument import frequency, interference
from nearfar.measure.instrument.verdict import InstrumentVerdict


class InstrumentWatch:
    """Clock drift between rounds, and what took time from start to end."""

    def __init__(
        self,
        cpus: tuple[int, ...],
        loop_ns: Callable[[int], float] = frequency.loop_ns,
        proc: Path = Path("/proc"),
    ) -> None:
        self._cpus = cpus
        self._loop_ns = loop_ns
        self._proc = proc
        self._before = interference.read(cpus, proc)
        self._times_ns: list[float] = []
        self._round = -1

    def round(self, number: int) -> None:
        """Note that round `number` begins; only the first call of each round costs time (1 ms)."""
        if number != self._round:
            self._round = number
            self._times_ns.append(self._loop_ns(self._cpus[0]))

    def verdicts(self, disturbed_share: float = 0.0) -> list[InstrumentVerdict]:
        """Say what was seen since the start; `disturbed_share` of samples were interrupted."""
        after = interference.read(self._cpus, self._proc)
        return [
            frequency.judge(self._times_ns),
            *interference.judge(self._before, after, disturbed_share),
        ]
