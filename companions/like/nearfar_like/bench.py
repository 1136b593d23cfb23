"""The interface on which tools measure: CPUs, memories, and threads that each cause one traffic.

A `Bench` is this machine (`real.RealBench`) or a simulated memory of the library
(`model.ModelBench`). Modes and tables use nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nearfar_like.repeat import Effort


@dataclass(frozen=True)
class BufferPlace:
    """The memory of a buffer: a node, or a folder in which a file is mapped."""

    node: int | None = None
    """NUMA node; None without a folder: the node nearest to the CPU that uses the buffer."""
    folder: Path | None = None

    def __str__(self) -> str:
        if self.folder is not None:
            return str(self.folder)
        return "local memory" if self.node is None else f"node {self.node}"


@dataclass(frozen=True)
class Chase:
    """A thread that makes dependent loads."""

    cpu: int
    place: BufferPlace
    size_bytes: int
    sequential: bool = False
    stride_bytes: int = 64
    window_bytes: int = 0
    """Bytes of the moving window of random accesses; 0: the entire buffer."""
    pages: str = "default"
    """default (as programs get them), 4k, or 2m and 1g from the reserved pools."""
    home_cpu: int | None = None
    """CPU whose node contains the buffer if `place` names no node; None: `cpu`."""


@dataclass(frozen=True)
class Worker:
    """A thread that causes bandwidth."""

    cpu: int
    place: BufferPlace
    size_bytes: int
    kernel: str
    read_share: float | None = None
    stride_bytes: int = 64
    pause_ns: float = 0.0
    """Pause after every 2 KiB, ns."""
    shared: bool = False
    """Whether it uses the buffer that all sharing workers use."""
    window_bytes: int = 0
    pages: str = "default"
    home_cpu: int | None = None


@dataclass(frozen=True)
class NodeFacts:
    """A NUMA node of the bench."""

    id: int
    cpus: tuple[int, ...]
    """CPUs this process may use; empty: a node without CPUs, such as CXL memory."""
    memory_bytes: int
    free_bytes: int
    cache_bytes: int | None = None
    """Size of the memory-side cache (Memory Mode); None: there is none."""


@dataclass(frozen=True)
class Values:
    """The samples of one measurement, in order."""

    ns: list[float]
    """Latency of an access of the chase, ns; empty without a chase."""
    gb_per_s: list[list[float]]
    """Payload bandwidth, GB/s; one list per worker."""
    notes: tuple[str, ...] = ()
    """Differences from the request, each to be printed once."""


@dataclass(frozen=True)
class HandOff:
    """Transfer times of a line between two cores, one way."""

    cpu: int
    other_cpu: int
    modified_ns: list[float]
    """Times of a line that the other core had written (HITM), ns."""
    clean_ns: list[float]
    """Times of a line that the other core had only read (HIT), ns."""


class Bench(Protocol):
    """CPUs and memories that can be measured."""

    @property
    def name(self) -> str:
        """Name of the model; empty: this machine."""

    @property
    def ghz(self) -> float:
        """Frequency of the clock in which delays are counted, GHz."""

    @property
    def vector(self) -> str:
        """Instruction sets in use, the narrowest last; empty: a model."""

    @property
    def llc_bytes(self) -> int:
        """Last-level cache as one CPU sees it."""

    def nodes(self) -> list[NodeFacts]:
        """Return the nodes, by number."""

    def one_per_core(self, cpus: tuple[int, ...]) -> tuple[int, ...]:
        """Return the first CPU of each core of `cpus`."""

    def check(self, chase: Chase | None, workers: list[Worker]) -> list[str]:
        """Refuse what this bench cannot measure; return notes to print before the table."""

    def measure(self, chase: Chase | None, workers: list[Worker], effort: Effort) -> Values:
        """Run the chase and the workers together, one sample after another."""

    def core_to_core(self) -> list[HandOff]:
        """Time every pair of cores."""
