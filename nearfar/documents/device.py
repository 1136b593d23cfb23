"""DeviceProfile: how one memory behaves, measured here or published with its source.

Every figure states its origin (`how`) and which of `sources` it comes from (`source`). Latencies
are in ns per access as one core sees them. Bandwidths are in GB/s (1e9 B/s) of payload; those with
a `read_share` are of all traffic. `read_share` is reads divided by all traffic, 0 to 1.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.base.estimate import Finite
from nearfar.documents.header import Document

How = Literal["measured", "published", "fitted", "assumed"]
"""Origin of a figure. measured: by nearfar on this machine. published: in the source. fitted:
computed from the source's data by a rule that the note states. assumed: none of these; the note
gives the reason."""

Pattern = Literal["random", "sequential", "strided", "aliased"]
"""Order of accesses. strided: one access in every `stride_bytes`; reads in random order, other
accesses in sequence. aliased: in sequence, in arrays whose distance is a power of two."""
Operation = Literal["read", "write", "nt-store", "clwb", "copy", "mixed"]


class Figure(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Fields of every data point: its origin and a note."""

    how: How
    source: str
    """Key into `DeviceProfile.sources`."""
    note: str = ""


class LatencyFigure(
    Figure, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Idle latency of one access, ns."""

    operation: Operation = "read"
    pattern: Pattern = "random"
    """random: each address depends on the previous access (chase)."""
    instruction: str = "load"
    """load, store, nt-store, store+clwb, store+clflushopt, store+clflush; writes with a fence."""
    region_bytes: int | None = None
    """Size of the chased region; None: too large for any buffer to help."""
    page_bytes: int | None = None
    stride_bytes: int | None = None
    value_ns: float
    low_ns: float | None = None
    high_ns: float | None = None


class BandwidthFigure(
    Figure, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Bandwidth, GB/s."""

    operation: Operation = "read"
    pattern: Pattern = "sequential"
    read_share: float | None = None
    """Only for `mixed`; reads over all traffic."""
    threads: int | None = None
    """None: the best of all thread counts."""
    access_bytes: int | None = None
    stride_bytes: int | None = None
    page_bytes: int | None = None
    """Page size of the memory that was moved; None: not stated."""
    value_gb_per_s: float
    low_gb_per_s: float | None = None
    high_gb_per_s: float | None = None


class ChainsFigure(
    Figure, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """ns per access when one core follows `chains` independent chains of dependent reads."""

    chains: int
    page_bytes: int | None = None
    value_ns: float
    low_ns: float | None = None
    high_ns: float | None = None


class Tail(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Percentiles of single access times at one load, in ns, without the timer's overhead."""

    bandwidth_gb_per_s: float
    p50_ns: float
    p90_ns: float
    p99_ns: float
    p99_9_ns: float
    p99_99_ns: float
    accesses: int
    """Number of timed accesses; a percentile is only as precise as the accesses beyond it."""


class LoadedLatencyCurve(
    Figure, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Read latency of a chase while other cores draw bandwidth.

    `points` are (bandwidth GB/s, latency ns) in order of rising load as published, not sorted:
    past saturation a real curve may fold back to lower bandwidth.
    """

    read_share: float
    points: list[tuple[Finite, Finite]]
    instruction: str = "load"
    """Timed instruction, as in `LatencyFigure`: load, or a persisted write such as store+clwb."""
    threads: int | None = None
    """Threads that cause the load; None: all thread counts."""
    pattern: Pattern = "sequential"
    """Order of the load's accesses."""
    non_temporal: bool = False
    """Whether the load's stores are non-temporal."""
    tails: list[Tail] = []
    """Percentiles of single accesses, one for each of `points` where they were timed."""
    oddities: list[str] = []
    """Unusual features that are real and kept: "dip at 12.3 GB/s", "folds back past 110 GB/s"."""


class InferredFigure(
    Figure, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Fields of every inferred value; published ones leave them empty."""

    confidence: float | None = None
    """0 to 1: share of bootstrap resamples of the samples that lead to the same answer."""
    evidence: str = ""
    """Name of the group of samples from which it was inferred; pictures and Parquet use the same
    name."""


class BufferFigure(
    InferredFigure, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A cache before the device, or a buffer inside it."""

    name: str
    capacity_bytes: int
    capacity_low_bytes: int | None = None
    capacity_high_bytes: int | None = None
    operation: Operation = "read"
    """Operation by which it was detected."""
    block_bytes: int | None = None
    ways: int | None = None
    replacement: Literal["lru", "random", "other"] | None = None
    """other: detected, and neither of the two."""
    latency_ns: float | None = None
    """Latency of an access that it serves."""


class WriteQueueFigure(
    InferredFigure, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Bytes that a burst of writes may hold before writers wait for the medium."""

    capacity_bytes: int
    capacity_low_bytes: int | None = None
    capacity_high_bytes: int | None = None
    drained_ns_per_line: float | None = None
    """Time per 64-byte line once it is full."""


class InterleaveFigure(
    InferredFigure, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Distribution of neighbouring addresses over devices."""

    granularity_bytes: int
    devices: int


class StallFigure(
    InferredFigure, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Stalls the device inserts, `length_ns` long.

    Every `period_writes` writes to one block (wear), or every `period_ns` (refresh).
    """

    length_ns: float
    period_writes: int | None = None
    period_ns: float | None = None
    granularity_bytes: int | None = None
    """Block whose writes are counted together."""
    low: float | None = None
    high: float | None = None
    """Interval of the period, in its own unit."""
    length_low_ns: float | None = None
    length_high_ns: float | None = None


class FaultFigure(
    Figure, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Time per page, in ns, to bring a page of a paged memory back or to send it there."""

    event: Literal["fault", "evict", "exchange"] = "fault"
    """fault: the program touches a swapped-out page and waits for it. evict: the kernel sends a
    page there. exchange: a fault while memory is limited, so that another page must leave."""
    operation: Literal["read", "write"] = "read"
    """How the program used the page; for evict, since it came in. A page that was only read may
    still have its copy in swap; zram keeps none."""
    pattern: Literal["random", "sequential"] = "random"
    """Order of the pages. sequential: read-ahead may have brought a page already; the time is that
    of all pages divided by their number."""
    compressed_share: float | None = None
    """Compressed bytes over page bytes of the data; None: the memory does not compress, or any."""
    compression_work: float | None = None
    """Compressor's work on a page of the data, in places searched; None: unknown."""
    threads: int = 1
    """Threads that fault at the same time; the time is per thread."""
    readahead_pages: int = 1
    """Pages that one fault may bring, including the page itself."""
    huge_pages: bool = False
    """Whether the pages were parts of transparent huge pages when they were sent away."""
    retouches: float | None = None
    """exchange: touches, per fault, of near pages that half of the near memory would have lost;
    None: none. The kernel finds that such pages are in use and searches further for a page to send
    away."""
    value_ns: float
    """Median over rounds of the mean over pages."""
    low_ns: float | None = None
    high_ns: float | None = None
    p50_ns: float | None = None
    """Percentiles of single faults."""
    p90_ns: float | None = None
    p99_ns: float | None = None
    p99_9_ns: float | None = None
    cpu_share: float | None = None
    """Part of `value_ns` in which the CPU works; otherwise it waits for a device. None: unknown."""


class PagedMemory(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Facts of a memory that moves whole pages when a program touches them (swap)."""

    backing: Literal["zram", "zswap", "file", "disk", "network"]
    """zram, zswap: compressed in DRAM. disk: a local drive."""
    page_bytes: int = 4096
    algorithm: str = ""
    """Compression, as the kernel names it; empty: none."""
    readahead_pages: int = 1
    """Maximum number of pages that the kernel reads at one fault (2 to the power of
    vm.page-cluster)."""
    in_dram: bool = False
    """Whether swapped-out pages stay in DRAM, compressed: they then use part of the budget."""


class Source(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Publication or measurement that values come from."""

    citation: str
    where: str = ""
    """Table, figure, page or file in the source."""
    licence: str = ""
    """Licence of the data, as its publisher states it."""


class DeviceProfile(Document, kw_only=True, forbid_unknown_fields=True):
    """One memory, as data."""

    KIND: ClassVar[str] = "device-profile"
    MADE_BY: ClassVar[str] = "nearfar measure"
    VERSION: ClassVar[int] = 1

    name: str
    """As typed after `--far`: lower case, digits and dashes."""
    title: str
    technology: Literal[
        "dram", "remote-dram", "hbm", "cxl", "pmem", "nvdimm", "emulated", "file", "paged", "other"
    ]
    """paged: whole pages come in at a fault (`faults`). other: not stated, as for an imported
    curve."""
    capacity_bytes: int | None = None
    granularity_bytes: int = 64
    """Minimum number of bytes that the medium moves; smaller accesses are amplified."""
    durable: bool = False
    """Whether data that has reached the device survives a power cut."""
    persists_through: str = ""
    """Instructions that make a write durable: "ADR: store + clwb + sfence", "nothing"."""
    host_dram: str | None = None
    """Library device or device file of the local DRAM of the machine on which the figures were
    measured; None: unknown, or this is that DRAM, or measured here."""
    unverified: str = ""
    """Why results that are based on these figures should not be quoted; empty: they may be."""
    sources: dict[str, Source]
    latency: list[LatencyFigure] = []
    bandwidth: list[BandwidthFigure] = []
    chains: list[ChainsFigure] = []
    loaded_latency: list[LoadedLatencyCurve] = []
    buffers: list[BufferFigure] = []
    stalls: list[StallFigure] = []
    write_queues: list[WriteQueueFigure] = []
    interleaves: list[InterleaveFigure] = []
    faults: list[FaultFigure] = []
    """Times of a paged memory's pages. `latency` is then empty: near pages are as fast as DRAM."""
    paged: PagedMemory | None = None
    """None: a memory that serves each access by itself."""
    not_seen: dict[str, str] = {}
    """Properties that the data do not show, such as "interleave", with the reason."""
    measured: MeasuredContext | None = None
    """Conditions of the measurement on this machine; None for published devices."""


class ProtocolResult(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One named way to measure read latency, run here, and what it adds to the plain chase."""

    name: str
    value_ns: float
    low_ns: float | None = None
    high_ns: float | None = None
    attributed: dict[str, float] = {}
    """Difference from the plain chase in ns, divided among its causes: timer, tlb, buffer-miss."""
    attributed_low: dict[str, float] = {}
    attributed_high: dict[str, float] = {}
    """95 % intervals of `attributed`; a cause whose interval contains 0 is within noise."""
    note: str = ""


class Drift(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Change of one value since an earlier run."""

    figure: str
    before: float
    now: float
    unit: str
    since: str
    """Time of the earlier run, ISO 8601."""
    beyond_noise: bool
    """Whether the intervals of both runs do not overlap."""


class MeasuredContext(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Conditions under which a device was measured."""

    memory_spec: str
    """As typed: ``dram,pages=4k,load=store``."""
    repetitions: int
    seconds: float
    noise_floor: float
    """Relative A/A difference of medians, first half of repetitions against second."""
    timer_resolution_ns: float
    cpus: list[int]
    llc_bytes: int
    """Size of the last-level cache that the machine reports."""
    effective_llc_bytes: int | None = None
    """Part of `llc_bytes` that one core's chase could use; None: the measured regions do not show
    it."""
    environment: dict[str, str]
    """Governor, huge pages, virtualisation, load average before and after."""
    protocols: list[ProtocolResult] = []
    """Values that named methods of other tools give for this memory, and the reasons for the
    differences."""
    drift: list[Drift] = []
    """Changes since earlier runs on the same memory and machine."""
    ended: str = ""
    """Why repetitions ended: "narrow", "time", "repetitions", "interrupted". "nothing to repeat":
    no surface was measured, so there is no noise floor."""
    samples_file: str = ""
    """Parquet file of all samples, next to the profile; empty: not kept."""
    warnings: list[str] = []
    noise_floors: dict[str, float] = {}
    """`noise_floor` of the points of one kind: latency, chains, bandwidth (of one core),
    bandwidth-threads (of several), loaded, persist. Empty in older documents, which have them in
    `environment`."""
    clock_drift: float | None = None
    """Time of a fixed piece of arithmetic at the slow end of the rounds divided by that at the fast
    end, minus 1; None: not measured."""
    effective_llc_range: tuple[int, int] | None = None
    """Range of `effective_llc_bytes` due to noise of latencies."""
    contention: float | None = None
    """Share of time in which some program waited for a CPU; None: unknown."""
