"""Read latency while other cores draw bandwidth, over load and read share, with its tails."""

from __future__ import annotations

from dataclasses import replace

from nearfar.measure.surfaces._drive import FRACTIONS, QUICK_FRACTIONS, Take, scouted
from nearfar.measure.surfaces._loads import QUICK_SHARES, SHARES, curves, few_loads, loads
from nearfar.measure.surfaces._surface import (
    SURFACES,
    Samples,
    Surface,
    SurfaceFigures,
    SurfacePlan,
)
from nearfar.samples.point import SamplePoint

TAIL_ACCESSES = 8192
"""Single accesses a round: 13 rounds have ten beyond p99.99, and 0.4 MB of times a point."""


class LoadedSurface(Surface):
    """Surface of the latency of a dependent read under load."""

    group = "loaded"
    summary = "read latency over bandwidth and read share, with p50 to p99.99 of single accesses"

    def scout(self, plan: SurfacePlan, take: Take) -> SurfacePlan:
        """Measure the drive of the generators; see `Surface.scout`."""
        if not self._can(plan):
            return plan
        return scouted(plan, _chase(plan), QUICK_SHARES if plan.quick else SHARES, take)

    def points(self, plan: SurfacePlan) -> list[SamplePoint]:
        """Return the points; see `Surface.points`."""
        if not self._can(plan):
            return []
        chase = _chase(plan)
        timed = replace(chase, each=True, accesses=TAIL_ACCESSES)
        if plan.quick:
            points = loads(plan, chase, QUICK_SHARES, QUICK_FRACTIONS)
            return points + loads(plan, timed, QUICK_SHARES[:1], QUICK_FRACTIONS)
        return loads(plan, chase, SHARES, FRACTIONS) + loads(plan, timed, SHARES, FRACTIONS)

    def figures(self, samples: Samples, plan: SurfacePlan) -> SurfaceFigures:
        """Return the figures; see `Surface.figures`."""
        loaded = curves(samples, plan, "load")
        warnings = [text for curve in loaded if (text := few_loads(curve, plan.quick))]
        return SurfaceFigures(loaded_latency=loaded, warnings=warnings)

    def lacking(self, plan: SurfacePlan) -> str:
        """Return why something cannot be measured; see `Surface.lacking`."""
        if plan.facts.threads < 2:
            return "latency under load was not measured: it takes a second CPU"
        silent = sorted({kernel for (kernel, _), drive in plan.drives.items() if drive is None})
        if silent:
            return (
                f"latency under load by {', '.join(silent)} was not measured: the bandwidth that "
                "these generators draw is unknown"
            )
        return ""

    def _can(self, plan: SurfacePlan) -> bool:
        return plan.facts.threads >= 2 and plan.has("chase")


def _chase(plan: SurfacePlan) -> SamplePoint:
    return SamplePoint("loaded", "chase", plan.page_bytes, plan.facts.largest_bytes)


SURFACES.register("loaded")(LoadedSurface())
