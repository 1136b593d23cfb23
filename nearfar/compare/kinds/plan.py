"""Two plans: what they reach, and which objects changed places."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.base.errors import NearfarError
from nearfar.compare.compared_value import ComparedValue
from nearfar.compare.kind import KINDS, ComparableKind, Names
from nearfar.documents import Plan
from nearfar.documents.plan import NEAR, Alternative, Placement


@KINDS.register("plan")
class Plans(ComparableKind[Plan]):
    """Of one program: another build, budget, memory. Computed, so there is no chance in them."""

    document = Plan

    def figures(self, documents: Sequence[Plan]) -> list[ComparedValue]:
        """Return the bars' slowdowns, room and price, and what of every object is near."""
        if len(documents) > 1:
            raise NearfarError("of plans one is compared with one: name two files")
        (plan,) = documents
        bars = [("the plan", chosen(plan)), *((one.name, one) for one in plan.alternatives)]
        found = [
            ComparedValue("slowdown", name, "x", one.slowdown.value, sigma=0.0)
            for name, one in bars
        ]
        best = bars[0][1]
        found += [
            ComparedValue("room", "near memory used", "bytes", float(best.near_bytes), sigma=0.0),
            ComparedValue("room", "price over all near", "x", best.cost_relative, sigma=0.0),
            ComparedValue("room", "footprint", "bytes", float(plan.footprint_bytes), sigma=0.0),
        ]
        found += [
            ComparedValue(
                *("objects", one.name, "bytes near", near_bytes(one), "neither"),
                sigma=0.0,
                whole=float(plan.footprint_bytes) or None,
            )
            for one in plan.placements
        ]
        return found

    def warnings(self, a: Sequence[Plan], b: Sequence[Plan], names: Names) -> list[str]:
        """Say for what they were made, where that differs."""
        found = []
        for what in ("near", "far", "phase", "budget_bytes"):
            one, two = (getattr(side[0], what) for side in (a, b))
            if one != two:
                found.append(f"{names.a} has {what} {one!r}, {names.b} {two!r}")
        return found


def chosen(plan: Plan) -> Alternative:
    """Return the bar that is what the plan does."""
    bars = {one.name: one for one in plan.alternatives}
    for name in ("per-phase", "plan") if plan.phases else ("plan",):
        if name in bars:
            return bars[name]
    if "optimal" in bars:
        return bars["optimal"]
    raise NearfarError("the plan has no bar of what it does: make it again with nearfar place")


def near_bytes(placement: Placement) -> float:
    """Return how much of an object is near."""
    if placement.parts:
        share = sum(part.share for part in placement.parts if part.memory == NEAR)
    elif placement.interleave:
        share = placement.interleave.get(NEAR, 0) / sum(placement.interleave.values())
    else:
        share = float(placement.memory == NEAR)
    return share * placement.size_bytes
