"""Random memories whose truth is known: what probers and inference are tested on.

Sizes are not only powers of two and any combination may come, so that nothing can be tuned to one
device. What no user-space prober can tell apart is not made: neighbouring levels differ in latency
by a quarter at least and in capacity by a factor of four.
"""

from __future__ import annotations

import math
import random

from nearfar.base.units import LINE_BYTES
from nearfar.sim.parameters import (
    Bandwidth,
    DeviceModel,
    Interleave,
    Level,
    Refresh,
    Replacement,
    WearStall,
    WriteQueue,
)

SMALLEST_BYTES = 4 << 10
LARGEST_BYTES = 256 << 20
"""Capacities of buffers, over all devices: of those that can be chased over in 1 GiB."""

APART = 4
"""Least ratio of neighbouring capacities: nearer ones make one knee."""

BLOCKS = (64, 128, 256, 512, 1024, 2048, 4096)
FULL_BLOCKS = 16
"""A level holds so many blocks at least: with fewer there is no telling capacity from ways."""


def synthetic(seed: int) -> DeviceModel:
    """Return random memory number `seed`: with and without caches, buffers, queue, stalls."""
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
    """Return a memory like DRAM: caches in front perhaps, and nothing else to be found."""
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
    caches: tuple[Level, ...],
    buffers: tuple[Level, ...],
    media_ns: float,
    media_drain_ns: float,
    queue: WriteQueue | None,
    interleave: Interleave | None,
    wear: WearStall | None,
    refresh: Refresh | None,
) -> DeviceModel:
    devices = interleave.devices if interleave else 1
    one = dice.uniform(8, 16) * LINE_BYTES / media_ns
    most = one * dice.uniform(1.5, 6) * math.sqrt(devices)
    written = most * dice.uniform(0.3, 0.8)
    return DeviceModel(
        name,
        media_ns=media_ns,
        read=Bandwidth(one, most, 2.5),
        write=Bandwidth(one * dice.uniform(0.4, 0.8), written * dice.uniform(0.5, 0.9), 7.0),
        nt_store=Bandwidth(one * dice.uniform(0.5, 1.0), written, 7.0),
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


def _log_uniform(dice: random.Random, least: float, most: float) -> float:
    return math.exp(dice.uniform(math.log(least), math.log(most)))


def _caches(dice: random.Random) -> tuple[Level, ...]:
    """None (as if loads went past them), or one to three levels."""
    count = dice.choice((0, 1, 2, 3))
    choices = (
        ((32 << 10, 64 << 10), (8, 12), (0.9, 1.6)),
        ((256 << 10, 2 << 20), (8, 16), (3.0, 5.0)),
        ((8 << 20, 48 << 20), (11, 12, 16), (12.0, 35.0)),
    )
    found = []
    for number, (sizes, ways, times) in enumerate(choices[:count], start=1):
        chosen = dice.choice(ways)
        unit = LINE_BYTES * chosen
        capacity = round(_log_uniform(dice, *sizes) / unit) * unit
        found.append(
            Level(f"L{number} cache", capacity, dice.uniform(*times), LINE_BYTES, chosen, "lru")
        )
    return tuple(found)


def _buffers(
    dice: random.Random, caches: tuple[Level, ...], devices: int, granularity_bytes: int
) -> tuple[tuple[Level, ...], float, float]:
    """Return buffers of one device, and what the medium behind them takes to read and to drain."""
    # What caches hold whole is not seen by loads: buffers begin beyond the last of them.
    least = float(max(SMALLEST_BYTES, APART * caches[-1].capacity_bytes if caches else 0))
    if devices > 1:
        # A region of a few granules meets some devices more than others.
        least = max(least, APART * devices * granularity_bytes)
    count = dice.choice((0, 1, 1, 2, 2, 3))
    capacities: list[float] = []
    while least < LARGEST_BYTES and len(capacities) < count:
        room = LARGEST_BYTES / APART ** (count - len(capacities) - 1)
        if room <= least:
            break
        capacity = _log_uniform(dice, least, room)
        capacities.append(capacity)
        least = capacity * APART
    read_ns, drain_ns = dice.uniform(70, 180), dice.uniform(15, 40)
    found: list[Level] = []
    # A block that is spread over devices would look like one of all their blocks together.
    possible = [block for block in BLOCKS if block <= granularity_bytes]
    blocks = sorted(dice.choice(possible) for _ in capacities)
    for number, (capacity, wanted) in enumerate(zip(capacities, blocks, strict=True), start=1):
        block = wanted
        while block > LINE_BYTES and capacity / devices < FULL_BLOCKS * block:
            block //= 2
        ways = dice.choice((0, 2, 4, 8, 12, 16))
        unit = block * max(ways, 1)
        whole = max(round(capacity / devices / unit), 1) * unit
        replacement: Replacement = dice.choice(("lru", "random"))
        found.append(Level(f"buffer {number}", whole, read_ns, block, ways, replacement, drain_ns))
        read_ns *= dice.uniform(1.3, 2.0)
        drain_ns *= dice.uniform(1.4, 2.5)
    return tuple(found), read_ns, drain_ns


def _interleave(dice: random.Random) -> Interleave | None:
    devices = dice.choice((1, 1, 2, 3, 4, 6, 8))
    if devices == 1:
        return None
    return Interleave(devices, dice.choice((256, 512, 1024, 2048, 4096)))


def _wear(dice: random.Random) -> WearStall:
    return WearStall(
        round(_log_uniform(dice, 2000, 20_000)),
        _log_uniform(dice, 5e3, 1e5),
        dice.choice((4096, 16384, 65536)),
        spread=0.1,
    )


def _refresh(dice: random.Random) -> Refresh:
    """At most 2 % of the time, so that mean and median of single accesses still agree."""
    period_ns = _log_uniform(dice, 5e4, 2e6)
    return Refresh(period_ns, period_ns * dice.uniform(0.005, 0.02))
