"""PagedValidation: predictions for a paged memory next to what was measured at limits here."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.base.estimate import Estimate
from nearfar.documents.device import DeviceProfile
from nearfar.documents.header import Document


class LockedRun(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A run under a plan at the same limit as the kernel alone."""

    locked_bytes: int
    """Bytes that the plan locks."""
    predicted_gain: float
    """Time of the kernel alone over time under the plan, predicted before either run."""
    measured_gain: float
    """The same as measured: medians of CPU times."""
    cpu_ns: Estimate
    faults: float
    """Median of the major faults of the judged phases."""


class PagedCase(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One program at one limit."""

    name: str
    what: Literal["kernel", "program"]
    near_share: float
    budget_bytes: int
    near_ns: Estimate
    """CPU time of the judged phases without a limit."""
    cpu_ns: Estimate
    """CPU time of the judged phases at the limit, by the kernel alone."""
    slowdown: float
    predicted: Estimate
    """Predicted slowdown, with its 90 % interval and what near runs and exchanges beside varied
    by."""
    predicted_alone: Estimate | None = None
    """The same with the interval of `predict`; None in documents of earlier versions."""
    faults: float
    """Median of the major faults of the judged phases."""
    predicted_faults: Estimate
    models: dict[str, float]
    """Slowdown by simpler rules: null, proportional, touches."""
    fault_ns: float
    """Time of an exchanged page, measured beside these runs."""
    locked: LockedRun | None = None
    """None: the plan locks nothing here."""


class PagedCliff(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Where the time of a program doubles: it was run 5 % of its pages above and below."""

    name: str
    near_share: float
    """Predicted, with near time and the time of a page as measured beside."""
    slowdown_above: float
    """With 5 % of its pages more than that."""
    slowdown_below: float
    """With 5 % of its pages less."""


class PagedScore(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Accuracy over cases of measured slowdowns from 1.1 to 20."""

    mean_error: float
    """Mean of |predicted / measured - 1| of slowdowns."""
    rank: float | None
    """Spearman's rank correlation; None: fewer than three cases, or all predictions are alike."""
    cases: int


class PagedValidation(Document, kw_only=True, forbid_unknown_fields=True):
    """All cases of one session, and their scores."""

    KIND: ClassVar[str] = "paged-validation"
    VERSION: ClassVar[int] = 1

    far: str
    """Memory spec."""
    device: DeviceProfile
    """The far memory, as measured at the session's start."""
    cases: list[PagedCase]
    models: dict[str, PagedScore]
    fault_error: float | None
    """Mean of |predicted / counted - 1| of faults, where 1,000 or more were counted; None: no such
    case."""
    coverage: float | None
    """Share of measured slowdowns inside the 90 % intervals with the noise measured beside; None:
    no case."""
    coverage_alone: float | None = None
    """Share inside the intervals of `predict`, without that noise; None: no case has them."""
    gain: float | None
    """Geometric mean of measured gains of plans that were predicted to gain a fifth or more; None:
    no plan was."""
    cliffs: list[PagedCliff]
    worst_gain: float | None
    """Least measured gain of any plan that locks; None: no plan does."""
    left_out: dict[str, str] = {}
    """Cases that have no result, and why."""
