"""Latency of a persisted write while other cores draw bandwidth, with its tails."""

from __future__ import annotations

from nearfar.measure.subject import Point
from nearfar.measure.surfaces._loads import QUICK_PAUSES_NS, curves, loads
from nearfar.measure.surfaces._surface import SURFACES, Parts, Plan, Samples, Surface
from nearfar.measure.surfaces.loaded import TAIL_ACCESSES
from nearfar.measure.surfaces.writes import INSTRUCTIONS

WRITES = ("persist-clwb", "persist-nt-store", "persist-clflushopt")
"""The first of them to be had is measured by --quick, the first two otherwise."""

SHARES = (1.0, 0.5, 0.0)
PAUSES_NS = (2000.0, 500.0, 200.0, 50.0, 0.0)


class LoadedWrites(Surface):
    """Latency of a write, its flush and its fence under load; every one is timed."""

    group = "loaded"
    summary = "persisted-write latency over bandwidth and read share, with p50 to p99.99"

    def points(self, plan: Plan) -> list[Point]:
        """Return the points; see `Surface.points`."""
        if plan.facts.threads < 2:
            return []
        kernels = [name for name in WRITES if plan.has(name)]
        found: list[Point] = []
        for kernel in kernels[: 1 if plan.quick else 2]:
            write = Point(
                "loaded",
                kernel,
                plan.page_bytes,
                plan.facts.largest_bytes,
                each=True,
                accesses=TAIL_ACCESSES,
            )
            shares = SHARES[:1] if plan.quick else SHARES
            found += loads(plan, write, shares, QUICK_PAUSES_NS[1:] if plan.quick else PAUSES_NS)
        return found

    def figures(self, samples: Samples, plan: Plan) -> Parts:
        """Return the figures; see `Surface.figures`."""
        parts = Parts()
        for kernel in WRITES:
            of_kernel = {point: taken for point, taken in samples.items() if point.kernel == kernel}
            parts.loaded_latency += curves(of_kernel, plan, INSTRUCTIONS[kernel][0])
        return parts


SURFACES.register("loaded-writes")(LoadedWrites())
