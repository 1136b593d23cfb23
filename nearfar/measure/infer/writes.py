"""Buffers of the memory that persisted writes show, as they pass the processor's caches.

Fences are far apart, so that their time does not hide the cost of a line. Once the write queue is
full, a writer continues at the rate at which lines drain, and that depends on whether the device's
buffers hold their blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nearfar.measure.infer.capacity import Capacity, InferredBuffer, coarse_curve, refine
from nearfar.measure.infer.findings import Findings, make_evidence
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.queue import write_kernel
from nearfar.measure.infer.reads import MIN_CONFIDENCE, MIN_STEP_SHARE
from nearfar.samples.point import SamplePoint

FENCE_EVERY = 256
"""Lines between two fences: 16 KiB, more than any known write queue (64 to 96 lines)."""

SMALLEST_BYTES = 1024
LARGEST_BYTES = 8 << 20
"""Regions are written twice a sample, so that what buffers hold has settled: 260,000 lines."""

PASSES = 2
"""Times that a sample writes its region."""

MIN_WRITES = 20_000
"""Minimum number of lines that a sample writes."""

MIN_DRAIN_SHARE = 0.5
"""Share of a single write below which lines between fences may be in the processor's buffers: it
has ten lines in flight, each of which then takes a tenth of a write."""

EVIDENCE = "write-capacity"

QUEUE_RATIO = 2.0
"""Ratio to the write queue up to which a knee is the queue: waiting lines are merged."""

MAX_QUEUE_BYTES = 16 << 10
"""Size below which a knee may be a write queue: more than twice the largest known (96 lines)."""

SAME_BUFFER_RATIO = 1.5
"""Ratio of read and write capacities within which both are one buffer: knees of writes are soft."""


def infer_writes(
    probe: InferenceProbe, reads: Sequence[InferredBuffer], findings: Findings
) -> list[Capacity]:
    """Add the buffers that persisted writes show; return them, nearest first."""
    kernel = write_kernel(probe)
    if kernel is None:
        findings.not_seen["write buffers"] = "this processor has no stores that pass the caches"
        return []

    def point_at(region_bytes: int) -> SamplePoint:
        page = probe.facts.page_sizes[0]
        writes = max(PASSES * region_bytes // 64, MIN_WRITES)
        return SamplePoint(
            "persist", kernel, page, region_bytes, fence_every=FENCE_EVERY, accesses=writes
        )

    largest = min(LARGEST_BYTES, probe.facts.largest_bytes)
    curve = coarse_curve(probe, point_at, SMALLEST_BYTES, largest)
    if curve is None:
        findings.not_seen["write buffers"] = probe.too_few("regions")
        return []
    curve, capacities = refine(probe, point_at, curve)
    queue_bytes = max((queue.capacity_bytes for queue in findings.write_queues), default=0)
    least = QUEUE_RATIO * queue_bytes if queue_bytes else MAX_QUEUE_BYTES
    sure = [
        capacity
        for capacity in capacities
        if capacity.confidence >= MIN_CONFIDENCE
        and capacity.value_bytes > least
        # A small step may come from other programs' use of caches, buses and memory; a miss of a
        # buffer costs far more. The same limit holds for reads.
        and (not probe.facts.llc_bytes or capacity.step_ns >= MIN_STEP_SHARE * capacity.served_ns)
    ]
    if not queue_bytes and any(capacity.value_bytes <= least for capacity in capacities):
        findings.not_seen["small write buffer"] = (
            f"repeated writes to {capacities[0].value_bytes} bytes take another time than to more: "
            "a queue or a buffer; the bursts do not distinguish them"
        )
    slow = _of_memory(probe, sure, replace(point_at(largest), fence_every=1), findings)
    new = [capacity for capacity in slow if not _is_read(capacity, reads)]
    for number, capacity in enumerate(new, 1):
        findings.buffers.append(capacity.figure(f"write buffer {number}", EVIDENCE, "nt-store"))
    regions = np.array(curve.regions, dtype=float)
    findings.evidence[EVIDENCE] = make_evidence(
        "persist",
        f"Persisted writes by region ({kernel})",
        ("region (bytes)", "time (ns per line)"),
        regions,
        curve.samples,
        knees=[capacity.value_bytes for capacity in slow],
        fitted=curve.fit.latency(regions),
    )
    if not slow:
        findings.not_seen.setdefault(
            "write buffers", "no knee in persisted writes over regions up to 8 MiB"
        )
    return slow


def _of_memory(
    probe: InferenceProbe, capacities: list[Capacity], single: SamplePoint, findings: Findings
) -> list[Capacity]:
    """Return the capacities beyond which a line takes as long as the memory, not the processor.

    `single` is the point of writes with a fence each. Without its samples, return no capacity.
    """
    (values,) = probe.gather([single])
    if not len(values):
        findings.not_seen["write buffers"] = (
            f"{probe.too_few('single writes')}: without them a buffer of the memory looks like one "
            "of the processor"
        )
        return []
    single_ns = float(np.median(values))
    least_ns = MIN_DRAIN_SHARE * single_ns
    slow = [level for level in capacities if level.served_ns + level.step_ns >= least_ns]
    if len(slow) < len(capacities):
        findings.not_seen["fast write buffer"] = (
            f"at any region, lines between fences take less than {MIN_DRAIN_SHARE:.0%} of a single "
            f"write ({single_ns:.0f} ns): the processor's buffers and caches hold them"
        )
    return slow


def _is_read(capacity: Capacity, reads: Sequence[InferredBuffer]) -> bool:
    """Return whether reads show the buffer too, with a sharper capacity."""
    ratios = [capacity.value_bytes / read.capacity.value_bytes for read in reads]
    return any(1 / SAME_BUFFER_RATIO <= ratio <= SAME_BUFFER_RATIO for ratio in ratios)
