"""The share of tracing in a run with delays, and the slow motion that the run needs.

Slow motion is the factor by which delays slow a whole run down, so that they can hide tracing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import median

from nearfar.emulate.cost_file import PHASES, Settlement
from nearfar.program.launch import RunOutcome
from nearfar.program.phases import PhaseTime, ProfiledRun

MAX_SHARE_CHANGE = 0.03
"""Change of tracing's share, caused by the delays, above which the program is run again."""
MIN_PHASE_SHARE = 0.01
"""Share of total time, and of waits in a phase's time, below which no run is repeated for it."""
SPARE_FACTOR = 1.1
"""Ratio of the slow motion used to the one that tracing needs, because batches differ."""
MAX_UNPAID_SHARE = 0.02
"""Share of near time that may be unpaid before the program is run in slow motion."""
MIN_SLOWER_RATIO = 1.03
"""Ratio of needed to present slow motion from which the program is run again: most of the spare
tenth is used then."""

Shares = Mapping[int, float]
"""Plain over traced CPU time, 0..1, by number of phase; -1: of all phases."""


@dataclass(frozen=True)
class DelayedRun:
    """A run with delays."""

    outcome: RunOutcome
    phases: dict[str, PhaseTime]
    """Measured times divided by `slow_motion`."""
    settled: Settlement
    """Delays of the run, as measured: not divided."""
    slow_motion: float
    """Factor by which the whole run was slowed."""


@dataclass(frozen=True)
class PhaseGroups:
    """A program's phases, grouped by the work that they do."""

    names: Mapping[int, str]
    """Names by number of phase."""
    group_of: Callable[[str], str] = str

    def numbers(self) -> dict[str, list[int]]:
        """Return the numbers of the phases of each group."""
        numbers: dict[str, list[int]] = {}
        for number, name in self.names.items():
            numbers.setdefault(self.group_of(name), []).append(number)
        return numbers

    def times(self, phases: Mapping[str, PhaseTime]) -> dict[str, list[float]]:
        """Return the CPU times of the phases of each group, ns."""
        times: dict[str, list[float]] = {}
        for name, phase in phases.items():
            times.setdefault(self.group_of(name), []).append(phase.cpu_ns)
        return times

    def shares(self, plain: ProfiledRun, traced: ProfiledRun) -> dict[int, float]:
        """Return plain over traced time by number of phase: the ratio of its group's medians."""
        shares = {-1: min(1.0, plain.outcome.cpu_ns / max(1, traced.outcome.cpu_ns))}
        plain_times, traced_times = self.times(plain.phases), self.times(traced.phases)
        for group, numbers in self.numbers().items():
            plain_ns = median(plain_times.get(group, [0.0]))
            traced_ns = median(traced_times.get(group, [0.0]))
            if plain_ns > 0.0 and traced_ns > 0.0:
                shares |= dict.fromkeys(numbers, min(1.0, plain_ns / traced_ns))
        return shares

    def relevant(self, delayed: DelayedRun) -> list[str]:
        """Return the groups that took enough of the run and whose misses got delays.

        Whole groups are tested, not phases: if the far memory is hardly slower than near, a phase
        of a stream waits only a few milliseconds, but its share still determines its error.
        """
        total = {group: sum(times) for group, times in self.times(delayed.phases).items()}
        min_ns = MIN_PHASE_SHARE * sum(total.values())
        settled = {
            group: sum(delayed.settled.settled_ns(number) for number in numbers)
            for group, numbers in self.numbers().items()
        }
        return [
            group
            for group, ns in total.items()
            if ns > min_ns and settled.get(group, 0) > MIN_PHASE_SHARE * ns * delayed.slow_motion
        ]

    def share_change(self, before: Shares, after: Shares, delayed: DelayedRun) -> float:
        """Return the largest relative change of a share of plain time over the relevant groups."""
        numbers = self.numbers()
        changes = [
            abs(after[number] / before[number] - 1.0)
            for group in self.relevant(delayed)
            for number in numbers[group]
            if number in before and number in after
        ]
        return max(changes, default=0.0)

    def slow_motion(
        self, plain: ProfiledRun, delayed: DelayedRun, assumed: Shares, actual: Shares, limit: float
    ) -> float:
        """Return the slow motion that the program needs, at most `limit`.

        The run's own slow motion is returned if it is large enough. `assumed` are the shares of
        plain time that the run was given, `actual` those measured in it: tracing takes longer with
        delays. The time in far memory is the measured time minus unpaid time.
        """
        present, numbers, settled = delayed.slow_motion, self.numbers(), delayed.settled
        measured = {g: sum(times) * present for g, times in self.times(delayed.phases).items()}
        near = self.times(plain.phases)
        relevant = self.relevant(delayed)
        needed = 1.0 if relevant else SPARE_FACTOR / actual[-1]
        behind = settled.unpaid_ns > MAX_UNPAID_SHARE * plain.outcome.cpu_ns * present
        for group in relevant:
            known = [number for number in numbers[group] if number < PHASES]
            waited_ns = sum(settled.waited_by_phase[number] for number in known)
            unpaid_ns = sum(settled.unpaid_by_phase[number] for number in known)
            ratios = [actual[n] / assumed[n] for n in known if n in actual and n in assumed]
            far_ns = max(1.0, (measured[group] - unpaid_ns) / present * min([1.0, *ratios]))
            needed = max(needed, SPARE_FACTOR * (measured[group] - waited_ns) / far_ns)
            limit_ns = MAX_UNPAID_SHARE * sum(near.get(group, [0.0])) * present
            behind = behind or unpaid_ns > limit_ns
        needed = min(limit, needed)
        must_rerun = needed > MIN_SLOWER_RATIO * present and (behind or present > 1.0)
        return needed if must_rerun else present

    def without_waits(self, delayed: DelayedRun) -> ProfiledRun:
        """Return the run `delayed` without its waits: its time with tracing only."""
        slow, waited = delayed.slow_motion, delayed.settled.waited_by_phase
        by_name = {name: waited[n] for n, name in self.names.items() if n < PHASES}
        phases = {
            name: replace(time, cpu_ns=max(1, round(time.cpu_ns * slow) - by_name.get(name, 0)))
            for name, time in delayed.phases.items()
        }
        cpu_ns = max(1, delayed.outcome.cpu_ns - delayed.settled.delayed_ns)
        return ProfiledRun(replace(delayed.outcome, cpu_ns=cpu_ns), phases)
