"""How a point is simulated in bounded time: how long to warm, what to scale down."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nearfar.sim.parameters import DeviceModel, Level

SCALED_REGION_BYTES = 16 << 20
"""Regions are scaled down to this or twice it: 256 k lines, which the simulator passes in 5 ms."""

LEAST_SETS = 4
LEAST_BLOCKS = 64
"""Sets that a scaled level keeps, and blocks of a fully associative one."""

NEGLIGIBLE = 64
"""Times that a region is larger than a level which keeps its size: 1.6 % of lines are in it at
most, of which the truth is less."""

BEYOND = 8
"""Times that a region is larger than what holds of it nothing in the long run: with random
replacement exp(-8) of lines survive until they come back."""

LEAST_ACCESSES = 100_000

PASSES = 3
"""Over what fills a level: then random replacement is within 1 % of its settled shares."""

MOST_LINES = 2_000_000
"""Warm-up of one point; 20-40 ms."""


@dataclass(frozen=True)
class Scaled:
    """A smaller memory and region with the same shares."""

    model: DeviceModel
    region_bytes: int


def scaled(model: DeviceModel, region_bytes: int, least_bytes: int) -> Scaled:
    """Return `model` and region divided by the same power of two, where the region is large.

    Sets and region shrink alike, so each set is as full as before and the shares of hits stay. A
    level with too few sets for that keeps its size, which is done only where its share of the
    smaller region is next to nothing too. Only for orders without windows and strides;
    `least_bytes`: an access.
    """
    factor = 1
    while _may_shrink(model, region_bytes, least_bytes, 2 * factor):
        factor *= 2
    if factor == 1:
        return Scaled(model, region_bytes)
    near = model.near
    smaller = replace(
        model,
        caches=tuple(_scaled(cache, factor) for cache in model.caches),
        near=near and replace(near, capacity_bytes=near.capacity_bytes // factor // 64 * 64),
        buffers=tuple(_scaled(buffer, factor) for buffer in model.buffers),
        tlb=replace(model.tlb, entries=max(model.tlb.entries // factor, 1)),
    )
    return Scaled(smaller, region_bytes // factor)


def _may_shrink(model: DeviceModel, region_bytes: int, least_bytes: int, factor: int) -> bool:
    region = region_bytes // factor
    if region < max(SCALED_REGION_BYTES, 64 * least_bytes):
        return False
    if model.near and model.near.capacity_bytes // factor < 64 * LEAST_BLOCKS:
        return False
    return all(
        _divides(level, factor) or NEGLIGIBLE * level.capacity_bytes * model.devices <= region
        for level in model.levels
    )


def _divides(level: Level, factor: int) -> bool:
    if level.ways:
        return level.sets >= LEAST_SETS * factor
    return level.blocks >= LEAST_BLOCKS * factor


def _scaled(level: Level, factor: int) -> Level:
    if not _divides(level, factor):
        return level
    unit = level.block_bytes * max(level.ways, 1)
    return replace(level, capacity_bytes=round(level.capacity_bytes / unit / factor) * unit)


def warm_up_accesses(
    model: DeviceModel, region_bytes: int, access_bytes: int, stride_bytes: int
) -> int:
    """Return the accesses after which every level holds what it holds in the long run."""
    units = max(region_bytes // max(stride_bytes, access_bytes), 1)
    near_bytes = model.near.capacity_bytes if model.near else 0
    largest = max(model.largest_level_bytes, near_bytes)
    if region_bytes > BEYOND * largest:
        return min(units, max(2 * largest // access_bytes, LEAST_ACCESSES))
    return min(PASSES * units, max(MOST_LINES * 64 // access_bytes, units))
