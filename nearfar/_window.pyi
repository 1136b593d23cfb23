from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray

MOST_IN_FLIGHT: int = 64

class Trace:
    def __init__(self) -> None: ...
    def set_code(
        self,
        *,
        cycles: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", writable=False)],
        conditional: Annotated[
            NDArray[numpy.uint8], dict(shape=(None,), order="C", writable=False)
        ],
        computing: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", writable=False)],
        address_begins: Annotated[
            NDArray[numpy.uint32], dict(shape=(None,), order="C", writable=False)
        ],
        address: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", writable=False)],
        uses_begins: Annotated[
            NDArray[numpy.uint32], dict(shape=(None,), order="C", writable=False)
        ],
        uses: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", writable=False)],
        defs_begins: Annotated[
            NDArray[numpy.uint32], dict(shape=(None,), order="C", writable=False)
        ],
        defs: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", writable=False)],
    ) -> None: ...
    def add_block(self, first: int, count: int, begin: int, end: int) -> None: ...
    def add_burst(
        self,
        *,
        blocks: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", writable=False)],
        instructions: Annotated[
            NDArray[numpy.uint32], dict(shape=(None,), order="C", writable=False)
        ],
        lines: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", writable=False)],
        offsets: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", writable=False)],
        widths: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", writable=False)],
        stores: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", writable=False)],
    ) -> None: ...
    def predict(self) -> int:
        """Mark mispredicted branches of all bursts; return their number."""

    def dependences(self, burst: int) -> list[int]:
        """
        Distance of each access to the load that its address comes from, in accesses.
        """

class Core:
    def __init__(
        self,
        *,
        window: int,
        width: float,
        store_buffer: int,
        miss_buffers: int,
        computing: int,
        arithmetic: float,
        first_level: float,
        second_level: float,
        last_level: float,
        mispredicted: float,
    ) -> None: ...

class Medium:
    def __init__(
        self,
        *,
        latency: Sequence[float],
        line: float,
        write: float,
        write_back: float,
        stream: float,
    ) -> None: ...

class WindowResult:
    @property
    def cycles(self) -> float: ...
    @property
    def instructions(self) -> int: ...
    @property
    def mispredictions(self) -> int: ...
    @property
    def prefetched(self) -> int: ...
    @property
    def misses(self) -> int: ...

def run(
    trace: Trace,
    served: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", writable=False)],
    core: Core,
    near: Medium,
    far: Medium,
) -> WindowResult:
    """
    Run all bursts; served: 0 private cache, 1 last-level cache, 2 near, 3 far memory.
    """
