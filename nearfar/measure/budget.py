"""How the time of a measurement is shared out among its parts."""

from __future__ import annotations

from dataclasses import dataclass

QUICK_S = 55.0
FULL_S = 870.0
"""Until the last sample; statistics and writing come after, within the minute and the 15."""

SHARES = {"surfaces": 0.58, "inference": 0.27, "instrument": 0.05, "protocols": 0.10}
"""Of the time: the surfaces are what predictions are made of; the inference has to look at many
region sizes; the other two have few points. What a part leaves is not given to the next."""


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

    def said(self) -> str:
        """Return the shares for people: ``surfaces 33 s, inference 15 s``."""
        return ", ".join(f"{part} {getattr(self, part):.0f} s" for part in SHARES if self.has(part))

    def has(self, part: str) -> bool:
        """Say whether there is any time for `part`."""
        return float(getattr(self, part)) > 0


def share_out(seconds: float, parts: set[str]) -> TimeBudget:
    """Share `seconds` out among `parts` (names of `SHARES`)."""
    whole = sum(share for part, share in SHARES.items() if part in parts)
    given = {
        part: seconds * share / whole if part in parts else 0.0 for part, share in SHARES.items()
    }
    return TimeBudget(**given)
