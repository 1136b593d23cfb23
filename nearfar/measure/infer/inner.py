"""Block, ways and replacement of the buffers that reads show: points and answers."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from nearfar.base.units import LINE_BYTES
from nearfar.measure.infer.capacity import Capacity, InferredBuffer, known_level
from nearfar.measure.infer.findings import Findings, make_evidence
from nearfar.measure.infer.probe import InferenceProbe, until_sure
from nearfar.measure.infer.resample import medians
from nearfar.measure.infer.sizes import FINE_PER_OCTAVE, sizes
from nearfar.measure.infer.structure import (
    ACCESSES,
    LINES,
    MAX_WAYS,
    ODD,
    RATIOS,
    Replacement,
    decide_replacement,
    find_block,
    lines_knee,
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
            ways = (
                None if _note_hidden_ways(probe, name, findings) else _ways(probe, seen, findings)
            )
            kind = _replacement(probe, seen, block, ways, findings)
            figure = msgspec.structs.replace(
                seen.figure, block_bytes=block, ways=ways, replacement=kind
            )
        place = next(i for i, other in enumerate(findings.buffers) if other.name == name)
        findings.buffers[place] = figure


def _note_hidden_ways(probe: InferenceProbe, name: str, findings: Findings) -> bool:
    """Return whether a processor cache hides the buffer's ways, and note the reason if so."""
    if probe.facts.llc_bytes == 0:
        return False
    findings.not_seen[f"ways of {name}"] = (
        "the last-level cache holds the lines that would share one of its sets"
    )
    return True


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


def _ways(probe: InferenceProbe, buffer: InferredBuffer, findings: Findings) -> int | None:
    """Return the fewest lines that fit at strides of odd multiples of a large power of two."""
    what = f"ways of {buffer.figure.name}"
    unit = LINE_BYTES
    for interleave in findings.interleaves:
        # A stride over whole rounds of the devices stays on one of them.
        unit = max(unit, interleave.granularity_bytes * interleave.devices)
    largest = probe.facts.largest_bytes // (LINES[-1] * ODD[-1])
    stride = unit << max((largest // unit).bit_length() - 1, 0)
    fits: list[int] = []
    for odd in ODD:
        points = _lines_points(probe, stride * odd)
        if not points or not _overflows(probe, points[-1], buffer):
            continue
        answer = until_sure(
            probe,
            points,
            lambda row, noise: (
                lines_knee(
                    np.array(LINES, dtype=float),
                    row,
                    noise,
                    buffer.capacity.served_ns,
                    buffer.step_ns,
                ).lines
            ),
            doublings=3,
        )
        if answer is None or answer.value is None or answer.share < MIN_AGREEMENT:
            findings.not_seen[what] = "distant lines overflow it, but at no clear number"
            return None
        fits.append(answer.value)
    if not fits or min(fits) > MAX_WAYS:
        findings.not_seen[what] = (
            f"{LINES[-1]} lines overflow one set at no stride: fully associative, or more "
            "ways, or a nearer buffer holds them"
        )
        return None
    return min(fits)


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
    probe: InferenceProbe, buffer: InferredBuffer, block: int, ways: int | None, findings: Findings
) -> Replacement | None:
    capacity, what = buffer.figure.capacity_bytes, f"replacement of {buffer.figure.name}"
    ratios = [ratio for ratio in RATIOS if ratio * capacity * 1.1 <= buffer.beyond_bytes]
    regions = [round(capacity * ratio / block) * block for ratio in ratios]
    points = [_block_by_block(probe, region, block) for region in regions]
    actual = np.array(regions) / capacity
    answer = until_sure(
        probe, points, lambda row, noise: decide_replacement(actual, row, noise, ways), doublings=3
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
