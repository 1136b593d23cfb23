"""Independent chains: ns per access of one core that keeps 1 to 32 chases going."""

from __future__ import annotations

from nearfar.documents.device import ChainsFigure
from nearfar.measure.surfaces._surface import (
    MEASURED_HERE,
    SURFACES,
    Samples,
    Surface,
    SurfaceFigures,
    SurfacePlan,
    ns_of,
)
from nearfar.samples.point import SamplePoint

CHAINS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Up to beyond the line-fill buffers of today's cores (10 to 16, and 48 behind them)."""


class ChainsSurface(Surface):
    """How far one core overlaps misses."""

    group = "chains"
    summary = "ns per access with 1 to 32 independent chains in one core"

    def points(self, plan: SurfacePlan) -> list[SamplePoint]:
        """Return the points; see `Surface.points`."""
        if not plan.has("chains"):
            return []
        return [
            SamplePoint("chains", "chains", page_bytes, plan.facts.largest_bytes, chains=count)
            for page_bytes in plan.facts.page_sizes
            for count in CHAINS
        ]

    def figures(self, samples: Samples, plan: SurfacePlan) -> SurfaceFigures:
        """Return the figures; see `Surface.figures`."""
        del plan
        return SurfaceFigures(
            chains=[
                ChainsFigure(
                    chains=point.chains,
                    page_bytes=point.page_bytes,
                    **ns_of(taken),
                    **MEASURED_HERE,
                )
                for point, taken in samples.items()
            ]
        )


SURFACES.register("chains")(ChainsSurface())
