"""Comparison: two profiles of one program, side by side."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from nearfar.documents.header import Document


class ComparedObject(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One object in both profiles; the pairs are (first, second)."""

    name: str
    here: tuple[bool, bool]
    """Which profiles have it."""
    size_bytes: tuple[int, int]
    misses: tuple[float, float]
    """Of all phases that both profiles have."""
    differs: bool
    """The misses differ by more than sampling lines explains (95 %)."""


class ComparedPhase(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One phase in both profiles; the pairs are (first, second)."""

    name: str
    near_cpu_time_ns: tuple[float, float]
    operations: tuple[float | None, float | None]
    misses: tuple[float, float]
    time_differs: bool
    """The intervals of the two times do not meet."""


class Comparison(Document, kw_only=True, forbid_unknown_fields=True):
    """What two profiles have in common, and where they differ."""

    KIND: ClassVar[str] = "comparison"
    VERSION: ClassVar[int] = 1

    profiles: tuple[str, str]
    """Their files."""
    phases: list[ComparedPhase]
    """Those of both."""
    objects: list[ComparedObject]
    """Most misses first."""
    warnings: list[str] = []
    """Phases of one profile only, sites whose lines moved, caches that differ."""
