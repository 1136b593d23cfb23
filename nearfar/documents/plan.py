"""Plan: which object goes to which memory, for a budget of near memory."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.base.statistics import Estimate
from nearfar.documents.header import Document


class Placement(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Where one object goes."""

    object: int
    name: str
    size_bytes: int
    memory: Literal["near", "far"]
    added_ns_if_far: Estimate


class Alternative(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One way to place the data, as a bar to compare with."""

    name: Literal["all-near", "all-far", "page-interleaved", "hot-first", "greedy", "optimal"]
    near_bytes: int
    time_ns: Estimate
    slowdown: Estimate
    cost_relative: float
    """Price of the memory used, over all-near's."""


class FrontierPoint(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What the greedy order reaches with its first objects near."""

    near_bytes: int
    """Room taken by the objects kept near so far."""
    object_added: int | None
    """The object this step keeps near; None for the first point (all far)."""
    time_ns: Estimate
    slowdown: Estimate
    cost_relative: float


class Prices(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Relative price per byte; only the ratio matters."""

    near_per_byte: float = 5.0
    far_per_byte: float = 1.0
    source: str = "X-Mem (EuroSys 2016): DRAM costs 5x NVM per bit"


class Plan(Document, kw_only=True, forbid_unknown_fields=True):
    """A placement for one budget, the bars beside it, and the frontier of all budgets."""

    KIND: ClassVar[str] = "plan"
    VERSION: ClassVar[int] = 1

    profile: str
    near: str
    far: str
    phase: str
    """The phase whose time is minimised, or ``total``."""
    budget_bytes: int
    footprint_bytes: int
    placements: list[Placement]
    alternatives: list[Alternative]
    frontier: list[FrontierPoint]
    prices: Prices
    proven_gap: float | None
    """Relative gap of the exact optimiser; 0 is proven optimal; None if it was not run."""
    caveats: list[str] = []
