"""Two plans: their slowdowns, and which objects moved."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.base.errors import NearfarError
from nearfar.compare.kind import KINDS, ComparableKind, ComparedValue, SideNames
from nearfar.documents import Plan
from nearfar.documents.plan import NEAR, Alternative, Placement


@KINDS.register("plan")
class Plans(ComparableKind[Plan]):
    """Plans of one program with another build, budget or memory; they have no random error."""

    document = Plan

    def values(self, documents: Sequence[Plan]) -> list[ComparedValue]:
        """Return the bars' slowdowns, memory and price, and the near bytes of every object."""
        if len(documents) > 1:
            raise NearfarError("a plan is compared with one plan: name two files")
        (plan,) = documents
        bars = [
            ("the plan", chosen(plan)),
            *((option.name, option) for option in plan.alternatives),
        ]
        values = [
            ComparedValue("slowdown", name, "x", bar.slowdown.value, sigma=0.0)
            for name, bar in bars
        ]
        best = bars[0][1]
        values += [
            ComparedValue("room", "near memory used", "bytes", float(best.near_bytes), sigma=0.0),
            ComparedValue("room", "price over all near", "x", best.cost_relative, sigma=0.0),
            ComparedValue("room", "footprint", "bytes", float(plan.footprint_bytes), sigma=0.0),
        ]
        values += [
            ComparedValue(
                *("objects", placed.name, "bytes near", near_bytes(placed), "neither"),
                sigma=0.0,
                total=float(plan.footprint_bytes) or None,
            )
            for placed in plan.placements
        ]
        return values

    def warnings(self, a: Sequence[Plan], b: Sequence[Plan], names: SideNames) -> list[str]:
        """Warn of plans made for different inputs."""
        warnings = []
        for what in ("near", "far", "phase", "budget_bytes"):
            first, second = (getattr(side[0], what) for side in (a, b))
            if first != second:
                warnings.append(f"{names.a} has {what} {first!r}, {names.b} {second!r}")
        return warnings


def chosen(plan: Plan) -> Alternative:
    """Return the bar of the plan itself."""
    bars = {bar.name: bar for bar in plan.alternatives}
    for name in ("per-phase", "plan") if plan.phases else ("plan",):
        if name in bars:
            return bars[name]
    if "optimal" in bars:
        return bars["optimal"]
    raise NearfarError("the plan has no bar of its own: make it again with nearfar place")


def near_bytes(placement: Placement) -> float:
    """Return the near bytes of an object."""
    if placement.parts:
        share = sum(part.share for part in placement.parts if part.memory == NEAR)
    elif placement.interleave:
        share = placement.interleave.get(NEAR, 0) / sum(placement.interleave.values())
    else:
        share = float(placement.memory == NEAR)
    return share * placement.size_bytes
