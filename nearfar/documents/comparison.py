"""Comparison: two documents of one kind, value by value. A is the first, B the second."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.documents.attribution import Attribution
from nearfar.documents.header import Document

Verdict = Literal["worse", "better", "changed", "same", "only A", "only B", "not judged"]
"""Result for one value. changed: more than chance explains, for a value of which neither more nor
less is better. not judged: its spread is unknown, or the documents come from different machines."""


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
    """One value of both."""

    family: str
    """Group of values that are judged together: times, objects' misses, lines' misses."""
    name: str
    unit: str
    a: float | None
    """Value in A; None: only B has it."""
    b: float | None
    change: float | None = None
    """(b - a) / a; for a part, such as an object, (b - a) divided by the total of A. None: the
    divisor is 0."""
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
    """`p`, corrected for the number of compared values."""
    verdict: Verdict
    over_limit: bool = False
    note: str = ""
    """Why the value is not judged, or how the difference was computed."""


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
    """Grouped by family; within each, the greatest changes first."""
    failed: int
    """Number of values that exceed the limit."""
    attributions: list[Attribution] = []
    """For predictions: which inputs cause the difference, for each far memory. Otherwise empty."""
    warnings: list[str] = []
    """Values missing on one side, different inputs, different machines."""
