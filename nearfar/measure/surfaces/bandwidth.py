"""Bandwidth by threads, kind and size of access, and pattern."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import msgspec

from nearfar.base.statistics import difference_estimate
from nearfar.base.units import format_count
from nearfar.documents.device import BandwidthFigure, Operation, Pattern
from nearfar.measure.surfaces._surface import (
    MEASURED_HERE,
    SURFACES,
    Samples,
    Surface,
    SurfaceFigures,
    SurfacePlan,
    gb_of,
    values,
)
from nearfar.samples.point import SamplePoint

KERNELS: dict[str, tuple[Operation, Pattern]] = {
    "read": ("read", "sequential"),
    "read-random": ("read", "random"),
    "write": ("write", "sequential"),
    "write-random": ("write", "random"),
    "nt-store": ("nt-store", "sequential"),
    "nt-store-random": ("nt-store", "random"),
    "copy": ("copy", "sequential"),
}
"""Names of the figures by kernel."""

ACCESS_BYTES = (128, 256, 512, 1024, 4096, 16384)
"""Sizes of a random access beyond a line: to a device's block (256 B), a page, and past it."""
QUICK_ACCESS_BYTES = (256, 4096)

QUICK_SIZED = ("read-random", "nt-store-random")

STRIDES: dict[str, Operation] = {
    "read-strided": "read",
    "write-strided": "write",
    "nt-store-strided": "nt-store",
}
STRIDES_BYTES = (256, 1024, 4096)
"""Strides of single lines: media with larger blocks fetch more than is used."""


ALIASED = "copy-aliased"
"""Kernel beside `copy`, whose arrays lie a power of two apart; its figure's note has the
penalty."""


class BandwidthSurface(Surface):
    """Surface of bandwidth in GB/s of payload."""

    group = "bandwidth"
    summary = "bandwidth by threads, kind, size and pattern of access"

    def points(self, plan: SurfacePlan) -> list[SamplePoint]:
        """Return the points; see `Surface.points`."""

        def point(
            kernel: str, threads: int, access_bytes: int = 64, stride: int = 0
        ) -> SamplePoint:
            return SamplePoint(
                "bandwidth",
                kernel,
                plan.page_bytes,
                plan.facts.buffer_bytes,
                threads=threads,
                access_bytes=access_bytes,
                stride_bytes=stride,
            )

        few = plan.threads(few=True)
        points = [
            point(kernel, threads)
            for kernel in KERNELS
            if plan.has(kernel)
            for threads in plan.threads(few=plan.quick)
        ]
        sizes = QUICK_ACCESS_BYTES if plan.quick else ACCESS_BYTES
        points += [
            point(kernel, threads, access_bytes=size)
            for kernel, (_, pattern) in KERNELS.items()
            if pattern == "random" and plan.has(kernel)
            if not plan.quick or kernel in QUICK_SIZED
            for size in sizes
            for threads in (few[-1:] if plan.quick else few)
        ]
        if plan.has(ALIASED):
            points.append(point(ALIASED, few[0]))
        if not plan.quick:
            points += [
                point(kernel, few[-1], stride=stride)
                for kernel in STRIDES
                if plan.has(kernel)
                for stride in STRIDES_BYTES
            ]
        return points

    def figures(self, samples: Samples, plan: SurfacePlan) -> SurfaceFigures:
        """Return the figures; see `Surface.figures`."""
        del plan
        figures: list[BandwidthFigure] = []
        for kernel, (operation, pattern) in KERNELS.items():
            of_lines = [
                _figure(point, operation, pattern, samples)
                for point in samples
                if point.kernel == kernel and point.access_bytes == 64
            ]
            figures += of_lines
            if of_lines:
                figures.append(_best(of_lines))
            figures += [
                _figure(point, operation, pattern, samples)
                for point in samples
                if point.kernel == kernel and point.access_bytes != 64
            ]
        figures += [
            _figure(point, STRIDES[point.kernel], "strided", samples)
            for point in samples
            if point.kernel in STRIDES
        ]
        figures += [
            msgspec.structs.replace(
                _figure(point, "copy", "aliased", samples), note=_penalty(point, samples)
            )
            for point in samples
            if point.kernel == ALIASED
        ]
        return SurfaceFigures(bandwidth=figures)

    def lacking(self, plan: SurfacePlan) -> str:
        """Return why something cannot be measured; see `Surface.lacking`."""
        missing = [name for name in KERNELS if not plan.has(name)]
        if not missing:
            return ""
        return f"bandwidth of {', '.join(missing)} was not measured: these kernels do not run here"


def _figure(
    point: SamplePoint, operation: Operation, pattern: Pattern, samples: Samples
) -> BandwidthFigure:
    in_lines = pattern in ("sequential", "aliased")
    return BandwidthFigure(
        operation=operation,
        pattern=pattern,
        threads=point.threads,
        access_bytes=None if in_lines else point.access_bytes,
        stride_bytes=point.stride_bytes or None,
        page_bytes=point.page_bytes,
        note="" if in_lines else "the lines that each access moves count",
        **gb_of(samples[point]),
        **MEASURED_HERE,
    )


def _penalty(aliased: SamplePoint, samples: Samples) -> str:
    """Return by how much `aliased` is slower than copies between arrays with staggered starts."""
    apart = "both arrays lie a power of two apart"
    plain = samples.get(replace(aliased, kernel="copy"), ())
    if not plain:
        return f"{apart}; copy with staggered starts was not measured"
    gb_per_s = values(plain)
    lost = difference_estimate(gb_per_s, values(samples[aliased]))
    # Whole percent; + 0.0 makes 0 of -0.
    share, low, high = (
        round(end / median(gb_per_s), 2) + 0.0 for end in (lost.value, lost.low, lost.high)
    )
    if high < 0.0:
        share, low, high, than = -share, -high, -low, "faster"
    else:
        than = "slower" if low > 0.0 else "not seen to be slower"
    by = "" if low <= 0.0 else f"{share:.0%} "
    return f"{apart}: {by}{than} than copy with staggered starts ({low:.0%} to {high:.0%})"


def _best(figures: list[BandwidthFigure]) -> BandwidthFigure:
    best = max(figures, key=lambda figure: figure.value_gb_per_s)
    note = f"the best: {format_count(best.threads or 1, 'thread')}"
    note = f"{note}; {best.note}" if best.note else note
    return msgspec.structs.replace(best, threads=None, note=note)


SURFACES.register("bandwidth")(BandwidthSurface())
