"""RunRecord: a program run under a plan or a policy, and where its pages were."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from nearfar.documents.header import Document


class RunMemory(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A memory of the plan, and the memory of this machine that represented it."""

    name: str
    device: str
    """Name of its DeviceProfile in the plan; empty without a plan."""
    spec: str
    """``dram``, ``node:1``, ``file:/mnt/pmem0``, ``devdax:/dev/dax0.0``, ``zram``."""


class ObjectLanding(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One object: its planned memories and where its pages were.

    The numbers are of the moment when most of it existed. Bytes are estimates from one page in
    eight, each of which counts for the object at a chosen address in it; if everything is placed
    near, from one block per 512 KiB allocated.
    """

    object: int
    """Id in the plan's profile."""
    name: str
    planned: dict[str, float]
    """Share of the object's bytes by planned memory."""
    planned_bytes: int
    """Bytes according to the profile."""
    recognised_bytes: int
    """Bytes of blocks and mappings whose call stack identified this object; 0: never seen."""
    bytes_by_memory: dict[str, int]
    """Touched pages by memory, as the kernel reports them. With a paged memory, near are those in
    main memory and far those in swap, at the last moment."""
    fallback_bytes: int
    """Bytes of pages in another memory because theirs was full: placed near by the library, or on
    another node by the kernel."""
    on_plan: float | None
    """Share of its present pages that are in the planned memories, at most the planned share of
    each; for an object in ranges, pages in the memory of their range. None: no page was present."""


class Migration(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Pages moved while the program ran (`--adapt`)."""

    time_ns: float
    """Time since the start."""
    why: str
    """The phase that began, or the observed change of the object's use."""
    object: int
    name: str
    begin_bytes: int | None = None
    """Start of the moved range in the object; None: the whole object moved."""
    end_bytes: int | None = None
    memory: str
    moved_bytes: int
    failed_bytes: int
    """Bytes of pages that the kernel did not move."""
    cost_ns: float
    """Wall time of the calls that moved them, in nearfar's process."""


class PagedRunPhase(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One phase of a run with limited memory."""

    phase: str
    wall_time_ns: float
    cpu_time_ns: float
    major_faults: int
    """Faults of the program's first process that waited for a page, polled every 10 ms."""


class PagedAlone(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The same program at the same limit without the plan (`--beside-kernel`)."""

    way: str
    """``kernel``: the limit alone; ``memory.high``: only the limit that slows down;
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
    """A run with limited memory, with swap for the rest (`--far zram`)."""

    budget_bytes: int
    """Limit of the program's control group: its memory and the files that it reads."""
    algorithm: str
    """Compression; empty: none."""
    major_faults: int
    """Faults that waited for a page from swap or from a file."""
    swap_ins: int
    """Pages read from swap."""
    swap_outs: int
    """Pages written to swap by all programs of the machine."""
    peak_bytes: int
    """Peak of the memory that counts against the limit."""
    reliefs: int
    """How often the kernel found no page to swap out and the program got 128 KiB more for some ms
    instead of being killed."""
    killed: int
    """Processes that the kernel ended because the limit was too low for them."""
    full_bytes: int | None = None
    """Peak of the same program without a limit; None: it was not run without one."""
    full_wall_time_ns: float | None = None
    """Wall time of the same program without a limit; None: it was not run without one."""
    locked_bytes: int = 0
    """Maximum number of bytes locked at the same time."""
    phases: list[PagedRunPhase] = []
    alone: list[PagedAlone] = []


class RunRecord(Document, kw_only=True, forbid_unknown_fields=True):
    """One run."""

    KIND: ClassVar[str] = "run-record"
    MADE_BY: ClassVar[str] = "nearfar run -o"
    VERSION: ClassVar[int] = 1

    plan: str
    """File of the plan; empty: none."""
    policy: str
    """``plan``, or the requested policy of the kernel."""
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
    """All bytes of present blocks and recognised mappings, at the moment of most memory."""
    recognised_share_of_profile: float | None
    """Share of the plan's heap and mapped bytes whose objects were recognised in at least one block
    or mapping; None without a plan."""
    recognised_share_of_heap: float | None
    """Share of bytes in blocks that belongs to objects of the plan, at the moment of most
    memory."""
    heap_bytes: int
    """Bytes in blocks of the largest process, at the moment of most memory."""
    out_of_sight_bytes: int
    """Anonymous memory that is neither in blocks nor recognised: stacks, globals, other
    allocators."""
    fallback_bytes: int
    pictures: int
    """Number of times the kernel was asked for the location of pages."""
    processes: int
    """Number of processes into which the library was loaded."""
    verb_cpu_ns: float = 0.0
    """CPU time of nearfar's process for call stacks and snapshots, `cpu_time_ns` not included."""
    stacks_asked: int = 0
    """Call stacks that no process of the run had met before; their allocations waited for the
    verb."""
    migrations: list[Migration] = []
    paged: PagedRun | None = None
    """None: memory was not limited."""
    warnings: list[str] = []
