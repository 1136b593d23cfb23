"""Comparison: two documents of one kind, figure by figure. A is the first, B the second."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.documents.attribution import Attribution
from nearfar.documents.header import Document

Verdict = Literal["worse", "better", "changed", "same", "only A", "only B", "not judged"]
"""changed: more than chance explains, of a figure of which neither more nor less is better.
not judged: nothing is known of its spread, or the two are of other machines."""


class Side(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One of the two."""

    file: str
    kind: str
    command: str
    host: str
    cpu_model: str
    time_utc: str
    nearfar_version: str
    documents: int = 1
    """Number of documents, if the side is a folder of them."""


class Change(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One figure of both."""

    family: str
    """Figures that are judged together: times, objects' misses, lines' misses."""
    name: str
    unit: str
    a: float | None
    """None: B alone has it."""
    b: float | None
    change: float | None = None
    """(b - a) / a; of a part, such as an object: (b - a) over the whole of A. None: that is 0."""
    part: bool = False
    """Whether `change` and its interval are shares of A's total."""
    own_change: float | None = None
    """Relative change of a part: (b - a) / a. None: a is 0."""
    low: float | None = None
    high: float | None = None
    """95 % interval of `change`, by bootstrap where there are samples."""
    p: float | None = None
    """Probability that chance alone makes such a difference; None: not judged."""
    p_corrected: float | None = None
    """For all that is compared."""
    verdict: Verdict
    over_limit: bool = False
    note: str = ""
    """Why it is not judged; how the difference was had."""


class Comparison(Document, kw_only=True, forbid_unknown_fields=True):
    """Differences of two documents."""

    KIND: ClassVar[str] = "comparison"
    VERSION: ClassVar[int] = 2

    a: Side
    b: Side
    limit: float | None
    """Value of --fail-over; None: nothing fails."""
    correction: Literal["holm", "benjamini-hochberg", "none"]
    families: list[str]
    """In the order in which they matter."""
    changes: list[Change]
    """By family; in each, what changed most first."""
    failed: int
    """Figures over the limit."""
    attributions: list[Attribution] = []
    """Which inputs make two predictions differ, for each far memory; else empty."""
    warnings: list[str] = []
    """Data points missing on one side, different inputs, different machines."""
