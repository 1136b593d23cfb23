"""``[[place]]``: what must stay near for a budget, as `nearfar place` does."""

from __future__ import annotations

import json
from typing import ClassVar

from nearfar.base.errors import NearfarError
from nearfar.documents.plan import Alternative
from nearfar.documents.prediction import HostRule
from nearfar.options.place import PlaceOptions
from nearfar.place.api import place
from nearfar.place.budget import parse_budget_bytes, parse_price
from nearfar.place.goal import check_goal
from nearfar.place.optimiser import OPTIMISERS
from nearfar.points.inputs import PointInputs
from nearfar.points.kind import POINT_KINDS
from nearfar.points.profiled import ProfiledPoint
from nearfar.points.row import PointValues
from nearfar.predict.total import TOTAL


@POINT_KINDS.register("place")
class PlacePoint(ProfiledPoint, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One plan."""

    NAME: ClassVar[str] = "place"
    CODE: ClassVar[tuple[str, ...]] = ("devices", "place", "predict", "sim", "_window")

    budget: str | None = None
    """Near memory: 2GiB, 25%, price:40%."""
    slo: float | None = None
    """In place of a budget: the most slowdown; the least near memory that keeps it is sought."""
    model: str = PlaceOptions.model
    optimiser: str = PlaceOptions.optimiser
    host: HostRule = PlaceOptions.host
    phase: str = PlaceOptions.phase

    def check(self, inputs: PointInputs) -> None:
        """Refuse budgets, goals, optimisers, models and memories that place refuses."""
        if (self.budget is None) == (self.slo is None):
            raise NearfarError("a plan needs either budget or slo")
        if self.budget is not None and parse_price(self.budget) is None:
            parse_budget_bytes(self.budget, 1)
        if self.slo is not None:
            check_goal(self.slo)
        if OPTIMISERS.get(self.optimiser).only_bar:
            raise NearfarError(f"{self.optimiser} is only a bar for comparison, not an optimiser")
        self.check_profile(inputs, self.model, None if self.phase == TOTAL else [self.phase])

    def run(self, inputs: PointInputs) -> tuple[PointValues, None]:
        """Compute the plan."""
        plan = place(
            self.profile_of(inputs),
            inputs.device(self.near),
            inputs.device(self.far),
            self.budget,
            self.phase,
            optimiser=self.optimiser,
            model=self.model,
            host=self.host,
            goal=self.slo,
            details=False,
        )
        bars: dict[str, Alternative] = {bar.name: bar for bar in plan.alternatives}
        chosen = bars.get("plan") or bars[_bar(self.optimiser)]
        return PointValues(
            time_ns=chosen.time_ns.value,
            time_low_ns=chosen.time_ns.low,
            time_high_ns=chosen.time_ns.high,
            slowdown=chosen.slowdown.value,
            slowdown_low=chosen.slowdown.low,
            slowdown_high=chosen.slowdown.high,
            near_time_ns=bars["all-near"].time_ns.value,
            near_bytes=chosen.near_bytes,
            footprint_bytes=plan.footprint_bytes,
            cost_relative=chosen.cost_relative,
            more=json.dumps(
                {
                    "budget_bytes": plan.budget_bytes,
                    "goal_reached": None if plan.goal is None else plan.goal.reached,
                    "slowdowns": {name: bar.slowdown.value for name, bar in bars.items()},
                }
            ),
        ), None


def _bar(optimiser: str) -> str:
    return "optimal" if optimiser == "exact" else optimiser
