"""MachineProfile: memories, caches and counters of this machine, and missing abilities."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.documents.core import CoreFigures
from nearfar.documents.header import Document


class Cache(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One cache, as one group of CPUs shares it."""

    level: int
    type: Literal["data", "instruction", "unified"]
    size_bytes: int
    ways: int | None
    line_bytes: int
    shared_by_cpus: list[int]
    count: int
    """Number of such caches in the machine."""


class HmatFigures(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Latency and bandwidth of a node as its firmware states them, seen from the nearest CPUs."""

    read_latency_ns: float | None = None
    write_latency_ns: float | None = None
    read_bandwidth_gb_per_s: float | None = None
    write_bandwidth_gb_per_s: float | None = None


class Node(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One NUMA node."""

    id: int
    cpus: list[int]
    """Empty: memory only, such as CXL or persistent memory used as RAM."""
    memory_bytes: int
    free_bytes: int
    distances: dict[str, int]
    """Node id to ACPI SLIT distance (10 = itself)."""
    hmat: HmatFigures | None = None
    memory_side_cache_bytes: int | None = None
    tier: int | None = None
    """Kernel's memory tier number; smaller is faster; None where the kernel has no tiers."""


class PersistentMemory(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A persistent-memory region or namespace."""

    device: str
    mode: str
    """fsdax, devdax, sector, raw, system-ram."""
    size_bytes: int
    node: int | None
    mount: str | None = None
    dax: bool | None = None


class CxlDevice(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A CXL memory device."""

    device: str
    volatile_bytes: int | None
    persistent_bytes: int | None
    node: int | None


class Ability(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An ability of this machine, or why it cannot be used and the command that fixes it."""

    name: str
    usable: bool
    detail: str
    """Value found; for an unusable ability, the reason."""
    remedy: str = ""
    """Command that fixes it; empty: there is none."""


class MatrixEntry(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Latency and bandwidth that CPUs of `cpu_node` measured on memory of `memory_node`."""

    cpu_node: int
    memory_node: int
    latency_ns: float
    latency_low_ns: float
    latency_high_ns: float
    read_gb_per_s: float
    read_low_gb_per_s: float
    read_high_gb_per_s: float


class CoreToCore(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Time for a line that one CPU wrote to reach another, ns one way."""

    cpu: int
    other_cpu: int
    value_ns: float
    low_ns: float
    high_ns: float


class Split(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Two competing copies at one split of the threads; GB/s of payload, read + written."""

    copies: tuple[str, str]
    """Copies of the first and of the other threads, such as ("A->A", "A->B")."""
    threads: tuple[int, int]
    gb_per_s: tuple[float, float]


class JointLimit(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Joint bandwidth of two memories; if it is below the sum of both, they share a channel."""

    memories: tuple[str, str]
    """Specs or device names, A and B."""
    alone_gb_per_s: tuple[float, float]
    """Best copy rate of each with all threads."""
    together_gb_per_s: float
    """Best sum over all splits."""
    low_gb_per_s: float | None = None
    high_gb_per_s: float | None = None
    shared: bool
    """Whether the joint bandwidth is below the sum of both alone by more than noise."""
    how: Literal["measured", "published", "assumed"] = "measured"
    splits: list[Split] = []
    note: str = ""
    """Reason for the value of `shared`."""


class MachineProfile(Document, kw_only=True, forbid_unknown_fields=True):
    """One machine."""

    KIND: ClassVar[str] = "machine-profile"
    MADE_BY: ClassVar[str] = "nearfar machine -o"
    VERSION: ClassVar[int] = 1

    cpu_model: str
    architecture: str
    sockets: int
    cores: int
    cpus: list[int]
    threads_per_core: int
    vector_extensions: list[str]
    caches: list[Cache]
    nodes: list[Node]
    transparent_huge_pages: str
    """always, madvise, never, or unknown."""
    huge_pages: dict[str, int]
    """Number of reserved pages by size, such as "2MiB"."""
    persistent_memory: list[PersistentMemory]
    cxl: list[CxlDevice]
    virtualisation: str
    """"none", or the hypervisor's name."""
    abilities: list[Ability]
    matrix: list[MatrixEntry] = []
    """Measured, for every pair of nodes; empty until `nearfar machine --measure`."""
    core_to_core: list[CoreToCore] = []
    joint_limits: list[JointLimit] = []
    """Pairs that are not listed are assumed to be independent."""
    core: CoreFigures | None = None
    """Measured; None until `nearfar measure core` or `nearfar machine --measure`."""
    cpu_id: str = ""
    """As in the producer."""

    def last_level_cache(self) -> Cache | None:
        """Return the largest data or unified cache of the highest level; None if unknown."""
        data = [cache for cache in self.caches if cache.type != "instruction"]
        return max(data, key=lambda cache: (cache.level, cache.size_bytes), default=None)
