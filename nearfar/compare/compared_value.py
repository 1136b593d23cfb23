"""One number of a document, and what is known of its spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nearfar.base.estimate import Estimate

Worse = Literal["more", "less", "neither"]

Z95, Z90 = 1.959964, 1.644854
"""Half-widths of 95 % and 90 % intervals of the normal distribution, in standard deviations."""


@dataclass(frozen=True)
class ComparedValue:
    """A number that another document has too, under the same family and name."""

    family: str
    name: str
    unit: str
    """ns, bytes, GB/s, "misses", "x" (a ratio)."""
    value: float
    worse: Worse = "more"
    samples: tuple[float, ...] = ()
    """Repetitions, of which `value` is the median."""
    sigma: float | None = None
    """Standard error of `value`; 0: there is no chance in it. None: see `samples`, or unknown."""
    repetitions: int | None = None
    """That `sigma` was estimated from; None: known well."""
    whole: float | None = None
    """The sum that it is a part of: a limit is on its share of that."""
    timed: bool = False
    """It is a time of one machine, and says nothing of another's."""
    note: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What it is matched by."""
        return self.family, self.name


def from_interval(estimate: Estimate, z: float) -> float:
    """Return the standard error that an interval of `z` standard deviations to each side says."""
    return (estimate.high - estimate.low) / (2.0 * z)
