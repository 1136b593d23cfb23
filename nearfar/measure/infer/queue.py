"""The write queue: bursts of lines with rests between, long enough for it to drain.

Up to the queue's size, a further line costs the time of its issue; beyond it, the time in which one
line drains. So ns per burst has a knee. The queue drains while a burst is issued, so the knee lies
at size / (1 - issue / drain) lines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.base.units import LINE_BYTES
from nearfar.documents.device import WriteQueueFigure
from nearfar.measure.infer.findings import MEASURED_HERE, Findings, make_evidence
from nearfar.measure.infer.levels import MODEL_ERROR
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.resample import agreement, median_noise, medians
from nearfar.measure.infer.sizes import FINE_PER_OCTAVE, neighbours, sizes
from nearfar.samples.point import SamplePoint

KERNELS = ("persist-nt-store", "persist-clflushopt", "persist-clwb")
"""Kernels in order of preference: the later ones also pass the caches' queues."""

SMALLEST_BYTES, LARGEST_BYTES = 64, 16384
"""Smallest and largest burst: what the persist kernels write in one access."""

REST_NS = 60_000.0
"""Rest between bursts, for 256 lines at 200 ns: twice the slowest published medium."""

BURSTS = 200
"""Bursts in a sample: 20 ms with their rests."""

MIN_AGREEMENT = 0.8
EVIDENCE = "write-queue"

MIN_BEND = 1.5
"""Ratio of a line's cost beyond the knee to its cost before."""

MIN_GAIN = 20.0
"""Chi-square that the knee must win over a straight line, in units of log(points)."""

MIN_DRAIN_SHARE = 0.5
"""Share of a single write that draining a line must take: with less, the processor's buffers bend
the curve in the same way (ten lines in flight, each a tenth of the latency)."""


def write_kernel(probe: InferenceProbe) -> str | None:
    """Return the kernel of non-temporal writes, or None."""
    return next((kernel for kernel in KERNELS if kernel in probe.facts.kernels), None)


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
    _add_queue(lines, samples, knee, findings)


def _add_queue(
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


@dataclass(frozen=True)
class QueueKnee:
    """The queue that a curve of bursts shows, or why there is none."""

    lines: float | None
    why_not: str = ""
    knee_lines: float = 0.0
    """Lines at which the curve bends."""
    drain_ns: float = 0.0
    fitted: NDArray[np.float64] | None = None


def find_queue(
    lines: NDArray[np.float64], burst_ns: NDArray[np.float64], noise: float
) -> QueueKnee:
    """Return the queue that ns per burst of `lines` (ascending) shows."""
    sigma = max(noise, MODEL_ERROR) * burst_ns
    straight = _fitted(lines, burst_ns, sigma, None)
    knees = np.geomspace(lines[1], lines[-2], 200)
    fits = [_fitted(lines, burst_ns, sigma, float(knee)) for knee in knees]
    best = int(np.argmin([fit[0] for fit in fits]))
    chi_square, (base, issue, bend), fitted = fits[best]
    drain = issue + bend
    if straight[0] - chi_square < MIN_GAIN * np.log(len(lines)):
        return QueueKnee(None, "ns per burst rises evenly with its lines", fitted=straight[2])
    if drain < MIN_BEND * issue:
        return QueueKnee(
            None, f"a line beyond the knee costs {drain:.0f} ns, one before it {issue:.0f} ns: "
            "too alike to be a full queue", fitted=fitted,
        )  # fmt: skip
    if drain < MIN_DRAIN_SHARE * (base + issue):
        return QueueKnee(
            None, f"lines go on at {drain:.0f} ns each where one takes {base + issue:.0f} ns: "
            "the processor's own buffers explain it", fitted=fitted,
        )  # fmt: skip
    knee = float(knees[best])
    return QueueKnee(knee * (1 - issue / drain), "", knee, drain, fitted)


def _fitted(
    lines: NDArray[np.float64],
    burst_ns: NDArray[np.float64],
    sigma: NDArray[np.float64],
    knee: float | None,
) -> tuple[float, tuple[float, float, float], NDArray[np.float64]]:
    """Return chi-square, the fitted (base ns, ns per line, bend) and the curve in ns.

    The bend is the ns that each line beyond `knee` takes more. None of the three is negative.
    """
    from scipy.optimize import nnls

    columns = [np.ones(len(lines)), lines]
    if knee is not None:
        columns.append(np.maximum(lines - knee, 0.0))
    design = np.stack(columns, axis=1)
    solved, residual = nnls(design / sigma[:, None], burst_ns / sigma)
    parts = (float(solved[0]), float(solved[1]), float(solved[2]) if knee is not None else 0.0)
    return float(residual**2), parts, design @ solved
