"""Idle read latency by region, pattern and page size: dependent loads of one thread."""

from __future__ import annotations

import msgspec

from nearfar.documents.device import LatencyFigure, Pattern
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

PATTERNS: dict[str, Pattern] = {"chase": "random", "chase-sequential": "sequential"}
"""Pattern of the figures by kernel."""

STRIDES_BYTES = (128, 256, 512, 1024, 4096, 16384)
"""Strides: two lines (adjacent-line prefetchers end), Optane's block, DRAM rows and pages."""
QUICK_STRIDES_BYTES = (256, 4096)


class IdleSurface(Surface):
    """Surface of the latency of a dependent read."""

    group = "latency"
    summary = "idle read latency by region size, pattern and page size"

    def points(self, plan: SurfacePlan) -> list[SamplePoint]:
        """Return the points; see `Surface.points`."""
        points: list[SamplePoint] = []
        for page_bytes in plan.facts.page_sizes:
            largest_pages = page_bytes == plan.page_bytes
            kernels = [name for name in PATTERNS if plan.has(name)]
            step = 4 if plan.quick else 2
            if plan.quick and not largest_pages:
                kernels, step = ["chase"], 16  # prefetchers hide page walks of the sequential chase
            for region in plan.regions(step):
                points += [SamplePoint("latency", kernel, page_bytes, region) for kernel in kernels]
        strides = QUICK_STRIDES_BYTES if plan.quick else STRIDES_BYTES
        region = plan.facts.largest_bytes
        points += [
            SamplePoint("latency", "chase", plan.page_bytes, region, stride_bytes=stride)
            for stride in strides
            # Caches would hold fewer lines than this.
            if region // stride * 64 >= 2 * plan.facts.llc_bytes
        ]
        return points

    def figures(self, samples: Samples, plan: SurfacePlan) -> SurfaceFigures:
        """Return the figures; see `Surface.figures`."""
        parts = SurfaceFigures()
        largest = max((point.region_bytes for point in samples), default=0)
        for point, taken in samples.items():
            figure = LatencyFigure(
                pattern="strided" if point.stride_bytes else PATTERNS[point.kernel],
                region_bytes=point.region_bytes,
                page_bytes=point.page_bytes,
                stride_bytes=point.stride_bytes or None,
                **ns_of(taken),
                **MEASURED_HERE,
            )
            parts.latency.append(figure)
            plain = not point.stride_bytes
            if plain and point.page_bytes == plan.page_bytes and point.region_bytes == largest:
                note = f"the {largest >> 20} MiB region"
                parts.latency.append(msgspec.structs.replace(figure, region_bytes=None, note=note))
        return parts


SURFACES.register("idle")(IdleSurface())
