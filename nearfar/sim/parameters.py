"""Parameters of a simulated memory, checked; names as in native/sim/device/parameters.hpp.

Sizes are in bytes, times in ns, bandwidths in GB/s (1e9 B/s). A level's latency is that of a load
that it serves, measured from the core.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from nearfar.base.errors import NearfarError
from nearfar.base.units import LINE_BYTES

MAX_WAYS = 16
"""Largest number of ways of a set: one 64-byte row of the simulator."""

Replacement = Literal["lru", "random"]


@dataclass(frozen=True)
class MemoryLevel:
    """A cache of the processor, or a buffer of each device."""

    name: str
    capacity_bytes: int
    latency_ns: float
    """Latency of a load that this level serves."""
    block_bytes: int = LINE_BYTES
    ways: int = 0
    """0: fully associative."""
    replacement: Replacement = "lru"
    drain_ns: float = 0.0
    """Time to drain a queued line whose block is in this level; buffers only."""

    def __post_init__(self) -> None:
        block = self.block_bytes
        if block not in (64, 128, 256, 512, 1024, 2048, 4096):
            _refuse(self.name, f"blocks are a power of two from 64 B to 4 KiB, not {block} B")
        if not 0 <= self.ways <= MAX_WAYS:
            _refuse(self.name, f"ways are 1 to {MAX_WAYS}, or 0 for fully associative")
        if self.capacity_bytes <= 0 or self.capacity_bytes % (block * max(self.ways, 1)):
            _refuse(
                self.name,
                f"{self.capacity_bytes} B is not a multiple of sets of {max(self.ways, 1)} blocks "
                f"of {block} B",
            )
        if self.latency_ns <= 0 or self.drain_ns < 0:
            _refuse(self.name, "times are positive")

    @property
    def sets(self) -> int:
        """Number of sets; a fully associative level has one."""
        return 1 if self.ways == 0 else self.capacity_bytes // (self.block_bytes * self.ways)

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return self.capacity_bytes // self.block_bytes


@dataclass(frozen=True)
class WriteQueue:
    """A queue of writes in front of the medium."""

    capacity_bytes: int
    accept_ns: float
    """Time to accept a line while the queue has space."""

    def __post_init__(self) -> None:
        if self.capacity_bytes < LINE_BYTES or self.capacity_bytes % LINE_BYTES:
            _refuse("write queue", f"{self.capacity_bytes} B is not a multiple of 64 B lines")
        if self.accept_ns <= 0:
            _refuse("write queue", "times are positive")


@dataclass(frozen=True)
class DeviceInterleave:
    """Interleaving of addresses over devices."""

    devices: int
    granularity_bytes: int

    def __post_init__(self) -> None:
        if not 1 <= self.devices <= 1024:
            _refuse("interleave", "there are 1 to 1024 devices")
        if self.granularity_bytes < LINE_BYTES or self.granularity_bytes.bit_count() != 1:
            _refuse("interleave", "granularity is a power of two from 64 B")


@dataclass(frozen=True)
class WearStall:
    """A stall after every `period_writes` writes to one block."""

    period_writes: int
    length_ns: float
    granularity_bytes: int = 4096
    tracked_bytes: int = 0
    """Size of the most recently written blocks whose writes count: writes spread over more never
    stall. 0: writes to all blocks count."""
    spread: float = 0.0
    """Uniform variation of the length to both sides, relative to it."""

    def __post_init__(self) -> None:
        if self.period_writes < 2 or self.length_ns <= 0:
            _refuse("wear stall", "it comes every 2 or more writes and takes time")
        if self.granularity_bytes < LINE_BYTES or self.granularity_bytes.bit_count() != 1:
            _refuse("wear stall", "granularity is a power of two from 64 B")


@dataclass(frozen=True)
class Refresh:
    """A stall every `period_ns`."""

    period_ns: float
    length_ns: float

    def __post_init__(self) -> None:
        if not 0 < self.length_ns < self.period_ns:
            _refuse("periodic stall", "it is shorter than its period")


@dataclass(frozen=True)
class Tlb:
    """Address translation of 4 KiB pages; huge pages are assumed to cost nothing."""

    entries: int = 1536
    walk_ns: float = 12.0

    def __post_init__(self) -> None:
        if self.entries < 0 or self.walk_ns < 0:
            _refuse("TLB", "entries and times are not negative")


@dataclass(frozen=True)
class ThreadBandwidth:
    """Bandwidth of one kind of traffic with T threads: published points, or a closed form.

    The closed form ((T b1)^-p + Bmax^-p)^(-1/p) rises with T; published points may fall.
    """

    one_thread_gb_per_s: float
    max_gb_per_s: float
    sharpness: float = 2.5
    """Exponent p: 2.5 fits published reads, 7 non-temporal stores."""
    points: tuple[tuple[int, float], ...] = ()
    """Published (threads, GB/s), fewest threads first; empty: the closed form."""

    def __post_init__(self) -> None:
        counts = [threads for threads, _ in self.points]
        if counts != sorted(set(counts)) or any(
            threads < 1 or value <= 0 for threads, value in self.points
        ):
            _refuse("bandwidth", "thread counts rise from 1 or more, and bandwidths are positive")
        if min(self.one_thread_gb_per_s, self.max_gb_per_s, self.sharpness) <= 0:
            _refuse("bandwidth", "bandwidths are positive")


@dataclass(frozen=True)
class NearCache:
    """Memory Mode: DRAM as a direct-mapped cache of the memory. Not validated on hardware."""

    capacity_bytes: int
    latency_ns: float

    def __post_init__(self) -> None:
        if self.capacity_bytes < LINE_BYTES or self.capacity_bytes % LINE_BYTES:
            _refuse("DRAM cache", f"{self.capacity_bytes} B is not a multiple of 64 B lines")
        if self.latency_ns <= 0:
            _refuse("DRAM cache", "times are positive")


@dataclass(frozen=True)
class DeviceModel:
    """A memory and the caches in front of it."""

    name: str
    media_ns: float
    """Latency of a load that the medium serves."""
    read: ThreadBandwidth
    write: ThreadBandwidth
    """Bandwidth of stores through the caches, as it reaches memory."""
    nt_store: ThreadBandwidth
    caches: tuple[MemoryLevel, ...] = ()
    near: NearCache | None = None
    buffers: tuple[MemoryLevel, ...] = ()
    granularity_bytes: int = LINE_BYTES
    """Smallest transfer of the medium; smaller random accesses are amplified."""
    media_drain_ns: float = 50.0
    """Time to drain a queued line to the medium."""
    queue: WriteQueue | None = None
    fence_ns: float = 60.0
    """Cost of a non-temporal store and its fence, without the queue's accept time."""
    flush_ns: float = 35.0
    """Cost of a store, a cache-line write-back and a fence, without the accept time."""
    interleave: DeviceInterleave | None = None
    wear: WearStall | None = None
    refresh: Refresh | None = None
    tlb: Tlb = field(default_factory=Tlb)
    loaded: tuple[tuple[float, tuple[tuple[float, float], ...]], ...] = ()
    """Published loaded latency: (read share, ((GB/s, ns), ...)); none: the closed form."""
    mixtures: tuple[tuple[float, int, float], ...] = ()
    """Published mixed traffic: (read share, threads or 0 if unknown, GB/s); none: the times of
    reads and writes add up."""
    threads: int = 16
    largest_bytes: int = 1 << 30

    def __post_init__(self) -> None:
        times = (self.media_ns, self.media_drain_ns, self.fence_ns, self.flush_ns)
        if min(times) <= 0:
            _refuse(self.name, "times are positive")
        if any(cache.block_bytes != LINE_BYTES for cache in self.caches):
            _refuse(self.name, "caches hold lines of 64 B")
        if self.granularity_bytes < LINE_BYTES or self.granularity_bytes.bit_count() != 1:
            _refuse(self.name, "granularity is a power of two from 64 B")
        for outer, inner in zip(self.levels[1:], self.levels, strict=False):
            if outer.latency_ns < inner.latency_ns:
                _refuse(self.name, f"{outer.name} is faster than {inner.name} before it")

    @property
    def levels(self) -> tuple[MemoryLevel, ...]:
        """Caches and buffers, from the core outward."""
        return self.caches + self.buffers

    @property
    def devices(self) -> int:
        """Number of devices, each with its own buffers and write queue."""
        return self.interleave.devices if self.interleave else 1

    @property
    def largest_level_bytes(self) -> int:
        """Capacity of the largest level, over all devices."""
        return max(
            [0, *(cache.capacity_bytes for cache in self.caches)]
            + [buffer.capacity_bytes * self.devices for buffer in self.buffers]
        )


def _refuse(name: str, why: str) -> None:
    raise NearfarError(f"{name} cannot be simulated: {why}")
