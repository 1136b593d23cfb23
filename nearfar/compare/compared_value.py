"""One number of a document, and its spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nearfar.base.estimate import Estimate

Worse = Literal["more", "less", "neither"]

Z95, Z90 = 1.959964, 1.644854
"""Half-widths of 95 % and 90 % intervals of the normal distribution, in standard deviations."""


@dataclass(frozen=True)
class ComparedValue:
    """A number that both documents have under the same family and name."""

    family: str
    name: str
    unit: str
    """ns, bytes, GB/s, "misses", "x" (a ratio)."""
    value: float
    worse: Worse = "more"
    samples: tuple[float, ...] = ()
    """Repetitions; `value` is their median."""
    sigma: float | None = None
    """Standard error of `value`; 0: it has no random error; None: see `samples`, or unknown."""
    repetitions: int | None = None
    """Repetitions that gave `sigma`; None: it is known well."""
    total: float | None = None
    """The sum that the value is a part of: a limit is on its share of that."""
    timed: bool = False
    """Whether it is a time, comparable only on one machine."""
    note: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Family and name, by which values are matched."""
        return self.family, self.name


def from_interval(estimate: Estimate, z: float) -> float:
    """Return the standard error of an interval of `z` standard deviations to each side."""
    return (estimate.high - estimate.low) / (2.0 * z)
