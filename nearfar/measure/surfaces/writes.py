"""Latency of a fenced write by region and instruction, at rest: stores, and what persists them.

A fence follows every write, so the next write begins when the one before is complete. The time of a
write is the time of many divided by their number, without reading the clock between them. A
``store`` alone is complete when the cache has the line. With a flush, or if it passes the caches,
it is complete when the memory's controller has it (persisted, if power-fail protected).
"""

from __future__ import annotations

import msgspec

from nearfar.documents.device import LatencyFigure, Operation, Pattern
from nearfar.measure.surfaces._surface import (
    MEASURED_HERE,
    SMALLEST_REGION_BYTES,
    SURFACES,
    Samples,
    Surface,
    SurfaceFigures,
    SurfacePlan,
    ns_of,
)
from nearfar.samples.point import SamplePoint

INSTRUCTIONS: dict[str, tuple[str, Operation]] = {
    "persist-store": ("store", "write"),
    "persist-nt-store": ("nt-store", "nt-store"),
    "persist-clwb": ("store+clwb", "clwb"),
    "persist-clflushopt": ("store+clflushopt", "write"),
    "persist-clflush": ("store+clflush", "write"),
}
"""Instruction and operation of the figures by kernel."""

SEQUENTIAL = "-sequential"
"""Suffix of kernels that write in order of addresses."""

REGION_STEP = 4


class WritesSurface(Surface):
    """Surface of the latency of a write and its fence."""

    group = "persist"
    summary = "idle write and persist latency by region size and instruction"

    def points(self, plan: SurfacePlan) -> list[SamplePoint]:
        """Return the points; see `Surface.points`."""
        regions = plan.regions(REGION_STEP)
        if plan.quick:
            # A region that caches beyond the first level hold, and one that goes to memory.
            held = [size for size in regions if size > 2 * SMALLEST_REGION_BYTES]
            regions = sorted({(held or regions)[0], regions[-1]})
        kernels = [name for name in INSTRUCTIONS if plan.has(name)]
        asked = [(kernel, region) for kernel in kernels for region in regions]
        if not plan.quick:
            asked += [
                (kernel + SEQUENTIAL, plan.facts.largest_bytes)
                for kernel in kernels
                if plan.has(kernel + SEQUENTIAL)
            ]
        return [SamplePoint("persist", kernel, plan.page_bytes, region) for kernel, region in asked]

    def figures(self, samples: Samples, plan: SurfacePlan) -> SurfaceFigures:
        """Return the figures; see `Surface.figures`."""
        parts = SurfaceFigures()
        for point, taken in samples.items():
            kernel = point.kernel.removesuffix(SEQUENTIAL)
            pattern: Pattern = "random" if kernel == point.kernel else "sequential"
            instruction, operation = INSTRUCTIONS[kernel]
            figure = LatencyFigure(
                operation=operation,
                pattern=pattern,
                instruction=instruction,
                region_bytes=point.region_bytes,
                page_bytes=point.page_bytes,
                **ns_of(taken),
                **MEASURED_HERE,
            )
            parts.latency.append(figure)
            if point.region_bytes == plan.facts.largest_bytes:
                note = f"the {point.region_bytes >> 20} MiB region"
                parts.latency.append(msgspec.structs.replace(figure, region_bytes=None, note=note))
        return parts

    def lacking(self, plan: SurfacePlan) -> str:
        """Return why something cannot be measured; see `Surface.lacking`."""
        missing = [text for name, (text, _) in INSTRUCTIONS.items() if not plan.has(name)]
        if not missing:
            return ""
        return f"latency of {', '.join(missing)} was not measured: these kernels do not run here"


SURFACES.register("writes")(WritesSurface())
