"""What is said beside the numbers of an extrapolated profile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from nearfar.documents.workload import Extrapolated
from nearfar.profile.scaling.growth import Growth

Quantity = Literal["near time", "operations", "size", "accesses", "misses", "write-backs"]


@dataclass
class Notes:
    """Every number with its law and interval, and what limits them."""

    quantities: list[Extrapolated] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, quantity: Quantity, growth: Growth, phase: str, thing: int | None) -> float:
        """Keep how a number was found; return its value."""
        self.quantities.append(
            Extrapolated(
                quantity=quantity,
                phase=phase,
                object=thing,
                law=growth.law,
                held_out_error=growth.held_out_error,
                estimate=growth.estimate,
            )
        )
        return growth.estimate.value
