"""Data of the table of memories that are moved in pages."""

from __future__ import annotations

import msgspec

from nearfar.base.estimate import Estimate
from nearfar.documents.prediction import PagedAxis


class PagedMeasured(msgspec.Struct, kw_only=True):
    """A run of the program at a memory limit on this machine, next to its prediction."""

    memory: str = ""
    """Memory spec of the run."""
    near_share: float
    near_bytes: int
    slowdown: float
    """CPU time of the profile's phases at the limit divided by their near time."""
    predicted: Estimate
    faults: int
    predicted_faults: Estimate


class PagedFacts(msgspec.Struct, kw_only=True):
    """A paged memory, by near budget."""

    title: str
    sentence: str
    axis: PagedAxis
    measured: list[PagedMeasured] = []
