"""MachineProfile: what memories, caches and counters are here, and what lacks."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

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
    """How many caches like this the machine has."""


class HmatFigures(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What the firmware claims of a node as seen from its nearest CPUs."""

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
    """Something nearfar can use here, or why not: what, why, the command that mends it."""

    name: str
    usable: bool
    detail: str
    """What was found; where it is not usable, why."""
    remedy: str = ""
    """A command a person could type, or empty where none mends it."""


class MachineProfile(Document, kw_only=True, forbid_unknown_fields=True):
    """One machine."""

    KIND: ClassVar[str] = "machine-profile"
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
    """Size such as "2MiB" to how many are reserved."""
    persistent_memory: list[PersistentMemory]
    cxl: list[CxlDevice]
    virtualisation: str
    """"none", or the hypervisor's name."""
    abilities: list[Ability]

    def last_level_cache(self) -> Cache | None:
        """Return the largest data or unified cache of the highest level; None if unknown."""
        data = [cache for cache in self.caches if cache.type != "instruction"]
        return max(data, key=lambda cache: (cache.level, cache.size_bytes), default=None)
