"""The out-of-order core behind the near memory's profile, in the units of the native window.

The length of a cycle follows from the first-level cache's latency, and the growth of latency with
misses in flight from the chains curve, so no number of buffers is needed. The other parameters are
those of cores of 2017 to 2023; the interval varies some of them.
"""

from __future__ import annotations

from functools import lru_cache

from nearfar._window import MOST_IN_FLIGHT, Core, Medium
from nearfar.predict.core_time import has_prefetcher
from nearfar.predict.memory import MAX_CHAINS, MemoryCosts

FIRST_LEVEL_CYCLES = 5.0
"""Latency of a hit in the first level: 4 on Skylake and Zen, 5 since Ice Lake."""
SECOND_LEVEL_CYCLES = 14.0
"""12 (Zen) to 16 (Golden Cove)."""
LAST_LEVEL_CYCLES = 45.0
"""40 to 50 within a complex of Zen; 60 to 75 on Intel's server meshes; 40 on desktops."""
WIDTH = 5.0
"""Instructions per cycle: 4 (Skylake), 5 (Ice Lake), 6 (Zen 3, Golden Cove)."""
WINDOW = 320
"""Instructions: 224 (Skylake), 256 (Zen 3), 320 (Zen 4), 352 (Ice Lake), 512 (Golden Cove)."""
SMALL_WINDOW = 224
"""The smallest of these."""
PRIVATE_BYTES = 1 << 20
"""Second-level cache of one core: 512 KiB (Zen 3), 1 MiB (Skylake servers, Zen 4), 2 MiB (since
Sapphire Rapids)."""
STORE_BUFFER = 64
"""56 (Skylake), 64 (Zen 3 and 4), 72 (Ice Lake), 112 (Golden Cove)."""
MISPREDICTED_CYCLES = 16.0
"""From when a branch is known to when the right instructions enter: 13 (Zen) to 20."""


@lru_cache(maxsize=256)
def core(window: int = WINDOW, hits: float = 1.0, shared_cycles: float = 0.0) -> Core:
    """Return a core.

    `hits` multiplies the latencies of its caches, `shared_cycles` are added to the last level's.
    """
    return Core(
        window=window,
        width=WIDTH,
        store_buffer=STORE_BUFFER,
        first_level=FIRST_LEVEL_CYCLES * hits,
        second_level=SECOND_LEVEL_CYCLES * hits,
        last_level=LAST_LEVEL_CYCLES * hits + shared_cycles,
        mispredicted=MISPREDICTED_CYCLES,
    )


def cycle_ns(near: MemoryCosts) -> float:
    """Return the length of a cycle of the core that `near` was measured on."""
    return near.hit_ns / FIRST_LEVEL_CYCLES


def medium(
    memory: MemoryCosts,
    near: MemoryCosts,
    *,
    sequential: float,
    write_backs: float,
    lines: float,
    at_once: float,
    streams: float,
) -> Medium:
    """Return a memory in cycles.

    `sequential` is the share of lines read in sequence, `write_backs` the lines written back per
    line read, `lines` a factor on the bandwidth time of a line; `streams` advance together, with
    `at_once` times as many lines in flight as one.
    """
    cycle = cycle_ns(near)
    # No more are in flight than latency over the least cost; further requests queue.
    best_ns = memory.cost_ns(MAX_CHAINS)
    max_in_flight = max(1.0, memory.latency_ns / best_ns)
    counts = [min(float(k), max_in_flight) for k in range(1, MOST_IN_FLIGHT + 1)]
    read_ns, write_ns = (
        ns[1] * sequential + ns[0] * (1.0 - sequential) for ns in (memory.read_ns, memory.write_ns)
    )
    return Medium(
        # By Little's law, k misses in flight that each cost c wait k c.
        latency=[k * memory.cost_ns(k) / cycle for k in counts],
        buffer=best_ns / cycle,
        line=read_ns * lines / cycle,
        write_back=write_ns * write_backs * lines / cycle,
        stream=streams * memory.stream_ns(at_once, streams) / cycle
        if has_prefetcher(near)
        else 0.0,
    )
