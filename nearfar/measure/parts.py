"""The parts of a measurement that follow the surfaces: inference, instrument, protocols.

Each is another folder's; here only when it runs, for how long, and where what it found goes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nearfar.documents.device import ProtocolResult
from nearfar.measure.budget import TimeBudget
from nearfar.measure.settings import Progress

if TYPE_CHECKING:
    from nearfar.measure.infer.findings import Findings
    from nearfar.measure.instrument import Instrument, InstrumentWatch
    from nearfar.measure.subject import Subject

INSTRUMENT_ROUND_S = 0.8
PROTOCOL_ROUND_S = 1.1
"""Of one round of all their points on an idle machine; some 30 points of 30 ms each."""

FEWEST_ROUNDS, MOST_ROUNDS = 2, 15
"""Two give an interval at all; beyond 15 the median of a protocol moves less than memory does."""


@dataclass
class PartResults:
    """What the parts found; None or empty where they did not run."""

    findings: Findings | None = None
    instrument: Instrument | None = None
    protocols: list[ProtocolResult] = field(default_factory=list)


def run_parts(
    subject: Subject, budget: TimeBudget, watch: InstrumentWatch | None, progress: Progress
) -> PartResults:
    """Run the parts that `budget` has time for, one after the other.

    `watch` has looked on since the start, where the subject has CPUs.
    """
    found = PartResults()
    if budget.has("inference"):
        from nearfar.measure.infer import infer

        found.findings = infer(subject, budget.inference, progress)
    if budget.has("protocols"):
        from nearfar.measure.protocols import run_protocols

        found.protocols = run_protocols(
            subject, rounds=_rounds(budget.protocols, PROTOCOL_ROUND_S), progress=progress
        )
    if budget.has("instrument"):
        from nearfar.measure.instrument import examine

        # Last: its watch has then seen everything.
        found.instrument = examine(
            subject,
            rounds=_rounds(budget.instrument, INSTRUMENT_ROUND_S),
            watch=watch,
            progress=progress,
        )
    return found


def _rounds(seconds: float, round_s: float) -> int:
    return max(FEWEST_ROUNDS, min(MOST_ROUNDS, int(seconds / round_s)))
