"""The write queue: bursts of lines with rests between, long enough for it to drain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearfar.base.units import LINE_BYTES
from nearfar.documents.device import WriteQueueFigure
from nearfar.measure.infer.evidence import make_evidence
from nearfar.measure.infer.findings import MEASURED_HERE, Findings
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.queue_knee import QueueKnee, find_queue
from nearfar.measure.infer.resample import agreement, median_noise, medians
from nearfar.measure.infer.sizes import FINE_PER_OCTAVE, neighbours, sizes
from nearfar.measure.infer.writes import write_kernel
from nearfar.samples.point import SamplePoint

SMALLEST_BYTES, LARGEST_BYTES = 64, 16384
"""Smallest and largest burst: what the persist kernels write in one access."""

REST_NS = 60_000.0
"""Rest between bursts, for 256 lines at 200 ns: twice the slowest published medium."""

BURSTS = 200
"""Bursts in a sample: 20 ms with their rests."""

MIN_AGREEMENT = 0.8
EVIDENCE = "write-queue"


def infer_queue(probe: InferenceProbe, findings: Findings) -> None:
    """Add the write queue."""
    kernel = write_kernel(probe)
    if kernel is None:
        findings.not_seen["write queue"] = "this processor has no stores that pass the caches"
        return
    bursts = sizes(SMALLEST_BYTES, LARGEST_BYTES, FINE_PER_OCTAVE)
    points = [
        SamplePoint(
            "queue",
            kernel,
            probe.facts.page_sizes[0],
            probe.facts.largest_bytes // 4096 * 4096,
            access_bytes=burst,
            rest_ns=REST_NS,
            accesses=BURSTS,
        )
        for burst in bursts
    ]
    gathered = probe.gather(points, 2 * probe.repetitions)
    kept = [(burst, values) for burst, values in zip(bursts, gathered, strict=True) if len(values)]
    if len(kept) < len(bursts) // 2:
        findings.not_seen["write queue"] = probe.too_few("bursts")
        return
    lines = np.array([burst / LINE_BYTES for burst, _ in kept])
    samples = [values for _, values in kept]
    knee = find_queue(lines, medians(samples), median_noise(samples))
    findings.evidence[EVIDENCE] = make_evidence(
        "queue",
        "Bursts of persisted writes",
        ("lines in a burst", "time (ns per burst)"),
        lines,
        samples,
        knees=[knee.knee_lines] if knee.lines else [],
        fitted=knee.fitted,
        log_x=False,
    )
    if knee.lines is None:
        findings.not_seen["write queue"] = knee.why_not
        return
    _add(lines, samples, knee, findings)


def _add(
    lines: NDArray[np.float64],
    samples: list[NDArray[np.float64]],
    knee: QueueKnee,
    findings: Findings,
) -> None:
    assert knee.lines is not None
    tested = [int(lines_held * LINE_BYTES) for lines_held in lines]
    below, above = neighbours(tested, knee.lines * LINE_BYTES)
    noise = median_noise(samples)

    def near(lines_held: float | None) -> bool:
        if lines_held is None:
            return False
        size = lines_held * LINE_BYTES
        return below <= size * (1 + 1e-9) and size <= above * (above / max(below, 1))

    share, answers = agreement(
        samples,
        lambda row: find_queue(lines, row, noise).lines,
        near,
    )
    if share < MIN_AGREEMENT:
        findings.not_seen["write queue"] = f"found in only {share:.0%} of resamples"
        return
    seen = [lines_held * LINE_BYTES for lines_held in answers if lines_held is not None]
    low, high = np.percentile(seen, (2.5, 97.5))
    findings.write_queues.append(
        WriteQueueFigure(
            capacity_bytes=round(knee.lines) * LINE_BYTES,
            capacity_low_bytes=min(below, int(low)),
            capacity_high_bytes=max(above, int(np.ceil(high))),
            drained_ns_per_line=knee.drain_ns,
            confidence=share,
            evidence=EVIDENCE,
            **MEASURED_HERE,
        )
    )
