"""A phase's bursts, made into what the native window runs when a model first asks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from nearfar.documents.bursts import Bursts
from nearfar.documents.workload import WorkloadProfile

if TYPE_CHECKING:
    from nearfar.profile.bursts.trace import BurstTrace


MAX_INSTRUCTIONS = 100_000
"""Enough for a mean over ten bursts of code that computes a lot, and 20 ms in the window."""


@dataclass(frozen=True, eq=False)
class RecordedBursts:
    """The bursts of one phase."""

    bursts: Bursts
    number: int
    """Of the phase, in `bursts.phases`."""

    @cached_property
    def trace(self) -> BurstTrace:
        """The bursts as arrays; made once, as it takes as long as many predictions."""
        from nearfar.profile.bursts.trace import make_trace

        return make_trace(self.bursts, self.number, MAX_INSTRUCTIONS)


def recorded_bursts(workload: WorkloadProfile, phase: str) -> RecordedBursts | None:
    """Return the bursts of the phase of this name; None where the profile has none."""
    if workload.bursts is None:
        return None
    for number, one in enumerate(workload.bursts.phases):
        if one.phase == phase and one.bursts:
            return RecordedBursts(workload.bursts, number)
    return None
