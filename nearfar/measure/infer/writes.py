"""Buffers that persisted writes show: they pass the processor's caches.

Fences are far apart, so that a fence's own time does not hide what a line costs: once the write
queue is full, a writer goes on at the rate at which lines are drained, and that depends on whether
the device's buffers hold their blocks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nearfar.documents.device import BufferFigure
from nearfar.measure.infer.capacity import Capacity, coarse_curve, refine
from nearfar.measure.infer.evidence import make_evidence
from nearfar.measure.infer.findings import HAD
from nearfar.measure.infer.queue_knee import SLOW
from nearfar.measure.infer.reads import LEAST_CONFIDENCE, LEAST_OWN_STEP
from nearfar.samples.point import SamplePoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nearfar.measure.infer.capacity import InferredBuffer
    from nearfar.measure.infer.findings import Findings
    from nearfar.measure.infer.probe import InferenceProbe

KERNELS = ("persist-nt-store", "persist-clflushopt", "persist-clwb")
"""In this order, the first that there is: the others write through the caches' own queues."""

FENCE_EVERY = 256
"""Lines; as many as 16 KiB, more than any write queue known holds (64 to 96)."""

SMALLEST_BYTES = 1024
LARGEST_BYTES = 8 << 20
"""Regions are written twice a sample, so that what buffers hold has settled: 260,000 lines."""

PASSES = 2
LEAST_WRITES = 20_000
EVIDENCE = "write-capacity"

QUEUE_UP_TO = 2.0
"""A knee up to so many times the write queue is the queue: lines that wait are written in place."""

MAY_BE_A_QUEUE = 16 << 10
"""Twice the largest write queue known (96 lines) and more: a smaller knee may be a queue's."""

SAME = 1.5
"""Read and write capacities within so much are of one buffer: knees of writes are soft."""


def write_kernel(probe: InferenceProbe) -> str | None:
    """Return the kernel that writes past the caches; None: there is none."""
    return next((kernel for kernel in KERNELS if kernel in probe.facts.kernels), None)


def infer_writes(
    probe: InferenceProbe, reads: Sequence[InferredBuffer], findings: Findings
) -> list[Capacity]:
    """Add the buffers that persisted writes show; return them, nearest first."""
    kernel = write_kernel(probe)
    if kernel is None:
        findings.not_seen["write buffers"] = "this processor has no stores that pass the caches"
        return []

    def at(region_bytes: int) -> SamplePoint:
        page = probe.facts.page_sizes[0]
        writes = max(PASSES * region_bytes // 64, LEAST_WRITES)
        return SamplePoint(
            "persist", kernel, page, region_bytes, fence_every=FENCE_EVERY, accesses=writes
        )

    largest = min(LARGEST_BYTES, probe.facts.largest_bytes)
    curve = coarse_curve(probe, at, SMALLEST_BYTES, largest)
    if curve is None:
        findings.not_seen["write buffers"] = probe.too_few("regions")
        return []
    curve, capacities = refine(probe, at, curve)
    queue_bytes = max((one.capacity_bytes for one in findings.write_queues), default=0)
    least = QUEUE_UP_TO * queue_bytes if queue_bytes else MAY_BE_A_QUEUE
    sure = [
        one for one in capacities if one.confidence >= LEAST_CONFIDENCE and one.value_bytes > least
    ]
    if not queue_bytes and any(one.value_bytes <= least for one in capacities):
        findings.not_seen["small write buffer"] = (
            f"writes to a few lines over and over take another time than to more than "
            f"{capacities[0].value_bytes} bytes: a queue or a buffer, the bursts do not say"
        )
    if probe.facts.llc_bytes:
        # Beside a processor others share its caches, its buses and the memory; a buffer's miss
        # costs far more than what they change. The same for reads.
        sure = [one for one in sure if one.step_ns >= LEAST_OWN_STEP * one.served_ns]
    single_ns = _single_ns(probe, replace(at(largest), fence_every=1))
    slow = [
        one
        for one in sure
        if single_ns is not None and one.served_ns + one.step_ns >= SLOW * single_ns
    ]
    if single_ns is None:
        findings.not_seen["write buffers"] = (
            f"{probe.too_few('single writes')}: without them a buffer of the memory cannot be told "
            "from the processor's own"
        )
    elif len(slow) < len(sure):
        findings.not_seen["fast write buffer"] = (
            f"lines written between fences go on faster than {SLOW:.0%} of a single write "
            f"({single_ns:.0f} ns) at any region: the processor's own buffers and caches"
        )
    new = [one for one in slow if not _is_read(one, reads)]
    for number, one in enumerate(new, 1):
        findings.buffers.append(_figure(one, f"write buffer {number}"))
    regions = np.array(curve.regions, dtype=float)
    findings.evidence[EVIDENCE] = make_evidence(
        "persist",
        f"Persisted writes by region ({kernel})",
        ("region (bytes)", "time (ns per line)"),
        regions,
        curve.samples,
        knees=[one.value_bytes for one in slow],
        fitted=curve.fit.latency(regions),
    )
    if not slow and single_ns is not None:
        findings.not_seen["write buffers"] = "no knee in persisted writes over regions up to 8 MiB"
    return slow


def _single_ns(probe: InferenceProbe, point: SamplePoint) -> float | None:
    """Return ns of a write that is waited for; None: it could not be sampled."""
    (values,) = probe.gather([point])
    return float(np.median(values)) if len(values) else None


def _is_read(one: Capacity, reads: Sequence[InferredBuffer]) -> bool:
    """Return whether reads show the buffer too; they show its capacity more sharply."""
    ratios = [one.value_bytes / read.capacity.value_bytes for read in reads]
    return any(1 / SAME <= ratio <= SAME for ratio in ratios)


def _figure(one: Capacity, name: str) -> BufferFigure:
    return BufferFigure(
        name=name,
        capacity_bytes=one.value_bytes,
        capacity_low_bytes=one.low_bytes,
        capacity_high_bytes=one.high_bytes,
        operation="nt-store",
        latency_ns=one.served_ns if one.is_plateau else None,
        confidence=one.confidence,
        evidence=EVIDENCE,
        **HAD,
    )
