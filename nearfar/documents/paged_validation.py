"""PagedValidation: predictions for a paged memory next to measurements at limits here."""

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
    """Time with the kernel alone divided by time under the plan, predicted before either run."""
    measured_gain: float
    """The same, measured: ratio of the medians of CPU times."""
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
    """Predicted slowdown with its 90 % interval, widened by the measured variation of near runs and
    exchanges."""
    predicted_alone: Estimate | None = None
    """The same without this noise; None in documents of earlier versions."""
    faults: float
    """Median of the major faults of the judged phases."""
    predicted_faults: Estimate
    models: dict[str, float]
    """Slowdown by simpler rules: null, proportional, touches."""
    fault_ns: float
    """Time of an exchanged page, measured next to these runs."""
    locked: LockedRun | None = None
    """None: the plan locks nothing here."""


class PagedCliff(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Near share at which a program's time doubles, and runs 5 % of its pages above and below."""

    name: str
    near_share: float
    """Predicted near share, with the near time and the time of a page measured next to the runs."""
    slowdown_above: float
    """Slowdown with 5 % of its pages more than that."""
    slowdown_below: float
    """Slowdown with 5 % of its pages less than that."""


class PagedScore(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Accuracy for cases with measured slowdowns from 1.1 to 20."""

    mean_error: float
    """Mean of |predicted / measured - 1| of slowdowns."""
    rank: float | None
    """Spearman's rank correlation; None: fewer than three cases, or all predictions are equal."""
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
    """Share of measured slowdowns inside the 90 % intervals, which include the noise measured next
    to the runs; None: no case."""
    coverage_alone: float | None = None
    """Share inside the intervals without that noise; None: no case has them."""
    gain: float | None
    """Geometric mean of measured gains of plans with a predicted gain of a fifth or more; None:
    there is none."""
    cliffs: list[PagedCliff]
    worst_gain: float | None
    """Smallest measured gain of any plan that locks data; None: no plan does."""
    left_out: dict[str, str] = {}
    """Cases without a result, with the reason."""
