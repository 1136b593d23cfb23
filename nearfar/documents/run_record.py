"""RunRecord: a program run under a plan or a policy, and where the kernel says its pages landed."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from nearfar.documents.header import Document


class RunMemory(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A memory of the plan, and what stood for it."""

    name: str
    device: str
    """Name of its DeviceProfile in the plan; empty without a plan."""
    spec: str
    """``dram``, ``node:1``, ``file:/mnt/pmem0``, ``devdax:/dev/dax0.0``, ``zram``."""


class ObjectLanding(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One object: where it was to go, where it was.

    Of the moment when most of it was there. Bytes are estimates from one page in eight, each of
    which stands for the object that holds a chosen place of it; where all goes near, from one
    block in 512 KiB that were allocated.
    """

    object: int
    """Id in the plan's profile."""
    name: str
    planned: dict[str, float]
    """Memory to share of the object's bytes."""
    planned_bytes: int
    """Bytes according to the profile."""
    recognised_bytes: int
    """Bytes of blocks and mappings whose call stack identified them as this object; 0: never
    seen."""
    bytes_by_memory: dict[str, int]
    """Pages that are there (touched), by memory, as the kernel says: with a paged memory, near are
    those in main memory and far those in swap, at the last moment."""
    fallback_bytes: int
    """Bytes of pages that are elsewhere because their memory was full: put near by the library, or
    on another node by the kernel."""
    on_plan: float | None
    """Share of the pages there that are in the planned memories, none counted beyond its planned
    share; of an object in ranges, those in the memory of their range; None: no page of it was
    there."""


class Migration(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Pages moved while the program ran (`--adapt`)."""

    time_ns: float
    """Since start."""
    why: str
    """The phase that began, or what was seen of the object's use."""
    object: int
    name: str
    begin_bytes: int | None = None
    """Where the range that moved begins in the object; None: the whole object moved."""
    end_bytes: int | None = None
    memory: str
    moved_bytes: int
    failed_bytes: int
    """Pages that the kernel would not move."""
    cost_ns: float
    """Wall time of the calls that moved them, in nearfar's own process."""


class PagedRunPhase(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One phase of a run whose memory was limited."""

    phase: str
    wall_time_ns: float
    cpu_time_ns: float
    major_faults: int
    """Faults of the program's first process that waited for a page, polled every 10 ms."""


class PagedAlone(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The same program at the same limit without the plan (`--beside-kernel`)."""

    way: str
    """``kernel``: the limit alone; ``memory.high``: the limit that slows down, alone;
    ``damon_reclaim``: the limit, and DAMON's proactive reclaim."""
    why_not: str = ""
    """Why it was not run; empty: it was."""
    exit_status: str = ""
    wall_time_ns: float = 0.0
    cpu_time_ns: float = 0.0
    major_faults: int = 0
    swap_ins: int = 0
    killed: int = 0


class PagedRun(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A run whose memory was limited, with swap for the rest (`--far zram`)."""

    budget_bytes: int
    """Limit of the program's control group: its memory and the files that it reads."""
    algorithm: str
    """Compression; empty: none."""
    major_faults: int
    """Faults that waited for a page, of swap or of a file."""
    swap_ins: int
    """Pages that came back from swap."""
    swap_outs: int
    """Pages that went to swap, of all programs of the machine."""
    peak_bytes: int
    """Peak of what counts against the limit."""
    reliefs: int
    """Times at which the kernel found no page to send away, and the program got 128 KiB more for
    some ms instead of being ended."""
    killed: int
    """Processes that the kernel ended because the limit was too low for them."""
    full_bytes: int | None = None
    """Peak of the same program without a limit; None: not run so."""
    full_wall_time_ns: float | None = None
    """Wall time of the same program without a limit; None: not run so."""
    locked_bytes: int = 0
    """Most bytes that were locked at a moment."""
    phases: list[PagedRunPhase] = []
    alone: list[PagedAlone] = []


class RunRecord(Document, kw_only=True, forbid_unknown_fields=True):
    """One run."""

    KIND: ClassVar[str] = "run-record"
    VERSION: ClassVar[int] = 1

    plan: str
    """File of the plan; empty: none."""
    policy: str
    """``plan``, or the kernel's own way that was asked for."""
    command: list[str]
    executable: str
    exit_status: str
    wall_time_ns: float
    cpu_time_ns: float
    """User and system time of the program and everything it started."""
    allocator: str
    memories: list[RunMemory]
    objects: list[ObjectLanding]
    pages_by_memory: dict[str, int]
    """All bytes of blocks and recognised mappings that were there, at the fullest moment."""
    recognised_share_of_profile: float | None
    """Share of the plan's heap and mapped bytes whose objects were recognised in at least one block
    or mapping; None without a plan."""
    recognised_share_of_heap: float | None
    """Share of bytes in blocks at the fullest moment that belongs to objects of the plan."""
    heap_bytes: int
    """Bytes in blocks at the fullest moment of the largest process."""
    out_of_sight_bytes: int
    """Anonymous memory that is neither in blocks nor recognised: stacks, globals, another
    allocator's."""
    fallback_bytes: int
    pictures: int
    """Number of times the kernel was asked for the location of pages."""
    processes: int
    """That the library was loaded into."""
    verb_cpu_ns: float = 0.0
    """CPU time of nearfar's process for call stacks and snapshots, `cpu_time_ns` not included."""
    stacks_asked: int = 0
    """Call stacks that no process of the run had met before; their allocations waited."""
    migrations: list[Migration] = []
    paged: PagedRun | None = None
    """None: memory was not limited."""
    warnings: list[str] = []
