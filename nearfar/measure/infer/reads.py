"""Caches and buffers that reads show: their capacities by a chase, and their names.

Levels up to the size of the last-level cache are the processor's (L1, L2, ...); what a read shows
beyond it is the memory's own (buffer 1, ...). A buffer behind a larger cache cannot be seen by
reads; persisted writes pass the caches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.measure.infer.capacity import (
    Capacity,
    CapacityCurve,
    InferredBuffer,
    coarse_curve,
    refine,
)
from nearfar.measure.infer.findings import Findings, make_evidence
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.resample import medians
from nearfar.samples.evidence import Evidence
from nearfar.samples.point import SamplePoint

SMALLEST_BYTES = 1024
"""Smallest region: a region of fewer lines measures the chase itself."""

LLC_TOLERANCE = 1.6
"""Ratio to the claimed last-level cache up to which a knee is that cache: physical pages are spread
unevenly over its sets, and tested sizes are apart."""

PAGES_AGREE = 0.35
"""Relative difference of a step between small and large pages that a real buffer may have; with
more it is page walks."""

MIN_STEP_SHARE = 0.15
"""Relative rise that a buffer behind caches must cause: page walks cause up to a tenth."""

MIN_CONFIDENCE = 0.5
"""Share of resamples that must agree on an answer."""

EVIDENCE = "read-capacity"


def chase_at(probe: InferenceProbe, region_bytes: int) -> SamplePoint:
    """Return the chase over a region, on the largest pages."""
    return SamplePoint("latency", "chase", probe.facts.page_sizes[0], region_bytes)


def infer_reads(probe: InferenceProbe, findings: Findings) -> list[InferredBuffer]:
    """Add the caches and buffers that reads show; return those of the memory, nearest first."""
    largest = probe.facts.largest_bytes
    curve = coarse_curve(probe, lambda size: chase_at(probe, size), SMALLEST_BYTES, largest)
    if curve is None:
        findings.not_seen["buffers"] = probe.too_few("regions")
        return []
    curve, capacities = refine(probe, lambda size: chase_at(probe, size), curve)
    caches, buffers = part(capacities, probe.facts.llc_bytes)
    buffers = [capacity for capacity in buffers if not _is_page_walk(probe, capacity, findings)]
    names = [f"L{level}" for level in range(1, len(caches) + 1)]
    names += [f"buffer {number}" for number in range(1, len(buffers) + 1)]
    kept = [*caches, *buffers]
    figures = [capacity.figure(name, EVIDENCE) for capacity, name in zip(kept, names, strict=True)]
    sure = [figure for figure in figures if (figure.confidence or 0.0) >= MIN_CONFIDENCE]
    findings.buffers += sure
    findings.evidence[EVIDENCE] = read_evidence(
        curve, [capacity.capacity_bytes for capacity in sure]
    )
    if not any(capacity.name.startswith("buffer") for capacity in sure):
        findings.not_seen["buffers"] = _why_none(probe)
    ends = [*(capacity.value_bytes for capacity in kept[1:]), largest][: len(kept)]
    levels = zip(figures, kept, ends, strict=True)
    return [
        InferredBuffer(figure, capacity, capacity.step_ns, end)
        for figure, capacity, end in levels
        if figure in sure and figure.name.startswith("buffer")
    ]


def part(capacities: Sequence[Capacity], llc_bytes: int) -> tuple[list[Capacity], list[Capacity]]:
    """Split levels into those of the processor and those of the memory."""
    limit = llc_bytes * LLC_TOLERANCE
    return (
        [capacity for capacity in capacities if capacity.value_bytes <= limit],
        [capacity for capacity in capacities if capacity.value_bytes > limit],
    )


def read_evidence(curve: CapacityCurve, knees: Sequence[float]) -> Evidence:
    """Return the latency curve with its knees."""
    regions = np.array(curve.regions, dtype=float)
    return make_evidence(
        "latency",
        "Read latency by region",
        ("region (bytes)", "latency (ns)"),
        regions,
        curve.samples,
        knees=knees,
        fitted=curve.fit.latency(regions),
    )


def _is_page_walk(probe: InferenceProbe, capacity: Capacity, findings: Findings) -> bool:
    """Return whether page walks explain a knee; note the reason if so."""
    if probe.facts.llc_bytes == 0:
        # The memory is simulated without caches, and so without a TLB that could miss.
        return False
    what = f"buffer of {capacity.value_bytes} bytes"
    if capacity.step_ns < MIN_STEP_SHARE * capacity.served_ns:
        findings.not_seen[what] = (
            f"latency rises by only {capacity.step_ns / capacity.served_ns:.0%}, as page walks do"
        )
        return True
    below = capacity.value_bytes // 2 // LINE_BYTES * LINE_BYTES
    above = min(capacity.value_bytes * 3, probe.facts.largest_bytes) // LINE_BYTES * LINE_BYTES
    steps = []
    for page in (probe.facts.page_sizes[0], probe.facts.page_sizes[-1]):
        points = [SamplePoint("latency", "chase", page, size) for size in (below, above)]
        samples = probe.gather(points, 2 * probe.repetitions)
        if all(map(len, samples)):
            low, high = medians(samples)
            steps.append(float(high - low))
    if len(steps) == 2 and abs(steps[1] / steps[0] - 1) > PAGES_AGREE:
        findings.not_seen[what] = (
            f"latency rises by {steps[0]:.0f} ns on large pages and {steps[1]:.0f} ns on small "
            "ones: page walks, not a buffer"
        )
        return True
    return False


def _why_none(probe: InferenceProbe) -> str:
    llc = probe.facts.llc_bytes
    if llc == 0:
        return "no knee in read latency over regions"
    return (
        f"no knee in read latency beyond the last-level cache of {llc >> 20} MiB: it "
        "hides smaller buffers"
    )
