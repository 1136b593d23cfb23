# Types of the native module made by native/bind/window.cpp.
import numpy as np
from numpy.typing import NDArray

MOST_IN_FLIGHT: int

class Trace:
    def __init__(self) -> None: ...
    def set_code(
        self,
        *,
        cycles: NDArray[np.uint8],
        conditional: NDArray[np.uint8],
        address_begins: NDArray[np.uint32],
        address: NDArray[np.uint8],
        uses_begins: NDArray[np.uint32],
        uses: NDArray[np.uint8],
        defs_begins: NDArray[np.uint32],
        defs: NDArray[np.uint8],
    ) -> None: ...
    def add_block(self, first: int, count: int, begin: int, end: int) -> None: ...
    def add_burst(
        self,
        *,
        blocks: NDArray[np.uint32],
        instructions: NDArray[np.uint32],
        lines: NDArray[np.uint32],
        offsets: NDArray[np.uint8],
        widths: NDArray[np.uint8],
        stores: NDArray[np.uint8],
    ) -> None: ...
    def predict(self) -> int: ...
    def dependences(self, burst: int) -> list[int]: ...

class Core:
    def __init__(
        self,
        *,
        window: int,
        width: float,
        store_buffer: int,
        first_level: float,
        second_level: float,
        last_level: float,
        mispredicted: float,
    ) -> None: ...

class Medium:
    def __init__(
        self, *, latency: list[float], buffer: float, line: float, write_back: float, stream: float
    ) -> None: ...

class Windowed:
    cycles: float
    instructions: int
    mispredictions: int
    prefetched: int
    misses: int

def run(
    trace: Trace, served: NDArray[np.uint8], core: Core, near: Medium, far: Medium
) -> Windowed: ...
