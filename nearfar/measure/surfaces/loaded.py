"""Read latency while other cores draw bandwidth, over load and read share, with its tails."""

from __future__ import annotations

from nearfar.measure.subject import Point
from nearfar.measure.surfaces._loads import (
    PAUSES_NS,
    QUICK_PAUSES_NS,
    QUICK_SHARES,
    SHARES,
    curves,
    loads,
)
from nearfar.measure.surfaces._surface import SURFACES, Parts, Plan, Samples, Surface

TAIL_ACCESSES = 8192
"""Single accesses a round: 13 rounds see ten beyond p99.99, and keep 0.4 MB of times a point."""


class Loaded(Surface):
    """Latency of a dependent read under load."""

    group = "loaded"
    summary = "read latency over bandwidth and read share, with p50 to p99.99 of single accesses"

    def points(self, plan: Plan) -> list[Point]:
        """Return the points; see `Surface.points`."""
        if plan.facts.threads < 2 or not plan.has("chase"):
            return []
        chase = Point("loaded", "chase", plan.page_bytes, plan.facts.largest_bytes)
        found = loads(
            plan,
            chase,
            QUICK_SHARES if plan.quick else SHARES,
            QUICK_PAUSES_NS if plan.quick else PAUSES_NS,
        )
        timed = Point(
            "loaded",
            "chase",
            plan.page_bytes,
            plan.facts.largest_bytes,
            each=True,
            accesses=TAIL_ACCESSES,
        )
        return found + loads(
            plan,
            timed,
            QUICK_SHARES[:1] if plan.quick else SHARES,
            QUICK_PAUSES_NS if plan.quick else PAUSES_NS,
        )

    def figures(self, samples: Samples, plan: Plan) -> Parts:
        """Return the figures; see `Surface.figures`."""
        return Parts(loaded_latency=curves(samples, plan, "load"))

    def lacking(self, plan: Plan) -> str:
        """Return what cannot be had; see `Surface.lacking`."""
        if plan.facts.threads < 2:
            return "latency under load was not measured: it takes a second CPU"
        return ""


SURFACES.register("loaded")(Loaded())
