"""Block, ways and replacement of the buffers that reads show: points and answers."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from nearfar.base.units import LINE_BYTES
from nearfar.measure.infer.capacity import Capacity, InferredBuffer, known_level
from nearfar.measure.infer.findings import Findings, make_evidence
from nearfar.measure.infer.probe import InferenceProbe, until_sure
from nearfar.measure.infer.resample import median_noise, medians
from nearfar.measure.infer.sizes import FINE_PER_OCTAVE, sizes
from nearfar.measure.infer.structure import (
    ACCESSES,
    LINES,
    MAX_WAYS,
    ODD,
    RATIOS,
    STEEP_RATIOS,
    Replacement,
    SteepRise,
    decide_replacement,
    find_block,
    lines_knee,
    steep_ratios,
    steep_rise,
)
from nearfar.samples.point import SamplePoint

REGION_RATIO = 32
"""Ratio of region to capacity at which a buffer nearly always misses, if the next level allows
it."""

MIN_OVERFLOW_SHARE = 0.3
"""Share of a miss that the largest number of lines must add if a set overflows."""

MIN_AGREEMENT = 0.8
"""Share of resamples that must agree, after all repetitions."""

MIN_NEXT_RATIO = 2.2
"""Ratio of the next level to this one from which misses of this one show alone."""

SHARPEN_RATIO = 2.0
"""Ratio to the first capacity up to which regions are measured again, below and above it."""

SAME_CAPACITY_RATIO = 1.3
"""Ratio to the first capacity within which the second must lie: else the knee is the stride's, not
the buffer's."""

MIN_SHARPENED_CONFIDENCE = 0.8


def infer_inner(
    probe: InferenceProbe, buffers: Sequence[InferredBuffer], findings: Findings
) -> None:
    """Add block, ways and replacement to the figures of `buffers` (nearest first)."""
    nearer: list[tuple[int, float]] = []
    for buffer in buffers:
        name = buffer.figure.name
        if buffer.beyond_bytes < MIN_NEXT_RATIO * buffer.figure.capacity_bytes:
            findings.not_seen[f"block of {name}"] = "the next level is too close in size"
            continue
        block = _block(probe, buffer, nearer, findings)
        figure = buffer.figure
        if block is not None:
            nearer.append((block, buffer.step_ns))
            seen = _sharpen(probe, buffer, block)
            kind = _replacement(probe, seen, block, findings)
            ways = _ways(probe, seen, block, kind, findings)
            figure = msgspec.structs.replace(
                seen.figure, block_bytes=block, ways=ways, replacement=kind
            )
        place = next(i for i, other in enumerate(findings.buffers) if other.name == name)
        findings.buffers[place] = figure


def _block(
    probe: InferenceProbe,
    buffer: InferredBuffer,
    nearer: Sequence[tuple[int, float]],
    findings: Findings,
) -> int | None:
    capacity, name = buffer.figure.capacity_bytes, buffer.figure.name
    region = min(capacity * REGION_RATIO, int(buffer.beyond_bytes / 1.1)) // 4096 * 4096
    points = [
        SamplePoint(
            "amplification", "chase", probe.facts.page_sizes[0], region, access_bytes=access
        )
        for access in ACCESSES
        if access <= region // 16
    ]
    accesses = [point.access_bytes for point in points]
    what = f"block of {name}"
    answer = until_sure(
        probe,
        points,
        lambda row, noise: find_block(accesses, row, noise, buffer.step_ns, nearer).size_bytes,
    )
    if answer is None:
        findings.not_seen[what] = "time ran out"
        return None
    samples = answer.samples
    fit = find_block(accesses, medians(samples), answer.noise, buffer.step_ns, nearer)
    findings.evidence[f"amplification-{_slug(name)}"] = make_evidence(
        "amplification",
        f"Latency by piece, {name}",
        ("bytes read in turn", "latency (ns per line)"),
        accesses,
        samples,
        knees=[fit.size_bytes] if fit.size_bytes else [],
        fitted=fit.fitted,
    )
    if answer.value is None:
        findings.not_seen[what] = fit.why_not
    elif answer.share < MIN_AGREEMENT:
        findings.not_seen[what] = f"{answer.value} bytes in only {answer.share:.0%} of resamples"
        return None
    return answer.value


def _block_by_block(probe: InferenceProbe, region_bytes: int, block_bytes: int) -> SamplePoint:
    """Return the chase over a region's blocks, each visited once per cycle of the chase.

    The chase reads one line of each block. If a cache is before the memory, it reads all lines of
    each block, because the cache would hold so few lines.
    """
    page = probe.facts.page_sizes[0]
    if probe.facts.llc_bytes:
        return SamplePoint("ways", "chase", page, region_bytes, access_bytes=block_bytes)
    return SamplePoint("ways", "chase", page, region_bytes, stride_bytes=block_bytes)


def _sharpen(probe: InferenceProbe, buffer: InferredBuffer, block_bytes: int) -> InferredBuffer:
    """Return `buffer` with its capacity measured block by block, if that is more certain.

    A chase over single lines returns to a block at random times, so a buffer that is too small
    still hits often. A chase that visits each block once per cycle has sharper knees and flat
    plateaus.
    """
    before = buffer.capacity
    most = min(before.value_bytes * SHARPEN_RATIO, buffer.beyond_bytes / 1.1)
    # Sizes are aligned as the coarse ones are, so that both sets have sizes in common.
    tested = sizes(before.value_bytes / SHARPEN_RATIO, most, FINE_PER_OCTAVE, block_bytes)
    points = [_block_by_block(probe, size, block_bytes) for size in tested]
    seen = known_level(tested, probe.gather(points, 2 * probe.repetitions))
    if seen is None or seen.confidence < MIN_SHARPENED_CONFIDENCE:
        return buffer
    if not 1 / SAME_CAPACITY_RATIO <= seen.value_bytes / before.value_bytes <= SAME_CAPACITY_RATIO:
        return buffer
    figure = msgspec.structs.replace(
        buffer.figure,
        capacity_bytes=seen.value_bytes,
        capacity_low_bytes=seen.low_bytes,
        capacity_high_bytes=seen.high_bytes,
        latency_ns=buffer.figure.latency_ns if probe.facts.llc_bytes else seen.served_ns,
        confidence=seen.confidence,
    )
    # The wide curve gives a better step: only far beyond the capacity do all accesses miss.
    kept = Capacity(
        seen.value_bytes,
        seen.low_bytes,
        seen.high_bytes,
        seen.confidence,
        before.served_ns if probe.facts.llc_bytes else seen.served_ns,
        before.is_plateau,
        before.step_ns,
        seen.tested,
    )
    return InferredBuffer(figure, kept, buffer.step_ns, buffer.beyond_bytes)


def _ways(
    probe: InferenceProbe,
    buffer: InferredBuffer,
    block: int,
    kind: Replacement | None,
    findings: Findings,
) -> int | None:
    """Return the ways: of LRU sets from the misses just beyond the capacity, or of a few lines.

    Random replacement gives nearly the same misses beyond the capacity for any number of ways.
    """
    if kind == "lru":
        ways = _ways_of_rise(probe, buffer, block, findings)
        if ways is not None:
            return ways
    llc, capacity = probe.facts.llc_bytes, buffer.figure.capacity_bytes
    if llc == 0:
        return _ways_of_lines(probe, buffer, findings)
    why = (
        f"fit no single number of up to {MAX_WAYS} ways"
        if kind == "lru"
        else "are not those of LRU and alike for any ways"
    )
    findings.not_seen[f"ways of {buffer.figure.name}"] = (
        f"misses beyond its {capacity >> 10} KiB {why}, and the few lines of one of its sets stay "
        f"in the last-level cache of {llc >> 10} KiB"
    )
    return None


def _ways_of_rise(
    probe: InferenceProbe, buffer: InferredBuffer, block: int, findings: Findings
) -> int | None:
    """Return the ways of LRU sets, from how steeply misses rise beyond the capacity."""
    capacity = buffer.figure.capacity_bytes
    # A region of whole rounds loads all devices alike.
    around = max(
        (each.granularity_bytes * each.devices for each in findings.interleaves), default=1
    )
    unit = max(around, block) if capacity >= MIN_UNITS * around else block

    def points_at(ratios: Sequence[float]) -> list[SamplePoint]:
        regions = {round(capacity * ratio / unit) * unit for ratio in ratios}
        return [
            _few_of_block(probe, region, block, capacity)
            for region in sorted(regions)
            if unit <= region * 1.1 <= buffer.beyond_bytes
        ]

    def decide(points: Sequence[SamplePoint], row: NDArray[np.float64], noise: float) -> SteepRise:
        ratios = np.array([point.region_bytes / capacity for point in points])
        return steep_rise(ratios, row, noise)

    points = points_at(STEEP_RATIOS)
    samples = probe.gather(points, 2 * probe.repetitions)
    if len(points) < MIN_STEEP_POINTS or not all(map(len, samples)):
        return None
    rise = decide(points, medians(samples), median_noise(samples))
    ratios = [ratio * rise.factor for ratio in steep_ratios(rise.ways or MAX_WAYS)]
    # All new, so that no sample is of the time of the first points.
    points = [point for point in points_at(ratios) if point not in points]
    answer = until_sure(
        probe, points, lambda row, noise: decide(points, row, noise).ways, doublings=3
    )
    if answer is None or answer.value is None or answer.share < MIN_AGREEMENT:
        return None
    if not decide(points, medians(answer.samples), answer.noise).sure:
        return None
    findings.evidence[f"ways-{_slug(buffer.figure.name)}"] = make_evidence(
        "ways",
        f"Latency just beyond {buffer.figure.name}, {points[0].access_bytes} bytes a block",
        ("region (bytes)", "latency (ns)"),
        [point.region_bytes for point in points],
        answer.samples,
        knees=[capacity],
    )
    return answer.value


MIN_STEEP_POINTS = 8
MIN_UNITS = 64
"""Rounds of the interleaved devices in a capacity from which regions are whole rounds."""

CACHED_RATIO = 2.0
"""Ratio of the lines read to those of the last-level cache from which it serves hardly any."""


def _few_of_block(
    probe: InferenceProbe, region_bytes: int, block_bytes: int, capacity_bytes: int
) -> SamplePoint:
    """Return the chase over a region's blocks that reads few lines of each, one after the other.

    Each further line is a hit and hides the misses. Without a cache before the memory, one line is
    enough; with one, as many as exceed it in a region of the buffer's capacity.
    """
    enough = CACHED_RATIO * probe.facts.llc_bytes / capacity_bytes * block_bytes
    lines = min(max(-(-int(enough) // LINE_BYTES), 1), block_bytes // LINE_BYTES)
    return SamplePoint(
        "ways", "chase", probe.facts.page_sizes[0], region_bytes,
        access_bytes=lines * LINE_BYTES, stride_bytes=block_bytes,
    )  # fmt: skip


def _ways_of_lines(probe: InferenceProbe, buffer: InferredBuffer, findings: Findings) -> int | None:
    """Return the fewest lines that fit at strides of odd multiples of a large power of two."""
    what = f"ways of {buffer.figure.name}"
    unit = LINE_BYTES
    for interleave in findings.interleaves:
        # A stride over whole rounds of the devices stays on one of them.
        unit = max(unit, interleave.granularity_bytes * interleave.devices)
    largest = probe.facts.largest_bytes // (LINES[-1] * ODD[-1])
    stride = unit << max((largest // unit).bit_length() - 1, 0)
    fits: dict[int, int] = {}
    unclear = False
    for odd in ODD:
        points = _lines_points(probe, stride * odd)
        if not points or not _overflows(probe, points[-1], buffer):
            continue
        lines = _fitting_lines(probe, points, buffer)
        if lines is None:
            # Sets whose number has another odd factor share these lines unevenly.
            unclear = True
        else:
            fits[odd] = lines
    if not fits or min(fits.values()) > MAX_WAYS:
        findings.not_seen[what] = (
            "distant lines overflow it, but at no clear number"
            if unclear
            else f"{LINES[-1]} lines overflow one set at no stride: fully associative, or more "
            "ways, or a nearer buffer holds them"
        )
        return None
    odd = min(fits, key=lambda each: fits[each])
    if not _is_one_set(probe, buffer, stride * odd, fits[odd]):
        findings.not_seen[what] = f"{fits[odd]} distant lines fit, but may lie in several sets"
        return None
    return fits[odd]


def _fitting_lines(
    probe: InferenceProbe, points: Sequence[SamplePoint], buffer: InferredBuffer
) -> int | None:
    """Return how many lines of one stride the buffer holds; None: unclear."""
    numbers = np.array(LINES, dtype=float)
    served_ns, step_ns = buffer.capacity.served_ns, buffer.step_ns
    answer = until_sure(
        probe,
        points,
        lambda row, noise: lines_knee(numbers, row, noise, served_ns, step_ns).lines,
        doublings=3,
    )
    return None if answer is None or answer.share < MIN_AGREEMENT else answer.value


def _is_one_set(probe: InferenceProbe, buffer: InferredBuffer, stride: int, lines: int) -> bool:
    """Return whether `lines` that fit at `stride` bytes lie in one set.

    Lines in several sets, of an odd number, fall together at that multiple of the stride: there
    they overflow the set.
    """
    page = probe.facts.page_sizes[0]
    for odd in ODD[1:]:
        if lines % odd:
            continue
        region = lines * stride * odd
        if region > probe.facts.largest_bytes:
            return False
        point = SamplePoint("ways", "chase", page, region, stride_bytes=stride * odd)
        if _overflows(probe, point, buffer):
            return False
    return True


def _lines_points(probe: InferenceProbe, stride: int) -> list[SamplePoint]:
    page, largest = probe.facts.page_sizes[0], probe.facts.largest_bytes
    if LINES[-1] * stride > largest:
        return []
    return [
        SamplePoint("ways", "chase", page, count * stride, stride_bytes=stride) for count in LINES
    ]


def _overflows(probe: InferenceProbe, most: SamplePoint, buffer: InferredBuffer) -> bool:
    """Return whether the largest number of lines overflows the set."""
    (values,) = probe.gather([most])
    served = buffer.capacity.served_ns
    return (
        len(values) > 0 and float(np.median(values)) > served + MIN_OVERFLOW_SHARE * buffer.step_ns
    )


def _replacement(
    probe: InferenceProbe, buffer: InferredBuffer, block: int, findings: Findings
) -> Replacement | None:
    capacity, what = buffer.figure.capacity_bytes, f"replacement of {buffer.figure.name}"
    ratios = [ratio for ratio in RATIOS if ratio * capacity * 1.1 <= buffer.beyond_bytes]
    regions = [round(capacity * ratio / block) * block for ratio in ratios]
    points = [_block_by_block(probe, region, block) for region in regions]
    actual = np.array(regions) / capacity
    answer = until_sure(
        probe, points, lambda row, noise: decide_replacement(actual, row, noise), doublings=3
    )
    if answer is None:
        findings.not_seen[what] = "time ran out"
        return None
    findings.evidence[f"replacement-{_slug(buffer.figure.name)}"] = make_evidence(
        "ways",
        f"Latency just beyond {buffer.figure.name}, one line a block",
        ("region (bytes)", "latency (ns)"),
        regions,
        answer.samples,
        knees=[capacity],
    )
    if answer.value is None or answer.share < MIN_AGREEMENT:
        findings.not_seen[what] = (
            "LRU and random replacement explain the samples alike, or neither well"
        )
        return None
    return answer.value


def _slug(name: str) -> str:
    return name.replace(" ", "-")
