"""The content of a report as plain data: the page embeds it, `--json` prints it.

Times are in ns, sizes in bytes, bandwidths in GB/s (1e9 B/s). A list called a *column* has one
element for each of `ReportData.objects`. Counts are rounded to six digits, because sampling gives
three correct digits at most. Values on a frontier are not rounded: they equal `place --json`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from nearfar.base.estimate import Estimate
from nearfar.documents.attribution import Attribution
from nearfar.documents.field_split import FieldSplit
from nearfar.documents.header import Producer
from nearfar.documents.plan import Alternative, Prices
from nearfar.documents.prediction import ModelTime, TimeBreakdown
from nearfar.documents.profiled_run import CacheModel, Program, Sampling
from nearfar.documents.workload import Frame
from nearfar.report.inside_data import ObjectRanges, PlacedRanges
from nearfar.report.paged_data import PagedFacts

Triple = tuple[float, float, float]
"""Value, low and high end of its 90 % interval: an `Estimate` where there are thousands."""

TOTAL = "total"
"""Name of the whole run among its phases, as in Prediction."""
UNMARKED = "-"
"""Name of the time outside phases, as in WorkloadProfile."""


class Data(msgspec.Struct):
    """Base class of all parts."""


class ObjectFacts(Data, kw_only=True):
    """One object; its index in `ReportData.objects` identifies it everywhere in the data."""

    id: int
    """ID as in the profile."""
    name: str
    label: str
    """The name shortened for display."""
    short: str
    """An even shorter name, for sentences."""
    kind: str
    frames: list[Frame]
    size_bytes: int
    allocations: int


class PhaseFacts(Data, kw_only=True):
    """One phase, or the whole run, measured near; with columns."""

    name: str
    near_cpu_time_ns: Estimate
    repetitions: int
    operations: float | None
    near_ns_per_operation: float | None
    accesses: list[float]
    chase: list[float]
    indirect: list[float]
    stream: list[float]
    opaque: list[float]
    write_backs: list[float]


class ReportCurve(Data, kw_only=True):
    """Latency under load at one read share."""

    read_share: float
    points: list[tuple[float, float]]
    how: str
    source: str
    note: str
    """Explanation of the values, if one is needed."""
    oddities: list[str]


class MemoryFacts(Data, kw_only=True):
    """One memory: near, far, or drawn for comparison only."""

    name: str
    title: str
    technology: str
    role: Literal["near", "far", "beside"]
    idle_latency_ns: float | None
    """As published, or as measured here."""
    latency_taken: str = ""
    """Assumed latency of a far memory on this machine, and its origin; empty if unknown."""
    latency_taken_ns: float | None = None
    """The same as a number; for near memory, the measured latency."""
    faster: bool = False
    """Whether a far memory has a lower latency than near memory here."""
    read_gb_per_s: float | None
    write_gb_per_s: float | None
    curves: list[ReportCurve]
    sources: list[SourceFacts]
    measured: str
    """How it was measured here, in one line; empty for published figures."""
    warnings: list[str]
    """Disturbances of that measurement."""


class SourceFacts(Data, kw_only=True):
    """A source of a memory's values."""

    citation: str
    where: str
    licence: str
    figures: dict[str, int]
    """Number of values by origin: measured, published, fitted, assumed."""


class WorkingPoint(Data, kw_only=True):
    """Where the program works on a memory's latency-load curve."""

    memory: str
    phase: str
    traffic_gb_per_s: float
    read_share: float
    latency_ns: float | None
    """Latency on the curve with the nearest read share; None if no curve is known."""
    beyond: bool
    """Whether it would use more bandwidth than the curve covers."""


class Effect(Data, kw_only=True):
    """One phase on one far memory, with all data far."""

    memory: str
    phase: str
    near_time_ns: Estimate
    far_time_ns: Estimate
    slowdown: Estimate
    near_ns_per_operation: float | None
    far_ns_per_operation: Estimate | None
    bound: str
    effective_parallelism: float | None
    models: list[ModelTime]
    calibrated: bool
    added_ns: list[Triple]
    """Column: time that each object adds if it moves alone."""


class ReportBreakdown(Data, kw_only=True):
    """The components of a phase's time, or of the time that an object adds, on one far memory."""

    memory: str
    object: int | None
    """None: the phase itself."""
    breakdown: TimeBreakdown


class ReportFrontier(Data, kw_only=True):
    """The best plan known for every budget, for one far memory and phase.

    Plan i is for budgets of `budget_bytes[i]` and more. It keeps near the objects `order[a:b]` for
    each (a, b) of `near[i]`, and the parts of objects in `shares[i]`; together they have
    `near_bytes[i]` bytes. The phase then takes `time_ns[i]`.
    """

    memory: str
    phase: str
    footprint_bytes: int
    order: list[int]
    """All objects, greatest saving per byte first."""
    budget_bytes: list[int]
    """In ascending order."""
    near: list[list[tuple[int, int]]]
    shares: list[dict[int, float]]
    """Near share of each object that is partly near; `near` has only whole ones."""
    near_bytes: list[int]
    time_ns: list[Triple]
    """In descending order."""
    slowdown: list[Triple]
    cost_relative: list[float]
    points_before_thinning: int
    """Points of `nearfar place`'s frontier, of which some hundreds are kept."""


class ReportChoice(Data, kw_only=True):
    """One budget's plan and the alternatives with that budget."""

    memory: str
    phase: str
    budget_bytes: int
    footprint_bytes: int
    """Size of all data that the plan places."""
    origin: str
    """``25 %``, or the option that requested it."""
    near: list[int]
    """Objects that the plan keeps near, whole or in part, in order of saving."""
    shares: dict[int, float] = {}
    """Near share of each object of `near` that is partly near."""
    plan: Alternative
    """The plan's own bar among the alternatives."""
    alternatives: list[Alternative]
    proven_gap: float | None
    caveats: list[str]
    ranges: list[PlacedRanges] = []
    """Objects of which ranges are near."""


class ReportSaving(Data, kw_only=True):
    """One row of the answer: a budget, and the benefit of its plan."""

    budget_bytes: int
    budget_share: float
    """Share of the bytes of all objects."""
    near_bytes: int
    near_objects: int
    names: list[str]
    """The objects that matter most among them."""
    slowdown: Estimate
    time_ns: Estimate
    cost_relative: float
    saved_ns: float
    """Time saved relative to all-far."""
    added_share_avoided: float
    """Part of the added time that this budget avoids, 0 to 1."""


class PhaseEffect(Data, kw_only=True):
    """One phase within the answer for the whole run."""

    phase: str
    slowdown: Estimate
    near_ns_per_operation: float | None
    far_ns_per_operation: Estimate | None


class MemoryAnswer(Data, kw_only=True):
    """The answer for one far memory."""

    memory: str
    title: str
    latency_taken: str
    """As in `MemoryFacts`."""
    faster: bool
    slowdown: Estimate
    sentence: str
    phases: list[PhaseEffect]
    """Phases, only for the whole run."""
    savings: list[ReportSaving]


class ReportAnswer(Data, kw_only=True):
    """The headline for one phase."""

    phase: str
    sentence: str
    memories: list[MemoryAnswer]


class SourceLine(Data, kw_only=True):
    """Accesses of one source line in one phase."""

    phase: str
    file: str
    line: int
    function: str
    function_label: str
    """The function's name shortened for display."""
    operation: str
    access_class: str
    misses: float
    share: float
    """Share of the phase's misses."""
    objects: list[tuple[int, float]]
    """Object and its part of the misses, most first."""
    text: list[tuple[int, str]]
    """Line numbers and text around it; empty where the file could not be read."""
    text_note: str
    """Reason why there is no text, or why it may not match; empty otherwise."""


class FieldRow(Data, kw_only=True):
    """Accesses to one field of a type in the whole run, on one far memory."""

    type: str
    """Type; empty: accesses whose type is unknown."""
    label: str
    """The type's name shortened for display."""
    type_bytes: int
    field: str
    offset: int
    bytes: int
    misses: float
    added_ns: Estimate


class MemoryFields(Data, kw_only=True):
    """Types and fields on one far memory."""

    memory: str
    sentence: str
    fields: list[FieldRow]
    """In descending order of added time."""
    splits: list[FieldSplit]
    """Splits into hot and cold fields that would save time, the best one first."""


class LiveSeries(Data, kw_only=True):
    """Bytes alive of one object (None: all others) at each of `Live.time_ns`."""

    object: int | None
    name: str
    bytes: list[int]


class Live(Data, kw_only=True):
    """Bytes alive over the instrumented run."""

    time_ns: list[float]
    phases: list[str]
    """The phase of each sample."""
    series: list[LiveSeries]


class Method(Data, kw_only=True):
    """Machine and method of the numbers."""

    profile: Producer
    report: Producer
    program: Program
    size: dict[str, float]
    cache: CacheModel
    sampling: Sampling
    instrumented_slowdown: float
    beside_misses: list[str]
    """Other counts: flushes, page walks, private caches, hand-overs."""
    model: str
    how: list[str]
    """How predictions and intervals are computed; a list item starts with ``- ``."""
    prices: Prices | None
    noise: str
    """Noise of the measurements behind the predictions, in one sentence; empty: it has no
    effect."""
    warnings: list[str]
    caveats: list[str]
    attributions: list[Attribution] = []
    """Causes of the difference from another prediction (A), if one was given."""


class BusyServer(Data, kw_only=True):
    """Slowdowns if other programs take most of the cache (`nearfar/report/busy_server.py`)."""

    cache_bytes: int
    """Cache that is left: each busy thread's private one, and its share of the last level."""
    slowdowns: dict[str, Estimate]
    """By far memory, divided by the time with all data near and as little cache."""
    sentence: str


class ReportData(Data, kw_only=True):
    """Everything on the page."""

    kind: str = "report"
    version: int = 1
    title: str
    first_memory: str
    first_phase: str
    first_budget_bytes: int | None
    """Budget that the page shows when it opens."""
    footprint_bytes: int
    objects: list[ObjectFacts]
    phases: list[PhaseFacts]
    memories: list[MemoryFacts]
    effects: list[Effect]
    breakdowns: list[ReportBreakdown]
    """Breakdowns of every phase and of the objects that add most to the whole run."""
    points: list[WorkingPoint]
    frontiers: list[ReportFrontier]
    choices: list[ReportChoice]
    ranges: list[ObjectRanges] = []
    """Largest objects with traffic by range."""
    answers: list[ReportAnswer]
    lines: list[SourceLine]
    live: Live
    method: Method
    paged: list[PagedFacts] = []
    fields: list[MemoryFields] = []
    busy_server: BusyServer | None = None
    """None: less cache hardly changes the answer for the whole run, or the change is not known."""
