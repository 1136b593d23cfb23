"""Random memories with known parameters, to test probes and inference on.

Sizes are not only powers of two, and all combinations of levels occur, so no probe can be tuned to
a particular device. Adjacent levels differ by at least a quarter in latency and by a factor of at
least four in capacity, since no user-space probe can distinguish closer levels.
"""

from __future__ import annotations

import math
import random

from nearfar.base.units import LINE_BYTES
from nearfar.sim.parameters import (
    DeviceInterleave,
    DeviceModel,
    MemoryLevel,
    Refresh,
    Replacement,
    ThreadBandwidth,
    WearStall,
    WriteQueue,
)

MIN_BUFFER_BYTES = 4 << 10
MAX_BUFFER_BYTES = 256 << 20
"""Bounds of a buffer's capacity over all devices: a chase over 1 GiB finds such buffers."""

MIN_CAPACITY_RATIO = 4
"""Smallest ratio of neighbouring capacities: closer ones make one knee."""

BLOCKS = (64, 128, 256, 512, 1024, 2048, 4096)
MIN_BLOCKS = 16
"""Smallest number of blocks of a level: with fewer, capacity and ways look the same."""


def synthetic(seed: int) -> DeviceModel:
    """Return random memory number `seed`, with or without caches, buffers, queue and stalls."""
    dice = random.Random(seed)
    caches = _caches(dice)
    interleave = _interleave(dice)
    devices = interleave.devices if interleave else 1
    granularity = interleave.granularity_bytes if interleave else BLOCKS[-1]
    buffers, media_ns, media_drain_ns = _buffers(dice, caches, devices, granularity)
    queue = None
    if dice.random() < 0.7:
        lines = round(2 ** dice.uniform(2, 7))
        queue = WriteQueue(lines * LINE_BYTES, dice.uniform(4, 12))
    return _model(
        dice,
        f"synthetic-{seed}",
        caches=caches,
        buffers=buffers,
        media_ns=media_ns,
        media_drain_ns=media_drain_ns,
        queue=queue,
        interleave=interleave,
        wear=_wear(dice) if buffers and dice.random() < 0.5 else None,
        refresh=_refresh(dice) if dice.random() < 0.25 else None,
    )


def without_buffers(seed: int) -> DeviceModel:
    """Return a random memory without buffers, like DRAM, with or without caches."""
    dice = random.Random(seed)
    return _model(
        dice,
        f"synthetic-dram-{seed}",
        caches=_caches(dice),
        buffers=(),
        media_ns=dice.uniform(70, 300),
        media_drain_ns=dice.uniform(4, 12),
        queue=None,
        interleave=None,
        wear=None,
        refresh=None,
    )


def _model(
    dice: random.Random,
    name: str,
    *,
    caches: tuple[MemoryLevel, ...],
    buffers: tuple[MemoryLevel, ...],
    media_ns: float,
    media_drain_ns: float,
    queue: WriteQueue | None,
    interleave: DeviceInterleave | None,
    wear: WearStall | None,
    refresh: Refresh | None,
) -> DeviceModel:
    devices = interleave.devices if interleave else 1
    one_thread = dice.uniform(8, 16) * LINE_BYTES / media_ns
    highest = one_thread * dice.uniform(1.5, 6) * math.sqrt(devices)
    written = highest * dice.uniform(0.3, 0.8)
    return DeviceModel(
        name,
        media_ns=media_ns,
        read=ThreadBandwidth(one_thread, highest, 2.5),
        write=ThreadBandwidth(
            one_thread * dice.uniform(0.4, 0.8), written * dice.uniform(0.5, 0.9), 7.0
        ),
        nt_store=ThreadBandwidth(one_thread * dice.uniform(0.5, 1.0), written, 7.0),
        caches=caches,
        buffers=buffers,
        granularity_bytes=buffers[0].block_bytes if buffers else LINE_BYTES,
        media_drain_ns=media_drain_ns,
        queue=queue,
        fence_ns=dice.uniform(20, 80),
        flush_ns=dice.uniform(15, 60),
        interleave=interleave,
        wear=wear,
        refresh=refresh,
    )


def _log_uniform(dice: random.Random, low: float, high: float) -> float:
    return math.exp(dice.uniform(math.log(low), math.log(high)))


def _caches(dice: random.Random) -> tuple[MemoryLevel, ...]:
    """Return no cache (loads bypass caches) or one to three levels of caches."""
    count = dice.choice((0, 1, 2, 3))
    choices = (
        ((32 << 10, 64 << 10), (8, 12), (0.9, 1.6)),
        ((256 << 10, 2 << 20), (8, 16), (3.0, 5.0)),
        ((8 << 20, 48 << 20), (11, 12, 16), (12.0, 35.0)),
    )
    caches = []
    for number, (sizes, ways, times) in enumerate(choices[:count], start=1):
        set_ways = dice.choice(ways)
        unit = LINE_BYTES * set_ways
        capacity = round(_log_uniform(dice, *sizes) / unit) * unit
        latency_ns = dice.uniform(*times)
        caches.append(
            MemoryLevel(f"L{number} cache", capacity, latency_ns, LINE_BYTES, set_ways, "lru")
        )
    return tuple(caches)


def _buffers(
    dice: random.Random, caches: tuple[MemoryLevel, ...], devices: int, granularity_bytes: int
) -> tuple[tuple[MemoryLevel, ...], float, float]:
    """Return the buffers of one device, and the medium's read latency and drain time."""
    # A buffer smaller than a cache serves no loads, so buffers are larger than the last cache.
    lowest = float(
        max(MIN_BUFFER_BYTES, MIN_CAPACITY_RATIO * caches[-1].capacity_bytes if caches else 0)
    )
    if devices > 1:
        # A region of few interleave granules has unequal parts on the devices.
        lowest = max(lowest, MIN_CAPACITY_RATIO * devices * granularity_bytes)
    count = dice.choice((0, 1, 1, 2, 2, 3))
    capacities: list[float] = []
    while lowest < MAX_BUFFER_BYTES and len(capacities) < count:
        highest = MAX_BUFFER_BYTES / MIN_CAPACITY_RATIO ** (count - len(capacities) - 1)
        if highest <= lowest:
            break
        capacity = _log_uniform(dice, lowest, highest)
        capacities.append(capacity)
        lowest = capacity * MIN_CAPACITY_RATIO
    read_ns, drain_ns = dice.uniform(70, 180), dice.uniform(15, 40)
    buffers: list[MemoryLevel] = []
    # A block larger than a granule would lie on several devices and look like a larger block.
    possible = [block for block in BLOCKS if block <= granularity_bytes]
    blocks = sorted(dice.choice(possible) for _ in capacities)
    for number, (capacity, largest_block) in enumerate(
        zip(capacities, blocks, strict=True), start=1
    ):
        block = largest_block
        while block > LINE_BYTES and capacity / devices < MIN_BLOCKS * block:
            block //= 2
        ways = dice.choice((0, 2, 4, 8, 12, 16))
        unit = block * max(ways, 1)
        size = max(round(capacity / devices / unit), 1) * unit
        replacement: Replacement = dice.choice(("lru", "random"))
        buffers.append(
            MemoryLevel(f"buffer {number}", size, read_ns, block, ways, replacement, drain_ns)
        )
        read_ns *= dice.uniform(1.3, 2.0)
        drain_ns *= dice.uniform(1.4, 2.5)
    return tuple(buffers), read_ns, drain_ns


def _interleave(dice: random.Random) -> DeviceInterleave | None:
    devices = dice.choice((1, 1, 2, 3, 4, 6, 8))
    if devices == 1:
        return None
    return DeviceInterleave(devices, dice.choice((256, 512, 1024, 2048, 4096)))


def _wear(dice: random.Random) -> WearStall:
    return WearStall(
        round(_log_uniform(dice, 2000, 20_000)),
        _log_uniform(dice, 5e3, 1e5),
        dice.choice((4096, 16384, 65536)),
        spread=0.1,
    )


def _refresh(dice: random.Random) -> Refresh:
    """Return stalls of at most 2 % of the time, so that mean and median latency still agree."""
    period_ns = _log_uniform(dice, 5e4, 2e6)
    return Refresh(period_ns, period_ns * dice.uniform(0.005, 0.02))
