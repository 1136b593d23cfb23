"""Reproduction: published figures next to what nearfar computes, study by study."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from nearfar.documents.header import Document


class ComparisonRow(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One published figure next to nearfar's ("ours"), in the unit of its table."""

    what: str
    published: float | None
    """None: the source prints no number."""
    ours: float | None
    """None: not computed here; `note` says why."""
    difference: float | None = None
    """ours / published - 1."""
    low: float | None = None
    high: float | None = None
    """Interval of ours."""
    rivals: dict[str, float] = {}
    """Other predictions of the same figure, such as the source's own model."""
    judged: bool = True
    """Whether it counts in the table's errors; if not, `note` gives the reason."""
    note: str = ""


class Errors(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Relative errors over a table's judged rows, as fractions."""

    mean: float
    """Mean of absolute values."""
    max: float
    bias: float
    """Mean with sign; positive: too high."""
    rows: int


class ComparisonTable(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Published figures of one kind next to ours."""

    title: str
    cited: str
    """Table, figure or page of the source."""
    unit: str
    rows: list[ComparisonRow]
    errors: dict[str, Errors] = {}
    """By predictor: ours, and each rival."""
    note: str = ""


class TextTable(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A table of texts: steps and their output, or inconsistencies of the source."""

    title: str
    columns: list[str]
    rows: list[list[str]]


class StudyResult(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One study, run here."""

    name: str
    title: str
    source: str
    """Citation of the published source."""
    inputs: str = ""
    """Inputs of our values; no others are used."""
    skipped: str = ""
    """Why it could not run here; empty: it ran."""
    tables: list[ComparisonTable] = []
    texts: list[TextTable] = []
    verdict: list[str] = []
    """Verdict in words, including where ours is worse."""
    picture: str = ""
    """File of the picture, if one was drawn."""


class Reproduction(Document, kw_only=True, forbid_unknown_fields=True):
    """Studies, run here."""

    KIND: ClassVar[str] = "reproduction"
    VERSION: ClassVar[int] = 1

    studies: list[StudyResult]
    commit: str = ""
    """Commit of nearfar whose models ran; empty: not known."""
