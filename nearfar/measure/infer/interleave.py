"""Interleave: bandwidth of all threads over strides, reads first, writes that pass caches else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from nearfar.documents.device import InterleaveFigure
from nearfar.measure.infer.findings import MEASURED_HERE, Findings, make_evidence
from nearfar.measure.infer.levels import MODEL_ERROR
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.resample import agreement, median_noise, medians
from nearfar.samples.point import SamplePoint

GRANULARITIES = tuple(1 << bits for bits in range(8, 17))
"""Granularities tested: 256 B (the smallest of CXL) to 64 KiB."""

MAX_DEVICES = 16

MIN_CONTRAST = 1.3
"""Ratio of highest to lowest bandwidth: with fewer devices it must fall visibly."""

MIN_EXPLAINED_SHARE = 0.85
"""Share of the variance of log bandwidth that devices touched must explain."""

MIN_DIFFERENCE = 6.0
"""Difference of chi-square that decides between two explanations: odds of 20 to 1."""

MIN_CHI_SQUARE_RATIO = 3.0
"""Ratio by which the chi-square of the next best explanation must be larger."""


@dataclass(frozen=True)
class InterleaveFit:
    """Granularity and number of devices, or why there are none."""

    granularity_bytes: int | None
    devices: int | None
    why_not: str = ""
    fitted: NDArray[np.float64] | None = None


@cache
def touched(stride_bytes: int, granularity_bytes: int, devices: int) -> float:
    """Return how many devices accesses `stride_bytes` apart keep busy.

    The number is 1 / (the busiest device's share of accesses). If the stride is a multiple of the
    granularity g, it is N / gcd(N, stride/g) of N devices.
    """
    step = np.gcd(stride_bytes, granularity_bytes * devices)
    repeat = granularity_bytes * devices // step
    at = (np.arange(repeat, dtype=np.int64) * stride_bytes) // granularity_bytes % devices
    return float(repeat / np.bincount(at).max())


def find_interleave(
    strides: NDArray[np.int64], gb_per_s: NDArray[np.float64], noise: float
) -> InterleaveFit:
    """Return the interleave that bandwidth over strides (ascending) shows."""
    level = np.log(gb_per_s)
    sigma = max(noise, MODEL_ERROR)
    spread = float(((level - level.mean()) ** 2).sum())
    if gb_per_s.max() < MIN_CONTRAST * gb_per_s.min():
        return InterleaveFit(None, None, "bandwidth is the same at every stride")
    explained: list[tuple[float, int, int, NDArray[np.float64]]] = []
    for granularity in GRANULARITIES:
        for devices in range(2, MAX_DEVICES + 1):
            counts = np.array(
                [touched(int(candidate), granularity, devices) for candidate in strides]
            ).round(3)
            if len(set(counts.tolist())) < 2:
                continue
            fitted = _mean_by_count(level, counts)
            # A penalty for each fitted mean, as in the Bayesian information criterion.
            cost = float(((level - fitted) ** 2).sum()) / sigma**2
            cost += len(set(counts.tolist())) * np.log(len(strides))
            explained.append((cost, granularity, devices, fitted))
    if not explained:
        return InterleaveFit(None, None, "too few strides were measured")
    least = min(candidate[0] for candidate in explained)
    # Twice the devices of half the granularity look nearly alike: take the fewest devices.
    cost, granularity, devices, fitted = min(
        (candidate for candidate in explained if candidate[0] <= least + MIN_DIFFERENCE),
        key=lambda candidate: (candidate[2], candidate[0]),
    )
    residual = float(((level - fitted) ** 2).sum())
    if residual > (1 - MIN_EXPLAINED_SHARE) * spread:
        return InterleaveFit(None, None, "no number of devices explains bandwidth over strides")
    if np.exp(np.ptp(fitted)) < MIN_CONTRAST:
        return InterleaveFit(None, None, "bandwidth hardly depends on the devices touched")
    smooth = min(_isotonic_error(level), _isotonic_error(-level)) / sigma**2
    if smooth < MIN_CHI_SQUARE_RATIO * cost:
        return InterleaveFit(None, None, "bandwidth changes smoothly with the stride")
    return InterleaveFit(granularity, devices, "", np.exp(fitted))


def _mean_by_count(level: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of each count, monotonic in the count."""
    from scipy.optimize import isotonic_regression

    distinct, place, weights = np.unique(counts, return_inverse=True, return_counts=True)
    means = np.array([level[place == index].mean() for index in range(len(distinct))])
    return np.asarray(isotonic_regression(means, weights=weights).x)[place]


def _isotonic_error(level: NDArray[np.float64]) -> float:
    from scipy.optimize import isotonic_regression

    return float(((level - isotonic_regression(level).x) ** 2).sum())


KERNELS = ("nt-store-strided", "read-strided")
"""Kernels in order of preference: stores reach a device's limit with fewer threads, and no
prefetcher helps them."""

FIRST_BYTES, LAST_BYTES = 256, 512 << 10
"""Smallest and largest stride: from the smallest granularity to 8 devices of the largest."""

ODD = (1, 3, 5, 7, 9, 11)
"""Factors on powers of two: six devices and four differ at three times a power."""

MIN_AGREEMENT = 0.8
EVIDENCE = "interleave"


def strides() -> list[int]:
    """Return the strides to test, ascending."""
    octaves = [FIRST_BYTES << shift for shift in range((LAST_BYTES // FIRST_BYTES).bit_length())]
    return sorted({octave * odd for octave in octaves for odd in ODD if octave * odd <= LAST_BYTES})


def infer_interleave(probe: InferenceProbe, findings: Findings) -> None:
    """Add the interleave of devices."""
    reasons = []
    for kernel in KERNELS:
        if kernel in probe.facts.kernels:
            why = _infer_with(probe, kernel, findings)
            if not why:
                return
            reasons.append(f"{kernel}: {why}")
    findings.not_seen["interleave"] = "; ".join(reasons) or "no strided kernel runs here"


def _infer_with(probe: InferenceProbe, kernel: str, findings: Findings) -> str:
    tested = [stride for stride in strides() if stride * 64 <= probe.facts.buffer_bytes]
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
    kept = [
        (stride, values) for stride, values in zip(tested, gathered, strict=True) if len(values)
    ]
    if len(kept) < len(tested) // 2 or len(kept) < 8:
        return probe.too_few("strides")
    steps = np.array([stride for stride, _ in kept], dtype=np.int64)
    samples = [values for _, values in kept]
    noise = median_noise(samples)
    fit = find_interleave(steps, medians(samples), noise)
    findings.evidence[f"{EVIDENCE}-{kernel}"] = make_evidence(
        "interleave",
        f"Bandwidth by stride ({kernel})",
        ("stride (bytes)", "bandwidth (GB/s)"),
        steps.astype(float),
        samples,
        knees=[fit.granularity_bytes] if fit.granularity_bytes else [],
        fitted=fit.fitted,
    )
    if fit.granularity_bytes is None or fit.devices is None:
        return fit.why_not
    share, _ = agreement(
        samples,
        lambda row: find_interleave(steps, row, noise),
        lambda other: (
            (other.granularity_bytes, other.devices) == (fit.granularity_bytes, fit.devices)
        ),
        resamples=30,
    )
    if share < MIN_AGREEMENT:
        return f"{fit.devices} devices in only {share:.0%} of resamples"
    findings.interleaves.append(
        InterleaveFigure(
            granularity_bytes=fit.granularity_bytes,
            devices=fit.devices,
            confidence=share,
            evidence=f"{EVIDENCE}-{kernel}",
            **MEASURED_HERE,
        )
    )
    return ""
