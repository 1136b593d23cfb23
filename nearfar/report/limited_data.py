"""Data of the answers for less near memory, and for less cache."""

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


class BusyServer(msgspec.Struct, kw_only=True):
    """Slowdowns where other programs take most of the last-level cache (`busy_server`)."""

    cache_bytes: int
    slowdowns: dict[str, Estimate]
    """By far memory."""
    sentence: str
