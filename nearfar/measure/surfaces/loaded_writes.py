"""Latency of a persisted write while other cores draw bandwidth, with its tails."""

from __future__ import annotations

from nearfar.measure.surfaces._drive import QUICK_FRACTIONS, WRITES_FRACTIONS, Take, scouted
from nearfar.measure.surfaces._loads import curves, few_loads, loads
from nearfar.measure.surfaces._surface import (
    SURFACES,
    Samples,
    Surface,
    SurfaceFigures,
    SurfacePlan,
)
from nearfar.measure.surfaces.loaded import TAIL_ACCESSES
from nearfar.measure.surfaces.writes import INSTRUCTIONS
from nearfar.samples.point import SamplePoint

WRITES = ("persist-clwb", "persist-nt-store", "persist-clflushopt")
"""Kernels in order of preference: --quick measures the first available, else the first two."""

SHARES = (1.0, 0.5, 0.0)


class LoadedWritesSurface(Surface):
    """Surface of the latency of a write, its flush and its fence under load."""

    group = "loaded"
    summary = "persisted-write latency over bandwidth and read share, with p50 to p99.99"

    def scout(self, plan: SurfacePlan, take: Take) -> SurfacePlan:
        """Measure the drive of the generators; see `Surface.scout`."""
        for write in _timed(plan)[:1]:
            plan = scouted(plan, write, SHARES[:1] if plan.quick else SHARES, take)
        return plan

    def points(self, plan: SurfacePlan) -> list[SamplePoint]:
        """Return the points; see `Surface.points`."""
        shares = SHARES[:1] if plan.quick else SHARES
        fractions = QUICK_FRACTIONS if plan.quick else WRITES_FRACTIONS
        return [point for write in _timed(plan) for point in loads(plan, write, shares, fractions)]

    def figures(self, samples: Samples, plan: SurfacePlan) -> SurfaceFigures:
        """Return the figures; see `Surface.figures`."""
        parts = SurfaceFigures()
        for kernel in WRITES:
            of_kernel = {point: taken for point, taken in samples.items() if point.kernel == kernel}
            parts.loaded_latency += curves(of_kernel, plan, INSTRUCTIONS[kernel][0])
        parts.warnings = [
            text for curve in parts.loaded_latency if (text := few_loads(curve, plan.quick))
        ]
        return parts

    def lacking(self, plan: SurfacePlan) -> str:
        """Return why something cannot be measured; see `Surface.lacking`."""
        if plan.facts.threads < 2:
            return "persisted writes under load were not measured: it takes a second CPU"
        return ""


def _timed(plan: SurfacePlan) -> list[SamplePoint]:
    """Return the timed writes; none if no generator can run with them."""
    if plan.facts.threads < 2:
        return []
    kernels = [name for name in WRITES if plan.has(name)]
    return [
        SamplePoint(
            "loaded",
            kernel,
            plan.page_bytes,
            plan.facts.largest_bytes,
            each=True,
            accesses=TAIL_ACCESSES,
        )
        for kernel in kernels[: 1 if plan.quick else 2]
    ]


SURFACES.register("loaded-writes")(LoadedWritesSurface())
