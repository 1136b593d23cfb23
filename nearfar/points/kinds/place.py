"""``[[place]]``: what must stay near for a budget, as `nearfar place` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

from nearfar.base.errors import NearfarError
from nearfar.base.units import parse_budget_bytes
from nearfar.documents.plan import Alternative
from nearfar.options.place import PlaceOptions
from nearfar.place.api import place
from nearfar.place.budget import parse_price
from nearfar.place.goal import check_goal
from nearfar.place.optimiser import OPTIMISERS
from nearfar.points.inputs import PointInputs
from nearfar.points.kind import POINT_KINDS, with_options
from nearfar.points.profiled import ProfiledPoint
from nearfar.points.row import PointValues
from nearfar.predict.total import TOTAL


@POINT_KINDS.register("place")
@with_options(PlaceOptions, "budget", "slo", "model", "optimiser", "host", "phase")
class PlacePoint(ProfiledPoint, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One plan."""

    NAME: ClassVar[str] = "place"
    CODE: ClassVar[tuple[str, ...]] = ("devices", "place", "predict", "sim", "_window")

    def check(self, inputs: PointInputs) -> None:
        """Refuse budgets, goals, optimisers, models and memories that place refuses."""
        asked = self.asked(PlaceOptions, profile=[Path(self.source)])
        if (asked.budget is None) == (asked.slo is None):
            raise NearfarError("a plan needs either budget or slo")
        if asked.budget is not None and parse_price(asked.budget) is None:
            parse_budget_bytes(asked.budget, 1)
        if asked.slo is not None:
            check_goal(asked.slo)
        if OPTIMISERS.get(asked.optimiser).only_bar:
            raise NearfarError(f"{asked.optimiser} is only a bar for comparison, not an optimiser")
        phases = None if asked.phase == TOTAL else [asked.phase]
        self.check_profile(inputs, asked.model, phases, asked.host)

    def run(self, inputs: PointInputs) -> tuple[PointValues, None]:
        """Compute the plan."""
        asked = self.asked(
            PlaceOptions,
            profile=[self.profile_of(inputs)],
            near=inputs.device(self.near),
            far=[inputs.device(self.far)],
            details=False,
        )
        plan = place(asked)
        bars: dict[str, Alternative] = {bar.name: bar for bar in plan.alternatives}
        chosen = bars.get("plan") or bars[_bar(asked.optimiser)]
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
