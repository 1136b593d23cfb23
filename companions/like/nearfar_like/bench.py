"""What the tools here measure on: CPUs, memories, and threads that each do one kind of traffic.

Two things are a `Bench`: this machine (`real.RealBench`), and a memory of the library whose truth
is known (`model.ModelBench`). Modes and tables see nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nearfar_like.repeat import Effort


@dataclass(frozen=True)
class BufferPlace:
    """Where a buffer lies: a node, or a folder whose file is mapped."""

    node: int | None = None
    """None, with no folder either: the node nearest to the CPU that uses it."""
    folder: Path | None = None

    def __str__(self) -> str:
        if self.folder is not None:
            return str(self.folder)
        return "local memory" if self.node is None else f"node {self.node}"


@dataclass(frozen=True)
class Chase:
    """One thread of dependent loads."""

    cpu: int
    place: BufferPlace
    size_bytes: int
    sequential: bool = False
    stride_bytes: int = 64
    window_bytes: int = 0
    """Random within so much, which moves on through the buffer; 0: across the whole buffer."""
    pages: str = "default"
    """default (as programs get them), 4k, 2m or 1g (of the reserved pools)."""
    home_cpu: int | None = None
    """The CPU whose node the buffer is of, where `place` names none; None: `cpu`."""


@dataclass(frozen=True)
class Worker:
    """One thread of bandwidth."""

    cpu: int
    place: BufferPlace
    size_bytes: int
    kernel: str
    read_share: float | None = None
    stride_bytes: int = 64
    pause_ns: float = 0.0
    """Rest after every 2 KiB."""
    shared: bool = False
    """All workers that say so use one buffer."""
    window_bytes: int = 0
    pages: str = "default"
    home_cpu: int | None = None


@dataclass(frozen=True)
class NodeFacts:
    """One node as the bench sees it."""

    id: int
    cpus: tuple[int, ...]
    """Those that may be used; empty: a node without CPUs, such as CXL memory."""
    memory_bytes: int
    free_bytes: int
    cache_bytes: int | None = None
    """Of a memory-side cache: Memory Mode."""


@dataclass(frozen=True)
class Values:
    """What one measurement found: the samples of a latency or a bandwidth, in order."""

    ns: list[float]
    """Per access of the chase; empty without one."""
    gb_per_s: list[list[float]]
    """Of each worker, payload; one list a worker."""
    notes: tuple[str, ...] = ()
    """What was obtained other than asked, to be said once."""


@dataclass(frozen=True)
class HandOff:
    """A line passed between two cores; ns one way, sample after sample."""

    cpu: int
    other_cpu: int
    modified_ns: list[float]
    """The other had written it (HITM)."""
    clean_ns: list[float]
    """The other had only read it (HIT)."""


class Bench(Protocol):
    """Something with CPUs and memories."""

    @property
    def name(self) -> str:
        """Empty: this machine; else the model's."""

    @property
    def ghz(self) -> float:
        """Of the clock in which delays are counted."""

    @property
    def vector(self) -> str:
        """Instruction set of the sequential kernels."""

    @property
    def llc_bytes(self) -> int:
        """Last-level cache as one CPU sees it."""

    def nodes(self) -> list[NodeFacts]:
        """Return the nodes, by number."""

    def one_per_core(self, cpus: tuple[int, ...]) -> tuple[int, ...]:
        """Return the first CPU of each core of `cpus`."""

    def check(self, chase: Chase | None, workers: list[Worker]) -> list[str]:
        """Refuse what cannot be had here before anything is measured; return what is to be said."""

    def measure(self, chase: Chase | None, workers: list[Worker], effort: Effort) -> Values:
        """Run all together, sample after sample."""

    def core_to_core(self) -> list[HandOff]:
        """Time every pair of cores."""
