"""DeviceProfile: how one memory behaves. Measured here, or published figures with their source.

Every figure says how it was had (`how`) and from which of `sources` (`source`). Latencies are
ns per access as one core sees them; bandwidths GB/s (1e9 B/s) of payload, those with a
`read_share` of all traffic; `read_share` is reads over all traffic, 0 to 1.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.base.estimate import Finite
from nearfar.documents.header import Document

How = Literal["measured", "published", "fitted", "assumed"]
"""measured: by nearfar, here. published: in the source. fitted: computed from the source's data
by a rule the note states. assumed: neither; the note says why."""

Pattern = Literal["random", "sequential", "strided", "aliased"]
"""strided: one access in every `stride_bytes`; reads one by one in random order, else in order.
aliased: in order, in arrays that lie a power of two apart."""
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
    """random: each address depends on the one before (chase)."""
    instruction: str = "load"
    """load, store, nt-store, store+clwb, store+clflushopt, store+clflush; writes with a fence."""
    region_bytes: int | None = None
    """Size of the region chased; None: so large that no buffer helps."""
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
    """ns per access when one core keeps `chains` independent dependent-chains going."""

    chains: int
    page_bytes: int | None = None
    value_ns: float
    low_ns: float | None = None
    high_ns: float | None = None


class Tail(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Percentiles of the times of single accesses at one load, ns, timer's cost taken off."""

    bandwidth_gb_per_s: float
    p50_ns: float
    p90_ns: float
    p99_ns: float
    p99_9_ns: float
    p99_99_ns: float
    accesses: int
    """Timed; a percentile is only as good as the accesses beyond it."""


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
    """Threads that make the load; None: of all thread counts."""
    pattern: Pattern = "sequential"
    """Order of the load's accesses."""
    non_temporal: bool = False
    """Whether the load's stores are non-temporal."""
    tails: list[Tail] = []
    """Percentiles of single accesses, one for each of `points` where they were timed."""
    oddities: list[str] = []
    """Unusual but real features that are kept: "dip at 12.3 GB/s", "folds back past 110 GB/s"."""


class InferredFigure(
    Figure, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Fields of every inferred value; published ones leave them empty."""

    confidence: float | None = None
    """0 to 1: share of bootstrap resamples of the samples that lead to the same answer."""
    evidence: str = ""
    """Name of the group of samples it was inferred from; pictures and Parquet use the same."""


class BufferFigure(
    InferredFigure, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A cache before the device, or a buffer inside it."""

    name: str
    capacity_bytes: int
    capacity_low_bytes: int | None = None
    capacity_high_bytes: int | None = None
    operation: Operation = "read"
    """Operation that showed it."""
    block_bytes: int | None = None
    ways: int | None = None
    replacement: Literal["lru", "random", "other"] | None = None
    """other: seen, and neither of the two."""
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
    """Time per page of a paged memory: to bring a page back, or to send it there, ns."""

    event: Literal["fault", "evict", "exchange"] = "fault"
    """fault: the program touches a page that is there and waits for it. evict: the kernel sends a
    page there. exchange: a fault where memory is limited, so another page goes."""
    operation: Literal["read", "write"] = "read"
    """Use of the page by the program; evict: since it came. A page that was only read
    may have its copy there still; zram keeps none."""
    pattern: Literal["random", "sequential"] = "random"
    """Order of the pages. sequential: read-ahead may have brought a page already; the time is that
    of all pages over their number."""
    compressed_share: float | None = None
    """Compressed bytes over page bytes of the data; None: the memory does not compress, or any."""
    compression_work: float | None = None
    """Work of a compressor on a page of the data, in places searched; None: not known."""
    threads: int = 1
    """Threads that fault at once; the time is that of each."""
    readahead_pages: int = 1
    """Pages that one fault may bring, with the page itself."""
    huge_pages: bool = False
    """Whether the pages were parts of transparent huge pages when they were sent away."""
    retouches: float | None = None
    """exchange: touches per fault of near pages that half of the near memory would have lost; None:
    none. The kernel finds such pages used and looks further for a page to send away."""
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
    """Part of `value_ns` in which the CPU works; in the rest it waits for a device. None: not
    known."""


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
    """Pages that the kernel reads at one fault at most (2 to the power vm.page-cluster)."""
    in_dram: bool = False
    """Whether what is sent there stays in DRAM, compressed: the budget shrinks by that."""


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
    VERSION: ClassVar[int] = 1

    name: str
    """As typed after `--far`: lower case, digits and dashes."""
    title: str
    technology: Literal[
        "dram", "remote-dram", "hbm", "cxl", "pmem", "nvdimm", "emulated", "file", "paged", "other"
    ]
    """paged: whole pages come at a fault (`faults`). other: not said, as of an imported curve."""
    capacity_bytes: int | None = None
    granularity_bytes: int = 64
    """Bytes the medium moves at least; less is amplified."""
    durable: bool = False
    """Whether what reached the device survives a power cut."""
    persists_through: str = ""
    """Instructions that make a write durable: "ADR: store + clwb + sfence", "nothing"."""
    host_dram: str | None = None
    """Library device or device file of the local DRAM of the machine the figures were had on;
    None: not known, or this is that DRAM, or measured here."""
    unverified: str = ""
    """Why no result that rests on these figures should be quoted; empty: none."""
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
    """Times of a paged memory's pages. `latency` is empty then: near pages are as quick as DRAM."""
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
    """Part of the difference from the plain chase (ns) to its cause: timer, tlb, buffer-miss."""
    attributed_low: dict[str, float] = {}
    attributed_high: dict[str, float] = {}
    """95 % intervals of `attributed`; a cause whose interval holds 0 is within noise."""
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
    """Whether the intervals of both runs are apart."""


class MeasuredContext(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Under which circumstances a device was measured."""

    memory_spec: str
    """As typed: ``dram,pages=4k,load=store``."""
    repetitions: int
    seconds: float
    noise_floor: float
    """Relative A/A difference of medians, first half of repetitions against second."""
    timer_resolution_ns: float
    cpus: list[int]
    llc_bytes: int
    """Last-level cache as the machine claims it."""
    effective_llc_bytes: int | None = None
    """Part of `llc_bytes` that one core's chase got; None: the measured regions do not show it."""
    environment: dict[str, str]
    """Governor, huge pages, virtualisation, load average before and after."""
    protocols: list[ProtocolResult] = []
    """Values that named recipes of other tools read on this memory, and the reasons they differ."""
    drift: list[Drift] = []
    """Against earlier runs on the same memory and machine."""
    ended: str = ""
    """Why repetitions ended: "narrow", "time", "repetitions", "interrupted".

    Or "nothing to repeat": no surface was measured, and there is no noise floor.
    """
    samples_file: str = ""
    """Parquet file of all samples, next to the profile; empty: not kept."""
    warnings: list[str] = []
    noise_floors: dict[str, float] = {}
    """`noise_floor` of the points of one kind: latency, chains, bandwidth (of one core),
    bandwidth-threads (of several), loaded, persist. Empty in older documents, which have them in
    `environment`."""
    clock_drift: float | None = None
    """Time of a fixed piece of arithmetic at the slow end of the rounds over that at the fast end,
    less 1; None: not watched."""
    effective_llc_range: tuple[int, int] | None = None
    """Ends of `effective_llc_bytes` by the noise of latencies."""
    contention: float | None = None
    """Share of the time in which some program waited for a CPU; None: not known."""
