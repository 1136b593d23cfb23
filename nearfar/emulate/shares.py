"""What share of traced time is the program's own, and whether a run with delays bears it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import median

from nearfar.emulate import file
from nearfar.profile.session import ProfiledRun
from nearfar.program.launch import RunOutcome
from nearfar.program.phases import PhaseTime

APART = 0.03
"""How much tracing's share may change by waiting before the program is run once more."""
MINDED = 0.01
"""Of the time of all phases, and of a phase's own the waits: less is not worth a run."""
SPARE = 1.1
"""Slow motion beyond what tracing takes: batches differ."""
UNPAID = 0.02
"""Of near time: what tracing may take too long before the program is run in slow motion."""
MORE_SLOWLY = 1.03
"""What is needed over what there was before the program is run once more: of a tenth to spare,
most is left."""

Shares = Mapping[int, float]
"""Plain over traced CPU time, 0..1, by number of phase; -1: of the whole run."""


@dataclass(frozen=True)
class Delayed:
    """A run with delays."""

    outcome: RunOutcome
    phases: dict[str, PhaseTime]
    """Measured times over `slow_motion`."""
    paid: file.Paid
    slow_motion: float


@dataclass(frozen=True)
class Parts:
    """A program's phases, and what they are parts of: parts do the same work."""

    names: Mapping[int, str]
    """By number of phase."""
    one_of: Callable[[str], str] = str

    def numbers(self) -> dict[str, list[int]]:
        """Return the phases' numbers by what they are parts of."""
        found: dict[str, list[int]] = {}
        for number, name in self.names.items():
            found.setdefault(self.one_of(name), []).append(number)
        return found

    def times(self, phases: Mapping[str, PhaseTime]) -> dict[str, list[float]]:
        """Return the phases' CPU times by what they are parts of, ns."""
        found: dict[str, list[float]] = {}
        for name, phase in phases.items():
            found.setdefault(self.one_of(name), []).append(phase.cpu_ns)
        return found

    def shares(self, plain: ProfiledRun, traced: ProfiledRun) -> dict[int, float]:
        """Return what share of `traced` is the program's own: of parts the middle one's."""
        found = {-1: min(1.0, plain.outcome.cpu_ns / max(1, traced.outcome.cpu_ns))}
        before, with_tests = self.times(plain.phases), self.times(traced.phases)
        for whole, numbers in self.numbers().items():
            own, took = (median(times.get(whole, [0.0])) for times in (before, with_tests))
            if own > 0.0 and took > 0.0:
                found |= dict.fromkeys(numbers, min(1.0, own / took))
        return found

    def minded(self, delayed: Delayed) -> list[str]:
        """Return what took a part of the run that matters, and was settled with memory.

        By what phases are parts of: where the far memory is hardly slower, a part of a stream waits
        a few milliseconds, and yet its error is that of its share.
        """
        took = {whole: sum(times) for whole, times in self.times(delayed.phases).items()}
        least = MINDED * sum(took.values())
        settled = {
            whole: sum(delayed.paid.settled_ns(number) for number in numbers)
            for whole, numbers in self.numbers().items()
        }
        return [
            whole
            for whole, ns in took.items()
            if ns > least and settled.get(whole, 0) > MINDED * ns * delayed.slow_motion
        ]

    def apart(self, one: Shares, other: Shares, delayed: Delayed) -> float:
        """Return the greatest change of a share, of phases that are minded."""
        numbers = self.numbers()
        changes = [
            abs(other[number] / one[number] - 1.0)
            for whole in self.minded(delayed)
            for number in numbers[whole]
            if number in one and number in other
        ]
        return max(changes, default=0.0)

    def slow_motion(
        self, plain: ProfiledRun, delayed: Delayed, assumed: Shares, beside: Shares, most: float
    ) -> float:
        """Return how slowly to run the program, up to `most`; as it was run where that will do.

        `assumed` are the shares it was run with, `beside` those beside delays, where tracing takes
        longer than without. What far memory takes is what was measured less what is unpaid.
        """
        had, numbers, paid = delayed.slow_motion, self.numbers(), delayed.paid
        took = {whole: sum(times) * had for whole, times in self.times(delayed.phases).items()}
        near = self.times(plain.phases)
        minded = self.minded(delayed)
        needed = 1.0 if minded else SPARE / beside[-1]
        behind = paid.unpaid_ns > UNPAID * plain.outcome.cpu_ns * had
        for whole in minded:
            of = [number for number in numbers[whole] if number < file.PHASES]
            waited_ns = sum(paid.waited_ns[number] for number in of)
            unpaid_ns = sum(paid.unpaid_of[number] for number in of)
            less = min([1.0, *(beside[n] / assumed[n] for n in of if n in beside and n in assumed)])
            far_ns = max(1.0, (took[whole] - unpaid_ns) / had * less)
            needed = max(needed, SPARE * (took[whole] - waited_ns) / far_ns)
            behind = behind or unpaid_ns > UNPAID * sum(near.get(whole, [0.0])) * had
        needed = min(most, needed)
        return needed if needed > MORE_SLOWLY * had and (behind or had > 1.0) else had

    def without_waits(self, delayed: Delayed) -> ProfiledRun:
        """Return a run with delays as if it had not waited: what tracing took beside delays."""
        slow, waited = delayed.slow_motion, delayed.paid.waited_ns
        of_phase = {name: waited[n] for n, name in self.names.items() if n < file.PHASES}
        phases = {
            name: replace(time, cpu_ns=max(1, round(time.cpu_ns * slow) - of_phase.get(name, 0)))
            for name, time in delayed.phases.items()
        }
        cpu_ns = max(1, delayed.outcome.cpu_ns - delayed.paid.delayed_ns)
        return ProfiledRun(replace(delayed.outcome, cpu_ns=cpu_ns), phases)
