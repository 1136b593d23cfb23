"""How a point is simulated in bounded time: how long to warm, what to scale down."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nearfar.sim.parameters import DeviceModel, Level

SCALED_REGION_BYTES = 16 << 20
"""Regions are scaled down to this or twice it: 256 k lines, which the simulator passes in 5 ms."""

LEAST_SETS = 4
"""Sets that a scaled level keeps; a full level keeps so many times 16 blocks."""

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

    Sets and region shrink alike, so each set is as full as before and the shares of hits stay; a
    level too small for that keeps its size, and its share of so large a region is next to nothing.
    Only for orders without windows and strides. `least_bytes`: an access.
    """
    factor = 1
    while region_bytes // (2 * factor) >= max(SCALED_REGION_BYTES, 64 * least_bytes):
        factor *= 2
    if factor == 1:
        return Scaled(model, region_bytes)
    smaller = replace(
        model,
        caches=tuple(_scaled(cache, factor) for cache in model.caches),
        near=replace(
            model.near, capacity_bytes=max(model.near.capacity_bytes // factor // 64, 1) * 64
        )
        if model.near
        else None,
        buffers=tuple(_scaled(buffer, factor) for buffer in model.buffers),
        tlb=replace(model.tlb, entries=max(model.tlb.entries // factor, 1)),
    )
    return Scaled(smaller, region_bytes // factor)


def _scaled(level: Level, factor: int) -> Level:
    if level.ways:
        sets = round(level.sets / factor)
        if sets < LEAST_SETS:
            return level
        return replace(level, capacity_bytes=sets * level.ways * level.block_bytes)
    blocks = round(level.blocks / factor)
    if blocks < 16 * LEAST_SETS:
        return level
    return replace(level, capacity_bytes=blocks * level.block_bytes)


def warm_up_accesses(
    model: DeviceModel, region_bytes: int, access_bytes: int, stride_bytes: int
) -> int:
    """Return the accesses after which every level holds what it holds in the long run."""
    units = max(region_bytes // max(stride_bytes, access_bytes), 1)
    needed = units
    if model.near and region_bytes <= 8 * model.near.capacity_bytes:
        needed = PASSES * units
    for level in model.levels:
        capacity = level.capacity_bytes * (model.devices if level in model.buffers else 1)
        if region_bytes <= 8 * capacity:
            needed = max(needed, PASSES * units)
    return min(needed, max(MOST_LINES * 64 // access_bytes, units))
