"""Block, ways and replacement of the buffers that reads show: which points, and which answers."""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from nearfar.measure.infer.block import ACCESSES, LINE_BYTES, find_block
from nearfar.measure.infer.evidence import make_evidence
from nearfar.measure.infer.found import Buffer
from nearfar.measure.infer.replacement import RATIOS, Replacement, decide_replacement
from nearfar.measure.infer.resample import agreement, median_noise, medians
from nearfar.measure.infer.sharpen import sharpen
from nearfar.measure.infer.ways import FLATTENED, counts, lines_knee
from nearfar.measure.subject import Point

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nearfar.measure.infer.findings import Findings
    from nearfar.measure.infer.probe import Probe

BEYOND = 8
"""Regions so many times the capacity miss it nearly always."""

SURE = 0.95
"""Share of resamples that agree from which no more samples are taken."""

UNSURE = 0.8
"""Below it after all repetitions, there is no answer."""

ROUNDS = 6
"""Times that repetitions are doubled while an answer is unsure."""

LEAST_ROOM = 2.2
"""The next level must be so many times larger for misses of this one alone to show."""


def infer_inner(probe: Probe, buffers: Sequence[Buffer], findings: Findings) -> None:
    """Add block, ways and replacement to the figures of `buffers` (nearest first)."""
    nearer: list[tuple[int, float]] = []
    for buffer in buffers:
        name = buffer.figure.name
        if buffer.beyond_bytes < LEAST_ROOM * buffer.figure.capacity_bytes:
            findings.not_seen[f"block of {name}"] = "the next level begins too near to it"
            continue
        block = _block(probe, buffer, nearer, findings)
        seen = buffer
        if block is not None:
            nearer.append((block, buffer.step_ns))
            hidden = _hidden(probe, name, findings)
            if not hidden:
                seen = sharpen(probe, buffer, block)
        figure = msgspec.structs.replace(seen.figure, block_bytes=block)
        if block is not None and not hidden:
            ways = _ways(probe, seen, block, findings)
            kind = _replacement(probe, seen, block, ways, findings)
            figure = msgspec.structs.replace(figure, ways=ways, replacement=kind)
        place = next(i for i, one in enumerate(findings.buffers) if one.name == name)
        findings.buffers[place] = figure


def _hidden(probe: Probe, name: str, findings: Findings) -> bool:
    """Return whether a cache before the memory holds the few lines that would meet in a set."""
    if probe.facts.llc_bytes == 0:
        return False
    why = "the last-level cache holds the lines that would meet in one set of it"
    findings.not_seen[f"ways of {name}"] = why
    findings.not_seen[f"replacement of {name}"] = why
    return True


def _block(
    probe: Probe, buffer: Buffer, nearer: Sequence[tuple[int, float]], findings: Findings
) -> int | None:
    capacity, name = buffer.figure.capacity_bytes, buffer.figure.name
    region = min(capacity * BEYOND, int(buffer.beyond_bytes / 1.1)) // 4096 * 4096
    points = [
        Point("amplification", "chase", probe.facts.page_sizes[0], region, access_bytes=access)
        for access in ACCESSES
        if access <= region // 16
    ]
    accesses = [point.access_bytes for point in points]
    share, answer = 0.0, None
    samples: list[NDArray[np.float64]] = []
    for doubling in range(ROUNDS):
        samples = probe.gather(points, probe.repetitions << doubling)
        if not all(map(len, samples)):
            break
        noise = median_noise(samples)

        def decide(row: NDArray[np.float64], noise: float = noise) -> int | None:
            return find_block(accesses, row, noise, buffer.step_ns, nearer).size_bytes

        answer = decide(medians(samples))
        share, _ = agreement(samples, decide, partial(operator.eq, answer))
        if share >= SURE:
            break
    what = f"block of {name}"
    if not samples or not all(map(len, samples)):
        findings.not_seen[what] = "the time was up"
        return None
    found = find_block(accesses, medians(samples), median_noise(samples), buffer.step_ns, nearer)
    findings.evidence[f"amplification-{_slug(name)}"] = make_evidence(
        "amplification",
        f"Latency by piece, {name}",
        ("bytes read in turn", "latency (ns per line)"),
        accesses,
        samples,
        knees=[found.size_bytes] if found.size_bytes else [],
        fitted=found.fitted,
    )
    if answer is None:
        findings.not_seen[what] = found.why_not
    elif share < UNSURE:
        findings.not_seen[what] = f"{answer} bytes in only {share:.0%} of resamples"
        return None
    return answer


def _ways(probe: Probe, buffer: Buffer, block: int, findings: Findings) -> int | None:
    """Walk down the strides from the capacity until the lines of one set overflow."""
    capacity, what = buffer.figure.capacity_bytes, f"ways of {buffer.figure.name}"
    unit = LINE_BYTES
    for found in findings.interleaves:
        # A stride over whole rounds of the devices stays on one of them.
        unit = max(unit, found.granularity_bytes * found.devices)
    stride = unit
    while stride < capacity:
        stride *= 2
    while stride >= max(block, unit):
        most = min(probe.facts.largest_bytes // stride, 3 * capacity // stride + 24)
        tested = counts(most)
        if len(tested) >= 8:
            lines = _lines_knee(probe, buffer, stride, tested)
            if lines is not None and lines[1] >= UNSURE:
                if lines[0] * stride >= FLATTENED * capacity or stride <= block:
                    return lines[0]
                findings.not_seen[what] = "the lines that show it do not fit the largest region"
                return None
            if lines is not None:
                findings.not_seen[what] = f"{lines[0]} in only {lines[1]:.0%} of resamples"
                return None
        stride //= 2
    findings.not_seen[what] = "lines a power of two apart show no set that overflows"
    return None


def _lines_knee(
    probe: Probe, buffer: Buffer, stride: int, tested: Sequence[int]
) -> tuple[int, float] | None:
    points = [
        Point("ways", "chase", probe.facts.page_sizes[0], count * stride, stride_bytes=stride)
        for count in tested
    ]
    samples = probe.gather(points)
    kept = [(n, one) for n, one in zip(tested, samples, strict=True) if len(one)]
    if len(kept) < 8:
        return None
    lines = np.array([n for n, _ in kept], dtype=float)
    values = [one for _, one in kept]
    noise = median_noise(values)

    def decide(row: NDArray[np.float64]) -> int | None:
        served = buffer.capacity.served_ns
        return lines_knee(lines, row, noise, served, buffer.step_ns).lines

    answer = decide(medians(values))
    if answer is None:
        return None
    share, _ = agreement(values, decide, lambda one: one == answer)
    return answer, share


def _replacement(
    probe: Probe, buffer: Buffer, block: int, ways: int | None, findings: Findings
) -> Replacement | None:
    capacity, what = buffer.figure.capacity_bytes, f"replacement of {buffer.figure.name}"
    ratios = [one for one in RATIOS if one * capacity * 1.1 <= buffer.beyond_bytes]
    regions = [round(capacity * ratio / block) * block for ratio in ratios]
    points = [
        Point("ways", "chase", probe.facts.page_sizes[0], region, stride_bytes=block)
        for region in regions
    ]
    samples = probe.gather(points, 2 * probe.repetitions)
    if not all(map(len, samples)):
        findings.not_seen[what] = "the time was up"
        return None
    noise, actual = median_noise(samples), np.array(regions) / capacity

    def decide(row: NDArray[np.float64]) -> Replacement | None:
        return decide_replacement(actual, row, noise, ways)

    answer = decide(medians(samples))
    share, _ = agreement(samples, decide, lambda one: one == answer)
    findings.evidence[f"replacement-{_slug(buffer.figure.name)}"] = make_evidence(
        "ways",
        f"Latency just beyond {buffer.figure.name}, one line a block",
        ("region (bytes)", "latency (ns)"),
        regions,
        samples,
        knees=[capacity],
    )
    if answer is None or share < UNSURE:
        findings.not_seen[what] = "LRU and random replacement explain the samples alike"
        return None
    return answer


def _slug(name: str) -> str:
    return name.replace(" ", "-")
