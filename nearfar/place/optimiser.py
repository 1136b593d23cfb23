"""What an optimiser is. Each is one file in `optimisers/` and is found by the registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from nearfar.base.registry import Registry
from nearfar.place.problem import Problem
from nearfar.predict.traffic import Array

BarName = Literal["all-near", "all-far", "page-interleaved", "hot-first", "greedy", "optimal"]


@dataclass(frozen=True, eq=False)
class Choice:
    """What stays near."""

    near_shares: Array
    """Per object, 0..1."""
    proven_gap: float | None = None
    """How far from the best the choice can be, of the time it saves; None: nothing is proven."""


class Optimiser:
    """Chooses what stays near for a budget."""

    name: ClassVar[str]
    bar: ClassVar[BarName]
    """What the plan's table calls it."""
    only_bar: ClassVar[bool] = False
    """It heeds no budget or splits objects: something to compare with, no plan."""

    def choose(self, problem: Problem, budget_bytes: int) -> Choice:
        """Return the choice. What stays near never takes more than `budget_bytes`; those
        that are `only_bar` may say otherwise.
        """
        raise NotImplementedError


OPTIMISERS: Registry[type[Optimiser]] = Registry("nearfar.place.optimisers", "optimiser")
