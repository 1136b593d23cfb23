"""ValidationReport: predictions next to measurements in a physically slower memory."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.base.estimate import Estimate
from nearfar.documents.device import DeviceProfile
from nearfar.documents.header import Document
from nearfar.documents.workload import WorkloadProfile


class Session(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of `nearfar validate` on one machine."""

    id: str
    """Unique ID: time of the start, and host."""
    time_utc: str
    host: str
    cpu_model: str
    near: str
    """Memory spec of near data."""
    far: str
    tier: str
    """Kind of far memory, see `nearfar.predict.calibration.tier_of`: intervals calibrated on one
    kind do not apply to another."""
    llc_bytes: int
    """Part of the last-level cache that one core could use; profiles simulate this size."""
    region_bytes: int
    """Data size of each kernel, and the region of device curves."""
    rounds: int
    """Rounds per kernel; each has two samples of both memories."""
    predicted_by: str = ""
    """Commit of nearfar whose models predicted its results; empty: unknown."""


class ModelSlowdown(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Predicted slowdown of one model: far over near time."""

    slowdown: float
    low: float
    high: float
    """High end of the model's own interval, not calibrated."""


class Inputs(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Inputs of a prediction, kept so that other models can be judged with the same runs."""

    workload: WorkloadProfile
    """The profile, with the near time measured in the loop."""
    near: DeviceProfile
    far: DeviceProfile
    page_bytes: int
    """Page size of near data."""
    phases: list[str]
    """Predicted phases; empty: all."""
    far_page_bytes: int | None = None
    """Page size of far data; None: as near data."""
    far_own_ns: float | None = None
    """Time of a dependent random read of its far data, in ns; for a program, the median of the
    session's kernels. None: not measured."""
    near_own_ns: float | None = None
    """The same for its near data."""
    far_own_independent_ns: float | None = None
    """Time of an independent random read of its far data, in ns."""
    near_own_independent_ns: float | None = None
    """The same for its near data."""


class KernelResult(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One kernel or program, measured in both memories and predicted from near data alone."""

    session: str
    """`Session.id`."""
    name: str
    what: Literal["kernel", "program"] = "kernel"
    near_ns: Estimate
    """CPU time of a run, median with 95 % interval."""
    far_ns: Estimate
    slowdown: Estimate
    """Median of far over near, each divided by the near sample closest in time."""
    a_a: float
    """Slowdown of the first half of every round over that of the second, minus 1."""
    misses: float
    """Misses of a run in the simulated last-level cache."""
    huge_share_near: float
    """Share of its near memory in 2 MiB pages."""
    huge_share_far: float
    hand_off_ns: float | None = None
    """Transfer time of a line between the timed and the other core during these samples. Virtual
    cores move, so only samples of one core pairing are compared. None: one core."""
    left_out: int = 0
    """Far samples of other core pairings."""
    near_samples_ns: list[float]
    far_samples_ns: list[float]
    models: dict[str, ModelSlowdown]
    lacking: dict[str, str] = {}
    """Models that could not predict it, with the reason."""
    bound: str = ""
    """Its limit according to the default model."""
    inputs: Inputs | None = None


class ModelScore(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Accuracy of one model; errors are (predicted / measured - 1) of time, as fractions."""

    mean_error: float
    """Mean of absolute values."""
    max_error: float
    bias: float
    """Mean with sign; positive: too slow."""
    rank: float | None
    """Spearman's rank correlation of slowdowns; None: all predictions are equal."""
    skill: float | None
    """1 - mean_error / the null model's: 1 is perfect, 0 is as good as predicting no slowdown;
    None: there was no slowdown."""
    coverage: float | None
    """Share of measurements inside 90 % intervals that were calibrated on the other kernels; None:
    too few kernels for such intervals."""
    width: float | None
    """Mean width of those intervals of the slowdown."""
    interval_score: float | None
    """Winkler's score, mean: combines width and the cost of misses; smaller is better."""
    own_coverage: float
    """Share inside the model's own intervals (90 %, not calibrated)."""
    own_width: float
    results: int


class Calibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Margin that gives one model's interval a known coverage, for one kind of far memory."""

    model: str
    tier: str
    level: float
    """Target coverage: 0.9."""
    margin: float
    """Logarithm of the ratio by which each end of the model's own interval is moved outwards;
    negative: inwards."""
    kernels: int
    sessions: int
    cpu_models: list[str]


class ValidationReport(Document, kw_only=True, forbid_unknown_fields=True):
    """Results of one session, or of several joined sessions."""

    KIND: ClassVar[str] = "validation-report"
    MADE_BY: ClassVar[str] = "nearfar validate -o"
    VERSION: ClassVar[int] = 2

    sessions: list[Session]
    results: list[KernelResult]
    models: dict[str, ModelScore]
    floor: float
    """Mean of |A/A| over results: a smaller mean error cannot be claimed."""
    between_sessions: float | None = None
    """Mean of |a session's slowdown over the median of all sessions' - 1|; None: one session."""
    calibrations: list[Calibration] = []
    lacking: dict[str, str] = {}
    """Models that predicted nothing, with the reason."""
    near_device: DeviceProfile | None = None
    """Near memory as measured last, in the same loop; None: joined sessions."""
    far_device: DeviceProfile | None = None
    ended: Literal["done", "interrupted"] = "done"
    warnings: list[str] = []

    def contradiction(self) -> str:
        """Return which result belongs to a session that is not listed; empty: none."""
        known = {session.id for session in self.sessions}
        unknown = next((row.session for row in self.results if row.session not in known), None)
        return "" if unknown is None else f"a result is of session {unknown!r}, not listed"
