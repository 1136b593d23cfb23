"""A buffer's capacity measured again, one line a block: knees are sharper, plateaus flat.

Lines of one block that are visited at random times share it, and a buffer that is too small still
hits often; one line of each block is a hit or is not.
"""

from __future__ import annotations

import msgspec

from nearfar.measure.infer.capacity import Capacity, InferredBuffer, known_level
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.sizes import FINE_PER_OCTAVE, sizes
from nearfar.samples.point import SamplePoint

AROUND = 2.0
"""Range of regions below and above the capacity, if the next level allows it."""

SAME = 1.3
"""Ratio to the first capacity within which the second must lie: else the stride shows, not the
buffer."""

MIN_CONFIDENCE = 0.8


def block_by_block(probe: InferenceProbe, region_bytes: int, block_bytes: int) -> SamplePoint:
    """Return the chase over the blocks of a region, each visited once a cycle.

    One line of each; where a cache is before the memory, all lines in turn: it would hold so few.
    """
    page = probe.facts.page_sizes[0]
    if probe.facts.llc_bytes:
        return SamplePoint("ways", "chase", page, region_bytes, access_bytes=block_bytes)
    return SamplePoint("ways", "chase", page, region_bytes, stride_bytes=block_bytes)


def sharpen(probe: InferenceProbe, buffer: InferredBuffer, block_bytes: int) -> InferredBuffer:
    """Return `buffer` with capacity, latency and step measured again where that is more certain."""
    before = buffer.capacity
    most = min(before.value_bytes * AROUND, buffer.beyond_bytes / 1.1)
    # Aligned as the coarse sizes are, so that both name the same sizes.
    tested = sizes(before.value_bytes / AROUND, most, FINE_PER_OCTAVE, block_bytes)
    points = [block_by_block(probe, size, block_bytes) for size in tested]
    seen = known_level(tested, probe.gather(points, 2 * probe.repetitions))
    if seen is None or seen.confidence < MIN_CONFIDENCE:
        return buffer
    if not 1 / SAME <= seen.value_bytes / before.value_bytes <= SAME:
        return buffer
    figure = msgspec.structs.replace(
        buffer.figure,
        capacity_bytes=seen.value_bytes,
        capacity_low_bytes=seen.low_bytes,
        capacity_high_bytes=seen.high_bytes,
        latency_ns=buffer.figure.latency_ns if probe.facts.llc_bytes else seen.served_ns,
        confidence=seen.confidence,
    )
    # All accesses miss only far beyond the capacity, so the wide curve gives a better step.
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
