"""Prediction: time and slowdown on far memories, per phase and object, with an interval."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.base.estimate import Estimate
from nearfar.documents.fields import Bytes, Whole
from nearfar.documents.fields_of_types import FieldEffect
from nearfar.documents.header import Document
from nearfar.documents.inputs import PredictionInputs
from nearfar.documents.noise import MeasurementNoise

Bound = Literal["compute", "latency", "bandwidth"]

HostRule = Literal["added", "published", "ratio"]
"""Rule that converts a latency published on another machine to this one. added: near latency here
plus the difference between the memory and local DRAM there. ratio: near latency here times far over
local DRAM there. published: unchanged."""


class ModelTime(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Prediction of one model for all data far."""

    model: str
    time_ns: float
    slowdown: float
    """Far time over near time."""


class PagesRatio(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Time with all pages interleaved between near and far memory."""

    near_pages: int
    far_pages: int
    time_ns: float
    slowdown: float


class ObjectEffect(msgspec.Struct, kw_only=True, gc=False, forbid_unknown_fields=True):
    """Time that moving one object alone to far memory adds."""

    object: Whole
    name: str
    size_bytes: Bytes
    added_ns: Estimate
    misses: float
    write_backs: float


class PhasePrediction(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One phase, everything far."""

    phase: str
    near_time_ns: Estimate
    far_time_ns: Estimate
    slowdown: Estimate
    operations: float | None = None
    near_ns_per_operation: float | None = None
    far_ns_per_operation: Estimate | None = None
    bound: Bound
    effective_parallelism: float | None = None
    """Misses in flight that near time implies (a lower bound where compute overlaps)."""
    far_read_gb_per_s: float = 0.0
    """Bandwidth that it would use in the far memory at the predicted time."""
    far_write_gb_per_s: float = 0.0
    models: list[ModelTime]
    """Predictions of the naive models (null, latency-ratio, misses), and of those requested."""
    ratios: list[PagesRatio] = []
    """Times by ascending share of far pages; only models that interleave pages fill this."""
    objects: list[ObjectEffect]


class InputEffect(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Range of added time when one uncertain input goes to the ends of its range."""

    input: str
    low_ns: float
    high_ns: float


class TimeBreakdown(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """How the time of a phase with everything far, or the time that an object adds, is composed."""

    name: str
    is_object: bool
    object: int | None = None
    """Number of the object in the profile."""
    phase: str
    misses: float
    write_backs: float
    near_time_ns: float
    """Near time of the phase; `far_time_ns` is of the phase too."""
    far_time_ns: float
    added_ns: float
    """Time that the phase, or the object, adds."""
    bound: Bound
    """Limit of the phase with everything far: the resource that determines its time."""
    overlap_near: float | None = None
    """Misses in flight in near memory, streams excluded; None if there are none."""
    overlap_far: float | None = None
    bandwidth_share_near: float | None = None
    """Time of the lines at full bandwidth, divided by near time."""
    bandwidth_share_far: float | None = None
    """The same in far memory, divided by far time."""
    memory_share_near: float | None = None
    """Share of the phase's near time that memory takes."""
    far_gb_per_s: float
    """Bandwidth that the lines use during far time."""
    effects: list[InputEffect] = []
    """Uncertain inputs; the one that changes added time most is first."""


class PipelineSplit(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A pipeline's wall times, ns, with the threads split in one way."""

    generate_threads: int
    analyse_threads: int
    total_ns: Estimate
    """Wall time; if the channels are unknown, the interval covers separate and shared ones."""
    generate_ns: float
    generate_idle_ns: float
    """Time that the first stage waits until its last set is taken."""
    transfer_ns: float
    analyse_ns: float
    analyse_idle_ns: float
    """Time that the second stage waits for a set."""


class Pipeline(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Two concurrent phases: one generates sets near, the other transfers and analyses them far."""

    generate: str
    analyse: str
    sets: int
    set_bytes: Bytes
    near_only_ns: float
    """One phase after the other, all threads, all near, nothing transferred."""
    channels: Literal["shared", "apart", "unknown"]
    """Channels of both memories according to the machine's joint limits."""
    splits: list[PipelineSplit]


class PagedPhaseTime(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One phase with some of the program's memory near."""

    phase: str
    faults: Estimate
    time_ns: Estimate
    slowdown: Estimate


class PagedBudget(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The whole run with a part of the program's memory near, and the rest swapped."""

    near_bytes: int
    near_share: float
    """`near_bytes` divided by `PagedAxis.footprint_bytes`."""
    faults: Estimate
    """Pages that are brought back."""
    evicted: float
    """Pages that are swapped out."""
    written: float
    """Those of the swapped-out pages that are written; copies of the others are still in swap."""
    time_ns: Estimate
    slowdown: Estimate
    run_slowdown: Estimate | None = None
    """Slowdown that a single run shows: the same, with the interval of near time in addition; None
    in documents of earlier versions."""
    bound: Bound
    models: list[ModelTime]
    """null: as with everything near. proportional: each touch of a page faults with a probability
    equal to the far share. touches: every touch faults. A touch of the same page as the previous
    one does not count."""
    phases: list[PagedPhaseTime]

    def shown_slowdown(self) -> Estimate:
        """Return the slowdown of a single run; in documents of earlier versions, `slowdown`."""
        return self.run_slowdown or self.slowdown


class PagedAxis(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A paged memory, by size of near memory."""

    footprint_bytes: int
    """Pages that the program touches, without files."""
    fault_ns: float
    """Time of a fault, including the page that must leave, if the device has that figure."""
    cliff_share: Estimate | None = None
    """Near share at which time doubles; None: it does not double."""
    budgets: list[PagedBudget]


class DevicePrediction(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All phases on one far memory."""

    far: str
    title: str
    latency_ns: float | None = None
    """Idle latency of a dependent random read that the prediction uses, without page walks."""
    latency_from: Literal["measured", "added", "published", "ratio"] | None = None
    """Origin of the latency. measured: by nearfar on this machine. Otherwise see `HostRule`; if the
    machine of the figures is unknown, they are used as published."""
    phases: list[PhasePrediction]
    total: PhasePrediction
    """The whole run, named ``total``; its objects are the sums over phases."""
    interval_calibrated: bool = False
    """Whether the interval's coverage was checked on this kind of memory."""
    caveats: list[str] = []
    """Effects that the prediction cannot include."""
    explained: list[TimeBreakdown] = []
    """How the times of the requested phases and objects are composed."""
    pipeline: Pipeline | None = None
    """Two phases as a pipeline; None: not requested."""
    fields: list[FieldEffect] = []
    """The whole run by type and field, those that add most first; empty: the profile has no types,
    or no field moves lines."""
    paged: PagedAxis | None = None
    """For a paged memory. `phases` and `total` are then for the first budget, and an object's
    misses and write-backs are pages that are brought back and pages that are written."""


class Prediction(Document, kw_only=True, forbid_unknown_fields=True):
    """Times of one profiled program on far memories."""

    KIND: ClassVar[str] = "prediction"
    MADE_BY: ClassVar[str] = "nearfar predict -o"
    VERSION: ClassVar[int] = 1

    profile: str
    """Path of the WorkloadProfile."""
    near: str
    """Name of the near DeviceProfile."""
    near_latency_ns: float | None = None
    """Idle latency of a dependent random read near, page walks left out."""
    model: str
    host: HostRule = "added"
    """Rule that converts published latencies to this machine."""
    devices: list[DevicePrediction]
    noise: MeasurementNoise | None = None
    """Noise of the measurements on which it is based; None: below the model's own error."""
    inputs: PredictionInputs | None = None
    """Files from which it was computed; None: from documents in memory."""

    def contradiction(self) -> str:
        """Return whether the inputs have other memories than the prediction; empty: they agree."""
        if self.inputs is None or len(self.inputs.far) == len(self.devices):
            return ""
        return f"it has {len(self.devices)} devices and inputs of {len(self.inputs.far)}"
