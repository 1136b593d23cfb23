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
        """
        How a kernel goes over its lines; ValueError for what no kernel can do.
        """

class Traffic:
    """What one iteration moves, bytes."""

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
        """Reads over all that crosses the memory bus, owned lines included."""

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
    @property
    def can_time_each(self) -> bool: ...
    def missing(self, isa: str = "") -> str:
        """
        Why it cannot run here, as the end of 'this processor ...'; empty: it can.
        """

def kernels() -> list[Kernel]:
    """All kernels, by name."""

def isas() -> list[str]:
    """
    Instruction sets that kernels can use here, the widest (used unless told) first.
    """

def vector_extension() -> str:
    """Instruction set that kernels use unless told."""

def has_nt_store() -> bool:
    """Whether this processor has stores past the caches."""

def timer() -> tuple[float, float]:
    """Overhead and resolution of the thread CPU clock, ns."""

def access_timer() -> tuple[float, float]:
    """
    Overhead (taken off already) and resolution of timing a single access, ns.
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
        Make its first bytes ready for a chase; False: they were. Timing does it too.
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
        """
        What one thread does; without a kernel it spins to keep its core awake.
        """

class Drawn:
    """What one thread moved, GB/s."""

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
    def beside(self) -> list[Drawn]: ...
    @property
    def loops_ns(self) -> float: ...
    @property
    def switches(self) -> int: ...
    @property
    def disturbed(self) -> bool: ...

def time_alone(
    worker: Worker,
    iterations: int,
    warm_up: int,
    least_ns: float = 0.0,
    beside: Sequence[Worker] = [],
    pass_iterations: int = 0,
) -> Timing:
    """
    ns per iteration on one CPU, and what others drew meanwhile. With pass_iterations the
    warm-up ends early once a pass takes as long as the one before.
    """

def time_each(
    worker: Worker, accesses: int, warm_up: int, rest_ns: float = 0.0, beside: Sequence[Worker] = []
) -> tuple[Annotated[NDArray[numpy.float32], dict(shape=(None,))], Timing]:
    """
    ns of every access (float32), and a Timing: ns is the mean of their middle half.
    """

class Together:
    @property
    def each(self) -> list[Drawn]: ...
    @property
    def loops_ns(self) -> float: ...
    @property
    def disturbed(self) -> bool: ...

def together(
    workers: Sequence[Worker], duration_ns: float, warm_up_ns: float, by_clock: bool = False
) -> Together:
    """What each of several threads moves, all at once."""

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
    Why no instructions can be generated here, as the end of a sentence; empty: they can.
    """

def check_code() -> None:
    """Generate a loop; OSError where the system forbids that."""

def filler_names() -> list[str]:
    """Instructions that can stand between two misses."""

def operation_names() -> list[str]:
    """Operations whose latency can be measured."""

class CoreProbe:
    """Times that show what a core holds, see core/probe.hpp."""

    def __init__(self, chain_bytes: int, cpu: int, seed: int = 1) -> None: ...
    def overlap(
        self, fillers: Sequence[str], counts: Sequence[int], trials: int
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """
        ns per round of two misses, each with so many fillers behind it; by count, by trial.
        """

    def chains(
        self, counts: Sequence[int], trials: int
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """ns per round of so many misses at once; by count, by trial."""

    def throughput(
        self, filler: str, trials: int
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """ns per instruction of independent ones."""

    def dependent(
        self, operation: str, trials: int
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """ns per operation, each on the result of the one before."""

    def branches(self, trials: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """ns per branch: in one direction, then in random directions; by trial."""

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
    How long a line takes from one core to another, one way; see core_to_core.hpp.
    """
