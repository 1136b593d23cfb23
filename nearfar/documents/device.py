"""DeviceProfile: how one memory behaves. Measured here, or published figures with their source.

Every figure says how it was had (`how`) and from which of `sources` (`source`). Latencies are
ns per access as one core sees them; bandwidths GB/s (1e9 B/s) of payload; `read_share` is reads
over all traffic, 0 to 1.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.documents.header import Document

How = Literal["measured", "published", "fitted", "assumed"]
"""measured: by nearfar, here. published: in the source. fitted: computed from the source's data
by a rule the note states. assumed: neither; the note says why."""

Pattern = Literal["random", "sequential"]
Operation = Literal["read", "write", "nt-store", "clwb", "copy", "mixed"]


class Figure(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What every figure carries beside its value."""

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


class LoadedLatencyCurve(
    Figure, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Read latency of a chase while other cores draw bandwidth.

    `points` are (bandwidth GB/s, latency ns) in order of rising load as published, not sorted:
    past saturation a real curve may fold back to lower bandwidth.
    """

    read_share: float
    points: list[tuple[float, float]]
    oddities: list[str] = []
    """What is unusual but real and kept: "dip at 12.3 GB/s", "folds back past 110 GB/s"."""


class BufferFigure(
    Figure, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A buffer inside the device."""

    name: str
    capacity_bytes: int
    block_bytes: int | None = None
    ways: int | None = None


class StallFigure(
    Figure, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Stalls the device inserts: every `period_writes` writes to one block, `length_ns` long."""

    period_writes: int
    length_ns: float


class Source(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Where figures come from."""

    citation: str
    where: str = ""
    """Table, figure, page or file in the source."""
    licence: str = ""
    """Of the data, as its publisher states it."""


class DeviceProfile(Document, kw_only=True, forbid_unknown_fields=True):
    """One memory, as data."""

    KIND: ClassVar[str] = "device-profile"
    VERSION: ClassVar[int] = 1

    name: str
    """As typed after `--far`: lower case, digits and dashes."""
    title: str
    technology: Literal[
        "dram", "remote-dram", "hbm", "cxl", "pmem", "nvdimm", "emulated", "file", "other"
    ]
    """other: not said, as of an imported curve."""
    capacity_bytes: int | None = None
    granularity_bytes: int = 64
    """Bytes the medium moves at least; less is amplified."""
    durable: bool = False
    """Whether what reached the device survives a power cut."""
    persists_through: str = ""
    """What makes a write durable: "ADR: store + clwb + sfence", "nothing"."""
    host_dram: str | None = None
    """Name of the library device that is the local DRAM of the machine the figures were had on;
    None: not known, or this is that DRAM, or measured here."""
    sources: dict[str, Source]
    latency: list[LatencyFigure] = []
    bandwidth: list[BandwidthFigure] = []
    chains: list[ChainsFigure] = []
    loaded_latency: list[LoadedLatencyCurve] = []
    buffers: list[BufferFigure] = []
    stalls: list[StallFigure] = []
    measured: MeasuredContext | None = None
    """How it was measured here; None for published devices."""


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
    """Of it, what one core's chase got; None: the regions measured do not show it."""
    environment: dict[str, str]
    """Governor, huge pages, virtualisation, load average before and after."""
    warnings: list[str] = []
