"""Bandwidth by read share, 0 to 100 % of the traffic, with threads and pattern."""

from __future__ import annotations

from nearfar.documents.device import BandwidthFigure, Pattern
from nearfar.measure.surfaces._drive import mixture, traffic_per_payload, traffic_share
from nearfar.measure.surfaces._surface import (
    MEASURED_HERE,
    SURFACES,
    Samples,
    Surface,
    SurfaceFigures,
    SurfacePlan,
    gb_of,
)
from nearfar.samples.point import SamplePoint

SHARES = tuple(step / 10 for step in range(11))
QUICK_SHARES = (0.25, 0.5, 0.75)
"""Read shares between all reads and all nt-stores, which are points of the bandwidth surface."""


class MixturesSurface(Surface):
    """Surface of mixed loads and stores, in GB/s of traffic."""

    group = "bandwidth"
    summary = "bandwidth by read share, 0 to 100 % of the traffic"

    def points(self, plan: SurfacePlan) -> list[SamplePoint]:
        """Return the points; see `Surface.points`."""
        endings = ("",) if plan.quick else ("", "-random")
        counts = plan.threads(few=True)
        points = []
        for share in QUICK_SHARES if plan.quick else SHARES:
            chosen = mixture(share)
            points += [
                SamplePoint(
                    "bandwidth",
                    chosen.kernel + ending,
                    plan.page_bytes,
                    plan.facts.buffer_bytes,
                    threads=threads,
                    read_share=chosen.line_share,
                )
                for ending in endings
                if plan.has(chosen.kernel + ending)
                for threads in (counts[-1:] if plan.quick else counts)
            ]
        return points

    def figures(self, samples: Samples, plan: SurfacePlan) -> SurfaceFigures:
        """Return the figures; see `Surface.figures`."""
        del plan
        return SurfaceFigures(bandwidth=[_figure(point, samples) for point in samples])


def _figure(point: SamplePoint, samples: Samples) -> BandwidthFigure:
    """Return the figure of one point, in GB/s of all traffic."""
    assert point.read_share is not None
    lines = traffic_per_payload(point.kernel, point.read_share)
    pattern: Pattern = "random" if point.kernel.endswith("-random") else "sequential"
    stores = "nt-stores" if point.kernel.startswith("mixed-nt") else "stores"
    return BandwidthFigure(
        operation="mixed",
        pattern=pattern,
        read_share=traffic_share(point.kernel, point.read_share),
        threads=point.threads,
        access_bytes=point.access_bytes if pattern == "random" else None,
        note=f"all traffic: loads of {point.read_share:.0%} of the lines, {stores} of the others"
        + (", each read before" if lines > 1 else ""),
        **{key: value * lines for key, value in gb_of(samples[point]).items()},
        **MEASURED_HERE,
    )


SURFACES.register("mixture")(MixturesSurface())
