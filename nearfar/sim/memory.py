"""The native simulator, made from a `DeviceModel`."""

from __future__ import annotations

from nearfar import _sim
from nearfar.sim.parameters import DeviceModel, MemoryLevel


def make_memory(model: DeviceModel, *, huge_pages: bool = True, seed: int = 1) -> _sim.Memory:
    """Return an empty memory; with `huge_pages` address translation costs nothing."""
    interleave, wear, refresh, queue = model.interleave, model.wear, model.refresh, model.queue
    return _sim.Memory(
        caches=[_level(cache) for cache in model.caches],
        buffers=[_level(buffer) for buffer in model.buffers],
        media_read_ns=model.media_ns,
        media_drain_ns=model.media_drain_ns,
        queue_lines=queue.capacity_bytes // 64 if queue else 0,
        queue_accept_ns=queue.accept_ns if queue else 0.0,
        devices=model.devices,
        granularity_log2=_log2(interleave.granularity_bytes) if interleave else 12,
        wear_period_writes=wear.period_writes if wear else 0,
        wear_block_log2=_log2(wear.granularity_bytes) if wear else 12,
        wear_length_ns=wear.length_ns if wear else 0.0,
        wear_spread=wear.spread if wear else 0.0,
        wear_tracked_blocks=wear.tracked_bytes // wear.granularity_bytes if wear else 0,
        refresh_period_ns=refresh.period_ns if refresh else 0.0,
        refresh_length_ns=refresh.length_ns if refresh else 0.0,
        tlb_entries=0 if huge_pages else model.tlb.entries,
        tlb_walk_ns=model.tlb.walk_ns,
        near_bytes=model.near.capacity_bytes if model.near else 0,
        near_read_ns=model.near.latency_ns if model.near else 0.0,
        seed=seed,
    )


def _level(level: MemoryLevel) -> _sim.Level:
    return _sim.Level(
        level.sets,
        level.ways or level.blocks,
        level.replacement,
        _log2(level.block_bytes),
        level.latency_ns,
        level.drain_ns,
    )


def _log2(power_of_two: int) -> int:
    return power_of_two.bit_length() - 1
