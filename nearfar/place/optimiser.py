"""What an optimiser is. Each is one file in `optimisers/` and is found by the registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nearfar.base.registry import Registry
from nearfar.documents.plan import BarName
from nearfar.place.problem import Problem
from nearfar.predict.traffic import Array


@dataclass(frozen=True, eq=False)
class Choice:
    """Where everything goes."""

    shares: Array
    """(objects, memories), rows sum to 1."""
    proven_gap: float | None = None
    """How far from the best the choice can be, of the time it saves; None: nothing is proven."""

    @property
    def near_shares(self) -> Array:
        """Per object, 0..1."""
        return np.asarray(self.shares[:, 0])


class Optimiser:
    """Chooses where objects go for a budget of near memory."""

    name: ClassVar[str]
    bar: ClassVar[BarName]
    """What the plan's table calls it."""
    only_bar: ClassVar[bool] = False
    """It heeds no budget or splits objects: something to compare with, no plan."""

    def choose(self, problem: Problem, budget_bytes: int) -> Choice:
        """Return the choice. What stays near never takes more than `budget_bytes`, nor what goes
        to a far memory more than its capacity; those that are `only_bar` may say otherwise.
        """
        raise NotImplementedError


OPTIMISERS: Registry[type[Optimiser]] = Registry("nearfar.place.optimisers", "optimiser")
