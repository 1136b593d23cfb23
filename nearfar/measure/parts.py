"""The parts of a measurement that follow the surfaces: inference, instrument, protocols.

Each part has a folder of its own; this module decides when and how long it runs, and where its
results go.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nearfar.documents.device import ProtocolResult
from nearfar.measure.figures import Samples
from nearfar.measure.infer import infer
from nearfar.measure.infer.findings import Findings
from nearfar.measure.instrument import Instrument, InstrumentWatch, disturbed_share, examine
from nearfar.measure.protocols import run_protocols
from nearfar.measure.settings import Progress
from nearfar.measure.subject import Subject

QUICK_S = 18.0
FULL_S = 290.0
"""Time until the last sample, s; computing and writing end within 20 s and 5 minutes. With three
times the full time, intervals are 1.3 to 1.8 times narrower, but medians of runs minutes apart
differ more (docs/measure.md)."""

QUICK_PARTS = ("bandwidth", "chains", "idle", "loaded")
"""Parts of a short measurement: what predictions read, and "writes" where memory is durable."""

SHARES = {"surfaces": 0.53, "inference": 0.33, "instrument": 0.05, "protocols": 0.09}
"""Share of the time for each part: predictions use the surfaces; inference measures many region
sizes; the other two have few points. Time that a part leaves is not used by the next."""


@dataclass(frozen=True)
class TimeBudget:
    """Seconds for each part; 0: it is left out."""

    surfaces: float
    inference: float
    instrument: float
    protocols: float

    @property
    def total(self) -> float:
        """All parts together."""
        return self.surfaces + self.inference + self.instrument + self.protocols

    def text(self) -> str:
        """Return the shares as text: ``surfaces 33 s, inference 15 s``."""
        return ", ".join(f"{part} {getattr(self, part):.0f} s" for part in SHARES if self.has(part))

    def has(self, part: str) -> bool:
        """Return whether there is any time for `part`."""
        return float(getattr(self, part)) > 0


def share_out(seconds: float, parts: set[str]) -> TimeBudget:
    """Share `seconds` out among `parts` (names of `SHARES`)."""
    total = sum(share for part, share in SHARES.items() if part in parts)
    given = {
        part: seconds * share / total if part in parts else 0.0 for part, share in SHARES.items()
    }
    return TimeBudget(**given)


INSTRUMENT_ROUND_S = 0.8
PROTOCOL_ROUND_S = 1.1
"""Time of one round on an idle machine: some 30 points of 30 ms each."""

MIN_ROUNDS, MAX_ROUNDS = 2, 15
"""Two rounds give an interval; beyond 15 a protocol's median moves less than the memory."""


@dataclass
class PartResults:
    """Results of the parts; None or empty where they did not run."""

    findings: Findings | None = None
    instrument: Instrument | None = None
    protocols: list[ProtocolResult] = field(default_factory=list)


def run_parts(
    subject: Subject,
    budget: TimeBudget,
    watch: InstrumentWatch | None,
    progress: Progress,
    surfaces: Samples,
) -> PartResults:
    """Run the parts that `budget` has time for, one after the other.

    `watch` runs since the start if the subject has CPUs. `surfaces`: samples taken until now.
    """
    results = PartResults()
    if budget.has("inference"):
        results.findings = infer(subject, budget.inference, progress)
    if budget.has("protocols"):
        results.protocols = run_protocols(
            subject, rounds=_rounds(budget.protocols, PROTOCOL_ROUND_S), progress=progress
        )
    if budget.has("instrument"):
        # The instrument runs last, so that its watch covers the whole measurement.
        results.instrument = examine(
            subject,
            rounds=_rounds(budget.instrument, INSTRUMENT_ROUND_S),
            watch=watch,
            progress=progress,
        )
    elif watch is not None:
        inferred = {} if results.findings is None else results.findings.taken
        share = disturbed_share([*surfaces.values(), *inferred.values()])
        results.instrument = Instrument(tuple(watch.verdicts(share)), {})
    return results


def _rounds(seconds: float, round_s: float) -> int:
    return max(MIN_ROUNDS, min(MAX_ROUNDS, int(seconds / round_s)))
