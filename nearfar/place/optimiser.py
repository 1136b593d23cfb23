"""The interface of an optimiser. Each is one file in `optimisers/`, found by the registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nearfar.base.registry import Registry
from nearfar.documents.plan import BarName
from nearfar.place.problem import Problem
from nearfar.predict.traffic import Array


@dataclass(frozen=True, eq=False)
class PlacementChoice:
    """Shares of all objects in all memories."""

    shares: Array
    """(objects, memories); rows sum to 1."""

    @property
    def near_shares(self) -> Array:
        """Near share of each object, 0 to 1."""
        return np.asarray(self.shares[:, 0])


class Optimiser:
    """A method that chooses each object's memory for a budget of near memory."""

    bar: ClassVar[BarName]
    """Name of its row in the plan's table."""
    only_bar: ClassVar[bool] = False
    """Whether it is only a bar to compare with, never the plan: it ignores the budget or splits
    objects."""
    uses_budget: ClassVar[bool] = True
    """Whether its choice depends on the budget."""

    def choose(self, problem: Problem, budget_bytes: int) -> PlacementChoice:
        """Return a choice with at most `budget_bytes` near and within far memories' capacities.

        Optimisers that are `only_bar` may exceed both.
        """
        raise NotImplementedError


OPTIMISERS: Registry[type[Optimiser]] = Registry("nearfar.place.optimisers", "optimiser")
