"""Limits the time of a simulation: number of warm-up accesses, and scaled-down regions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nearfar.sim.parameters import DeviceModel, MemoryLevel

SCALED_REGION_BYTES = 16 << 20
"""Size to twice the size of a scaled region: 256 k lines, which take 5 ms to simulate."""

MIN_SETS = 4
MIN_BLOCKS = 64
"""Smallest numbers of sets of a scaled level, and of blocks of a fully associative one."""

NEGLIGIBLE_LEVEL_RATIO = 64
"""Ratio of region to level above which the level keeps its size: it has at most 1.6 % of the lines,
and fewer in the unscaled memory."""

USELESS_LEVEL_RATIO = 8
"""Ratio of region to level above which the level serves nothing: with random replacement exp(-8) of
the lines survive until their next access."""

MIN_WARM_ACCESSES = 100_000

WARM_PASSES = 3
"""Passes over a region: then random replacement is within 1 % of its steady shares."""

MAX_WARM_LINES = 2_000_000
"""Lines of the warm-up of one point, which take 20-40 ms."""


@dataclass(frozen=True)
class ScaledSimulation:
    """A smaller memory and region with the same shares of hits as the original."""

    model: DeviceModel
    region_bytes: int


def scaled(model: DeviceModel, region_bytes: int, access_bytes: int) -> ScaledSimulation:
    """Return `model` and a large region divided by the same power of two.

    The number of sets and the region shrink by the same factor, so each set holds as many lines as
    before, and the shares of hits do not change. A level with too few sets keeps its size, if even
    then it holds only a negligible share of the smaller region. This is valid only for access
    orders without windows and strides. `access_bytes` is the size of an access.
    """
    factor = 1
    while _may_shrink(model, region_bytes, access_bytes, 2 * factor):
        factor *= 2
    if factor == 1:
        return ScaledSimulation(model, region_bytes)
    near = model.near
    smaller = replace(
        model,
        caches=tuple(_scaled_level(cache, factor) for cache in model.caches),
        near=near and replace(near, capacity_bytes=near.capacity_bytes // factor // 64 * 64),
        buffers=tuple(_scaled_level(buffer, factor) for buffer in model.buffers),
        tlb=replace(model.tlb, entries=max(model.tlb.entries // factor, 1)),
    )
    return ScaledSimulation(smaller, region_bytes // factor)


def _may_shrink(model: DeviceModel, region_bytes: int, access_bytes: int, factor: int) -> bool:
    region = region_bytes // factor
    if region < max(SCALED_REGION_BYTES, 64 * access_bytes):
        return False
    if model.near and model.near.capacity_bytes // factor < 64 * MIN_BLOCKS:
        return False
    return all(
        _has_enough_sets(level, factor)
        or NEGLIGIBLE_LEVEL_RATIO * level.capacity_bytes * model.devices <= region
        for level in model.levels
    )


def _has_enough_sets(level: MemoryLevel, factor: int) -> bool:
    if level.ways:
        return level.sets >= MIN_SETS * factor
    return level.blocks >= MIN_BLOCKS * factor


def _scaled_level(level: MemoryLevel, factor: int) -> MemoryLevel:
    if not _has_enough_sets(level, factor):
        return level
    unit = level.block_bytes * max(level.ways, 1)
    return replace(level, capacity_bytes=round(level.capacity_bytes / unit / factor) * unit)


def warm_up_accesses(
    model: DeviceModel, region_bytes: int, access_bytes: int, stride_bytes: int
) -> int:
    """Return the accesses after which every level is in its steady state."""
    units = max(region_bytes // max(stride_bytes, access_bytes), 1)
    near_bytes = model.near.capacity_bytes if model.near else 0
    largest = max(model.largest_level_bytes, near_bytes)
    if region_bytes > USELESS_LEVEL_RATIO * largest:
        return min(units, max(2 * largest // access_bytes, MIN_WARM_ACCESSES))
    return min(WARM_PASSES * units, max(MAX_WARM_LINES * 64 // access_bytes, units))
