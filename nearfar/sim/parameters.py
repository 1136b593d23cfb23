"""What a simulated memory is made of, checked; words as in native/sim/device/parameters.hpp.

Sizes in bytes, times in ns, bandwidths in GB/s (1e9 B/s). Read latencies are those of a load that
is served there, all the way from the core.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from nearfar.base.errors import NearfarError
from nearfar.base.units import LINE_BYTES

LARGEST_BLOCK_BYTES = 4096
MOST_WAYS = 16
"""Of a set: one 64-byte row of the simulator."""

Replacement = Literal["lru", "random"]


@dataclass(frozen=True)
class Level:
    """A cache of the processor, or a buffer of each device."""

    name: str
    capacity_bytes: int
    latency_ns: float
    """Of a load served here."""
    block_bytes: int = LINE_BYTES
    ways: int = 0
    """0: fully associative."""
    replacement: Replacement = "lru"
    drain_ns: float = 0.0
    """Of a queued line whose block is here; buffers only."""

    def __post_init__(self) -> None:
        block = self.block_bytes
        if block not in (64, 128, 256, 512, 1024, 2048, 4096):
            _refuse(self.name, f"blocks are a power of two from 64 B to 4 KiB, not {block} B")
        if not 0 <= self.ways <= MOST_WAYS:
            _refuse(self.name, f"ways are 1 to {MOST_WAYS}, or 0 for fully associative")
        if self.capacity_bytes <= 0 or self.capacity_bytes % (block * max(self.ways, 1)):
            _refuse(
                self.name,
                f"{self.capacity_bytes} B is no whole number of sets of {max(self.ways, 1)} blocks "
                f"of {block} B",
            )
        if self.latency_ns <= 0 or self.drain_ns < 0:
            _refuse(self.name, "times are positive")

    @property
    def sets(self) -> int:
        """Sets; a fully associative level is one."""
        return 1 if self.ways == 0 else self.capacity_bytes // (self.block_bytes * self.ways)

    @property
    def blocks(self) -> int:
        """Blocks it holds."""
        return self.capacity_bytes // self.block_bytes


@dataclass(frozen=True)
class WriteQueue:
    """Where writes wait to be drained."""

    capacity_bytes: int
    accept_ns: float
    """Time in which a line is taken while there is room."""

    def __post_init__(self) -> None:
        if self.capacity_bytes < LINE_BYTES or self.capacity_bytes % LINE_BYTES:
            _refuse("write queue", f"{self.capacity_bytes} B is no whole number of 64 B lines")
        if self.accept_ns <= 0:
            _refuse("write queue", "times are positive")


@dataclass(frozen=True)
class Interleave:
    """How neighbouring addresses are spread over devices."""

    devices: int
    granularity_bytes: int

    def __post_init__(self) -> None:
        if not 1 <= self.devices <= 1024:
            _refuse("interleave", "there are 1 to 1024 devices")
        if self.granularity_bytes < LINE_BYTES or self.granularity_bytes.bit_count() != 1:
            _refuse("interleave", "granularity is a power of two from 64 B")


@dataclass(frozen=True)
class WearStall:
    """A stall that every `period_writes` writes to one block make."""

    period_writes: int
    length_ns: float
    granularity_bytes: int = 4096
    tracked_bytes: int = 0
    """Blocks written last whose writes are counted: spread over more, writes never stall. 0: all
    blocks' writes are."""
    spread: float = 0.0
    """Of the length, relative, uniform to both sides."""

    def __post_init__(self) -> None:
        if self.period_writes < 2 or self.length_ns <= 0:
            _refuse("wear stall", "it comes every 2 or more writes and takes time")
        if self.granularity_bytes < LINE_BYTES or self.granularity_bytes.bit_count() != 1:
            _refuse("wear stall", "granularity is a power of two from 64 B")


@dataclass(frozen=True)
class Refresh:
    """A stall that comes every `period_ns`."""

    period_ns: float
    length_ns: float

    def __post_init__(self) -> None:
        if not 0 < self.length_ns < self.period_ns:
            _refuse("periodic stall", "it is shorter than its period")


@dataclass(frozen=True)
class Tlb:
    """Translations of 4 KiB pages; huge pages are taken as free."""

    entries: int = 1536
    walk_ns: float = 12.0

    def __post_init__(self) -> None:
        if self.entries < 0 or self.walk_ns < 0:
            _refuse("TLB", "entries and times are not negative")


@dataclass(frozen=True)
class Bandwidth:
    """Bandwidth of one kind of traffic by threads: as published, else ((T b1)^-p + Bmax^-p)^(-1/p).

    The closed form only ever rises; that more threads get less is known where it was measured.
    """

    one_thread_gb_per_s: float
    most_gb_per_s: float
    sharpness: float = 2.5
    """p: 2.5 fits published reads, 7 non-temporal stores."""
    points: tuple[tuple[int, float], ...] = ()
    """Threads and GB/s as published, fewest threads first; empty: the closed form."""

    def __post_init__(self) -> None:
        counts = [threads for threads, _ in self.points]
        if counts != sorted(set(counts)) or any(
            threads < 1 or value <= 0 for threads, value in self.points
        ):
            _refuse("bandwidth", "thread counts rise from 1 or more, and bandwidths are positive")
        if min(self.one_thread_gb_per_s, self.most_gb_per_s, self.sharpness) <= 0:
            _refuse("bandwidth", "bandwidths are positive")


@dataclass(frozen=True)
class NearCache:
    """Memory Mode: DRAM as a direct-mapped cache in front. Not validated on hardware."""

    capacity_bytes: int
    latency_ns: float

    def __post_init__(self) -> None:
        if self.capacity_bytes < LINE_BYTES or self.capacity_bytes % LINE_BYTES:
            _refuse("DRAM cache", f"{self.capacity_bytes} B is no whole number of 64 B lines")
        if self.latency_ns <= 0:
            _refuse("DRAM cache", "times are positive")


@dataclass(frozen=True)
class DeviceModel:
    """A memory and the caches in front of it, as the simulator takes it."""

    name: str
    media_ns: float
    """Of a load that the medium serves."""
    read: Bandwidth
    write: Bandwidth
    """Stores through the caches, what reaches memory."""
    nt_store: Bandwidth
    caches: tuple[Level, ...] = ()
    near: NearCache | None = None
    buffers: tuple[Level, ...] = ()
    granularity_bytes: int = LINE_BYTES
    """The medium moves at least so much; random accesses of less are amplified."""
    media_drain_ns: float = 50.0
    """Of a queued line that goes to the medium."""
    queue: WriteQueue | None = None
    fence_ns: float = 60.0
    """What a non-temporal store and its fence cost beyond the queue taking the line."""
    flush_ns: float = 35.0
    """The same of a store, a cache-line write-back and a fence."""
    interleave: Interleave | None = None
    wear: WearStall | None = None
    refresh: Refresh | None = None
    tlb: Tlb = field(default_factory=Tlb)
    loaded: tuple[tuple[float, tuple[tuple[float, float], ...]], ...] = ()
    """Loaded latency as published: (read share, ((GB/s, ns), ...)); none: the closed form."""
    mixtures: tuple[tuple[float, int, float], ...] = ()
    """Mixed traffic as published: reads over all traffic, threads (0: of so many as it takes), GB/s
    of traffic; none: the times of reads and writes, one after the other."""
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
    def levels(self) -> tuple[Level, ...]:
        """Caches and buffers, from the core outward."""
        return self.caches + self.buffers

    @property
    def devices(self) -> int:
        """Devices, each with its own buffers and write queue."""
        return self.interleave.devices if self.interleave else 1

    @property
    def largest_level_bytes(self) -> int:
        """Capacity of the largest level, over all devices."""
        return max(
            [0, *(cache.capacity_bytes for cache in self.caches)]
            + [buffer.capacity_bytes * self.devices for buffer in self.buffers]
        )


def _refuse(what: str, why: str) -> None:
    raise NearfarError(f"{what} cannot be simulated: {why}")
