"""Kernels that measure memory, and the harness that times them."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray

class Shape:
    def __init__(
        self,
        access_bytes: int = 64,
        stride_bytes: int = 0,
        window_bytes: int = 0,
        read_share: float = 1.0,
        fence_every: int = 1,
    ) -> None:
        """How a kernel visits its lines; raises ValueError for an invalid shape."""

class Traffic:
    """Traffic of one iteration, bytes."""

    @property
    def read_bytes(self) -> int: ...
    @property
    def written_bytes(self) -> int: ...
    @property
    def non_temporal_bytes(self) -> int: ...
    @property
    def owned_bytes(self) -> int: ...
    @property
    def flushed_bytes(self) -> int: ...
    @property
    def fences(self) -> float: ...
    @property
    def dependent_loads(self) -> int: ...
    @property
    def read_share(self) -> float:
        """
        Share of reads in the memory bus's traffic, reads for ownership included.
        """

class Kernel:
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    def traffic(self, shape: Shape = ...) -> Traffic: ...
    @property
    def needs_links(self) -> bool: ...
    @property
    def max_chains(self) -> int: ...
    @property
    def has_target(self) -> bool: ...
    def part_bytes(self, array_bytes: int) -> int:
        """
        Size of a thread's part in which each array has so many bytes, in whole lines.
        """

    @property
    def can_time_each(self) -> bool: ...
    def missing(self, isa: str = "") -> str:
        """
        Why the kernel cannot run here, as the end of 'this processor ...'; empty: it can.
        """

def kernels() -> list[Kernel]:
    """All kernels, by name."""

def isas() -> list[str]:
    """
    Instruction sets that kernels can use here, widest (the default) first.
    """

def vector_extension() -> str:
    """Default instruction set of kernels."""

def has_nt_store() -> bool:
    """Whether this processor has non-temporal stores."""

def timer() -> tuple[float, float]:
    """Overhead and resolution of the thread CPU clock, ns."""

def access_timer() -> tuple[float, float]:
    """
    Overhead (already subtracted) and resolution of timing a single access, ns.
    """

class Memory:
    @staticmethod
    def anonymous(size_bytes: int, pages: str, node: int | None = None) -> Memory: ...
    @staticmethod
    def file(
        descriptor: int,
        size_bytes: int,
        direct: bool,
        offset_bytes: int = 0,
        unit_bytes: int = 4096,
    ) -> Memory: ...
    @property
    def address(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    def link(self, region_bytes: int = 0, shape: Shape = ..., sequential: bool = False) -> bool:
        """
        Link the first bytes for a chase, as timing does; False: they were linked already.
        """

    def nodes(self, samples: int) -> list[int]: ...

class Worker:
    def __init__(
        self,
        cpu: int,
        kernel: str = "",
        memory: Memory | None = None,
        second: Memory | None = None,
        region_bytes: int = 0,
        part: int = 0,
        parts: int = 1,
        shape: Shape = ...,
        chains: int = 1,
        pause_ns: float = 0.0,
        isa: str = "",
    ) -> None:
        """Work of one thread; without a kernel it spins to keep its core awake."""

class WorkerTraffic:
    """Traffic of one thread, GB/s."""

    @property
    def read_gb_per_s(self) -> float: ...
    @property
    def written_gb_per_s(self) -> float: ...
    @property
    def gb_per_s(self) -> float: ...

class Timing:
    @property
    def ns(self) -> float: ...
    @property
    def iterations(self) -> int: ...
    @property
    def beside(self) -> list[WorkerTraffic]: ...
    @property
    def loops_ns(self) -> float: ...
    @property
    def warm_up_passes(self) -> int: ...
    @property
    def switches(self) -> int: ...
    @property
    def disturbed(self) -> bool: ...

def time_alone(
    worker: Worker,
    iterations: int,
    warm_up: int,
    min_ns: float = 0.0,
    beside: Sequence[Worker] = [],
    pass_iterations: int = 0,
    stolen: StolenTicks | None = None,
) -> Timing:
    """
    ns per iteration on one CPU, and the others' traffic meanwhile. With pass_iterations, the
    warm-up ends once a pass takes as long as the previous pass. A co-runner that only spins
    then reads `stolen` for its next call.
    """

def time_each(
    worker: Worker, accesses: int, warm_up: int, rest_ns: float = 0.0, beside: Sequence[Worker] = []
) -> tuple[Annotated[NDArray[numpy.float32], dict(shape=(None,))], Timing]:
    """
    ns of every access (float32), and a Timing: ns is the mean of their middle half.
    """

class ParallelTiming:
    @property
    def each(self) -> list[WorkerTraffic]: ...
    @property
    def loops_ns(self) -> float: ...
    @property
    def disturbed(self) -> bool: ...

def together(
    workers: Sequence[Worker], duration_ns: float, warm_up_ns: float, by_clock: bool = False
) -> ParallelTiming:
    """Traffic of each of several threads that run at once."""

class StolenTicks:
    """Time that a hypervisor took from CPUs, in ticks."""

    def __init__(self, path: str, cpus: Sequence[int]) -> None:
        """Open /proc/stat, or raise OSError."""

    def most_since_last_call(self) -> int:
        """The most ticks that one of the CPUs lost since the last call."""

class HandOff:
    @property
    def line_ns(self) -> float: ...
    @property
    def modified_ns(self) -> float: ...
    @property
    def clean_ns(self) -> float: ...
    @property
    def disturbed(self) -> bool: ...

def missing_code() -> str:
    """
    Why code cannot be generated here, as the end of a sentence; empty: it can.
    """

def check_code() -> None:
    """Generate a loop; raises OSError if the system forbids that."""

def filler_names() -> list[str]:
    """Names of instructions that can be placed between two misses."""

def operation_names() -> list[str]:
    """Names of operations whose latency can be measured."""

class CoreProbe:
    """Timings that show the sizes of a core's buffers, see core/probe.hpp."""

    def __init__(self, chain_bytes: int, cpu: int, seed: int = 1) -> None: ...
    def overlap(
        self, fillers: Sequence[str], counts: Sequence[int], trials: int
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """
        ns per round of two misses, each followed by `count` fillers; by count, by trial.
        """

    def chains(
        self, counts: Sequence[int], trials: int
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """ns per round of `count` concurrent misses; by count, by trial."""

    def throughput(
        self, filler: str, trials: int
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """ns per independent instruction."""

    def dependent(
        self, operation: str, trials: int
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """ns per operation in a chain of dependent operations."""

    def branches(self, trials: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """ns per branch: always taken alike, then at random; by trial."""

    def after_stream(
        self, length: int, stride_bytes: int, ahead: int, at_page_end: bool, trials: int
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """ns of a read `ahead` strides beyond a stream of `length` reads."""

def spread_chase(
    memory: Memory, step_bytes: int, count: int, cpu: int, trials: int
) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
    """
    ns per dependent read of `count` lines, one in each step, in random order.
    """

def core_to_core(cpu_a: int, cpu_b: int, memory: Memory) -> HandOff:
    """
    Time of a line from one core to another, one way; see core_to_core.hpp.
    """

class Spent:
    @property
    def wall_ns(self) -> float: ...
    @property
    def cpu_ns(self) -> float: ...
    @property
    def pages(self) -> int: ...

class PagedRegion:
    def __init__(self, size_bytes: int, huge: bool) -> None: ...
    def fill(self, data: str, seed: int) -> None:
        """Write every page with records, noise or words."""

    def compression_work(self) -> int:
        """Mean work of a compressor on a page, in places searched."""

    def evict(self) -> Spent:
        """Send all pages to swap."""

    def resident(self) -> int:
        """Number of pages that are in memory."""

    def touch(
        self, cpus: Sequence[int], write: bool, in_order: bool, seed: int
    ) -> tuple[Spent, Annotated[NDArray[numpy.float32], dict(shape=(None,))], int]:
        """Touch every page once; time, ns of each touch, faults that read from swap."""

    def touch_again(self, cpu: int, count: int, seed: int) -> tuple[Spent, int]:
        """Touch pages at random; time, and faults that read from swap."""
