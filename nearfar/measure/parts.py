"""The parts of a measurement that follow the surfaces: inference, instrument, protocols.

Each is another folder's; here only when it runs, for how long, and where what it found goes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nearfar.documents.device import ProtocolResult
from nearfar.measure.budget import Budget
from nearfar.measure.settings import Progress

if TYPE_CHECKING:
    from nearfar.measure.infer.findings import Findings
    from nearfar.measure.instrument import Instrument, Watch
    from nearfar.measure.subject import Subject

INSTRUMENT_ROUNDS = (5, 15)
"""With --quick and without: an interval of a median needs five to be narrower than the extremes."""
PROTOCOL_ROUNDS = (5, 15)


@dataclass
class Found:
    """What the parts found; None or empty where they did not run."""

    findings: Findings | None = None
    instrument: Instrument | None = None
    protocols: list[ProtocolResult] = field(default_factory=list)


def run_parts(
    subject: Subject, budget: Budget, quick: bool, watch: Watch | None, progress: Progress
) -> Found:
    """Run the parts that `budget` has time for, one after the other.

    `watch` has looked on since the start, where the subject has CPUs.
    """
    found = Found()
    which = 0 if quick else 1
    if budget.has("inference"):
        from nearfar.measure.infer import infer

        found.findings = infer(subject, budget.inference, progress)
    if budget.has("protocols"):
        from nearfar.measure.protocols import run_protocols

        found.protocols = run_protocols(subject, rounds=PROTOCOL_ROUNDS[which], progress=progress)
    if budget.has("instrument"):
        from nearfar.measure.instrument import examine

        # Last: its watch has then seen everything.
        found.instrument = examine(
            subject, rounds=INSTRUMENT_ROUNDS[which], watch=watch, progress=progress
        )
    return found
