"""Verdicts of the instrument's probes: a sentence, whether figures suffer, a remedy, facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from nearfar.documents.device import LatencyFigure
from nearfar.measure.subject import SubjectFacts
from nearfar.samples.point import SamplePoint


def plain_chase(
    facts: SubjectFacts, figure: Literal["instrument", "protocol"] = "instrument"
) -> SamplePoint:
    """Return dependent loads, random over the largest region, on the largest pages there are."""
    return SamplePoint(figure, "chase", facts.page_sizes[0], facts.largest_bytes)


def page_name(page_bytes: int) -> str:
    """Return ``2 MiB`` or ``4 KiB``."""
    return f"{page_bytes >> 20} MiB" if page_bytes >= 1 << 20 else f"{page_bytes >> 10} KiB"


State = Literal["good", "doubtful", "unknown"]
"""doubtful: figures suffer. unknown: not visible; a warning if a remedy makes it visible."""

Values = Mapping[SamplePoint, Sequence[float]]
"""One value a round of every point."""


@dataclass(frozen=True)
class InstrumentVerdict:
    """Verdict on one property of the instrument."""

    name: str
    """Name such as "tlb"; first part of the keys of `facts`."""
    state: State
    text: str
    """One sentence, with figures."""
    remedy: str = ""
    """Remedy, as a command where there is one."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """For `MeasuredContext.environment`."""
    latency: tuple[LatencyFigure, ...] = ()
    """Figures that belong into the DeviceProfile."""

    @property
    def warning(self) -> str:
        """The sentence to warn with; empty: nothing to warn of."""
        if self.state == "good" or (self.state == "unknown" and not self.remedy):
            return ""
        return f"{self.text}: {self.remedy}" if self.remedy else self.text


class InstrumentProbe(Protocol):
    """One module of this folder: it names points and judges their values."""

    def points(self, facts: SubjectFacts) -> list[SamplePoint]:
        """Return what to measure; empty where the subject cannot show it."""

    def judge(self, facts: SubjectFacts, values: Values) -> list[InstrumentVerdict]:
        """Return the verdict of this probe from the values of all probes' points."""
