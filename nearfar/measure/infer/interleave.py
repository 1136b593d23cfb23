"""Interleave: bandwidth of all threads over strides, reads first, writes that pass caches else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearfar.documents.device import InterleaveFigure
from nearfar.measure.infer.devices_touched import find_interleave
from nearfar.measure.infer.evidence import make_evidence
from nearfar.measure.infer.findings import HAD
from nearfar.measure.infer.resample import agreement, median_noise, medians
from nearfar.samples.point import SamplePoint

if TYPE_CHECKING:
    from nearfar.measure.infer.findings import Findings
    from nearfar.measure.infer.probe import InferenceProbe

KERNELS = ("nt-store-strided", "read-strided")
"""Stores first: they reach a device's limit with fewer threads, and no prefetcher helps them."""

FIRST_BYTES, LAST_BYTES = 256, 512 << 10
"""Strides: from the smallest granularity looked for to 8 devices of the largest."""

ODD = (1, 3, 5, 7, 9, 11)
"""Multiples of powers of two: six devices and four differ at three times a power."""

SURE = 0.8
EVIDENCE = "interleave"


def strides() -> list[int]:
    """Return the strides to test, ascending."""
    octaves = [FIRST_BYTES << shift for shift in range((LAST_BYTES // FIRST_BYTES).bit_length())]
    return sorted({one * odd for one in octaves for odd in ODD if one * odd <= LAST_BYTES})


def infer_interleave(probe: InferenceProbe, findings: Findings) -> None:
    """Add the interleave of devices."""
    reasons = []
    for kernel in KERNELS:
        if kernel in probe.facts.kernels:
            why = _with(probe, kernel, findings)
            if not why:
                return
            reasons.append(f"{kernel}: {why}")
    findings.not_seen["interleave"] = "; ".join(reasons) or "there is no strided kernel"


def _with(probe: InferenceProbe, kernel: str, findings: Findings) -> str:
    tested = [one for one in strides() if one * 64 <= probe.facts.buffer_bytes]
    points = [
        SamplePoint(
            "interleave",
            kernel,
            probe.facts.page_sizes[0],
            probe.facts.buffer_bytes,
            threads=probe.facts.threads,
            stride_bytes=stride,
        )
        for stride in tested
    ]
    gathered = probe.gather(points)
    kept = [(stride, one) for stride, one in zip(tested, gathered, strict=True) if len(one)]
    if len(kept) < len(tested) // 2 or len(kept) < 8:
        return probe.too_few("strides")
    steps = np.array([stride for stride, _ in kept], dtype=np.int64)
    samples = [one for _, one in kept]
    noise = median_noise(samples)
    found = find_interleave(steps, medians(samples), noise)
    findings.evidence[f"{EVIDENCE}-{kernel}"] = make_evidence(
        "interleave",
        f"Bandwidth by stride ({kernel})",
        ("stride (bytes)", "bandwidth (GB/s)"),
        steps.astype(float),
        samples,
        knees=[found.granularity_bytes] if found.granularity_bytes else [],
        fitted=found.fitted,
    )
    if found.granularity_bytes is None or found.devices is None:
        return found.why_not
    share, _ = agreement(
        samples,
        lambda row: find_interleave(steps, row, noise),
        lambda one: (
            (one.granularity_bytes, one.devices) == (found.granularity_bytes, found.devices)
        ),
        resamples=30,
    )
    if share < SURE:
        return f"{found.devices} devices in only {share:.0%} of resamples"
    findings.interleaves.append(
        InterleaveFigure(
            granularity_bytes=found.granularity_bytes,
            devices=found.devices,
            confidence=share,
            evidence=f"{EVIDENCE}-{kernel}",
            **HAD,
        )
    )
    return ""
