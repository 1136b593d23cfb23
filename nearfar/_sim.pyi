"""Fast simulators of memory devices."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy import float32
from numpy.typing import NDArray

class Level:
    def __init__(
        self,
        sets: int,
        ways: int,
        replacement: str,
        block_log2: int,
        read_ns: float,
        drain_ns: float,
    ) -> None: ...

class Memory:
    def __init__(
        self,
        *,
        caches: Sequence[Level],
        buffers: Sequence[Level],
        media_read_ns: float,
        media_drain_ns: float,
        queue_lines: int,
        queue_accept_ns: float,
        devices: int,
        granularity_log2: int,
        wear_period_writes: int,
        wear_block_log2: int,
        wear_length_ns: float,
        wear_spread: float,
        wear_tracked_blocks: int,
        refresh_period_ns: float,
        refresh_length_ns: float,
        tlb_entries: int,
        tlb_walk_ns: float,
        near_bytes: int,
        near_read_ns: float,
        seed: int,
    ) -> None: ...

class RunResult:
    @property
    def read(self) -> list[int]: ...
    @property
    def written(self) -> list[int]: ...
    @property
    def lines(self) -> int: ...
    @property
    def walks(self) -> int: ...
    @property
    def media_writes(self) -> int: ...
    @property
    def wear_stalls(self) -> int: ...
    @property
    def refresh_stalls(self) -> int: ...
    @property
    def elapsed_ns(self) -> float: ...
    def take_each_ns(self) -> NDArray[float32]: ...

def run(
    *,
    memory: Memory,
    operation: str,
    region_bytes: int,
    access_bytes: int,
    stride_bytes: int,
    window_bytes: int = 0,
    random: bool = True,
    page_bytes: int = 0,
    pattern_seed: int = 1,
    first: int = 0,
    warm_up: int = 0,
    accesses: int = 1,
    fence_every: int = 1,
    fence_ns: float = 0.0,
    rest_ns: float = 0.0,
    wear_unit_bytes: int = 256,
    each: bool = False,
    isa: str = "",
) -> RunResult:
    """Run a measuring kernel on a simulated memory."""

class ReplayResult:
    @property
    def accesses_by_level(self) -> list[int]: ...
    @property
    def written_back(self) -> int: ...
    @property
    def elapsed_ns(self) -> float: ...

def replay(
    memory: Memory,
    stream: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", writable=False)],
    isa: str = "",
) -> ReplayResult:
    """
    Run an address stream: each word is a byte address times two, plus 1 for a store.
    """

def isas() -> list[str]:
    """Usable instruction sets, fastest first; results are equal."""
