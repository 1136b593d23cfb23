"""Fleet: many profiles of many hosts, and what a mix of near and far memory would save."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.documents.header import Document

Judge = Literal["value", "high"]


class FleetCurvePoint(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Slowdown of a host type with this share of every program's memory far."""

    far_share: float
    slowdown_mean: float
    """Weighted by CPU time."""
    slowdown_p50: float
    slowdown_p95: float
    """Slowdown that 95 % of profiles do not pass."""


class HostType(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Hosts that are alike."""

    name: str
    near: str
    """Name of the DeviceProfile of its memory."""
    hosts: int
    """That profiles came from."""
    count: int
    """That there are."""
    memory_bytes: int
    """Memory of one host."""
    profiles: int
    cpu_seconds: float
    near_price_per_gib: float
    curve: list[FleetCurvePoint]


class CheapObject(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Data of one kind across the fleet, cheapest to have far first."""

    program: str
    object: str
    profiles: int
    bytes: int
    """Over all profiles."""
    slowdown_cost: float
    """That it adds to the fleet's CPU time if it is far everywhere; a share."""


class Mix(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Hosts of one type with one share of far memory."""

    host_type: str
    far_share: float
    hosts: int


class Saving(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The cheapest mix that keeps every program within a slowdown."""

    most_slowdown: float
    cost: float
    """Cost of all memory, in the prices' currency."""
    saved: float
    """Saved share of the cost of all-near."""
    far_bytes: int
    mixes: list[Mix]


class PricePoint(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Saving at another price of far memory."""

    far_over_near: float
    """Price of far memory over near memory's, per byte, adapters left out."""
    saved: dict[str, float]
    """Slowdown limit, as typed, to the share saved."""


class QuickForm(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Agreement of the sums over the fleet with `nearfar predict` on some of its profiles."""

    profiles: int
    """Predicted in full to compare with the sums; 0 where nothing is summed (`paged`)."""
    factor: float
    """Factor applied to the sums: the median of predicted over summed added time."""
    low: float
    high: float
    """10th and 90th percentile of that ratio over its median: how far a profile may be off."""
    high_end_factor: float = 1.0
    """The same factor for the high ends of the predicted intervals."""


class BesideSaving(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Savings of another far memory at the same limits (`--beside`)."""

    far: str
    far_price_per_gib: float
    """Where pages stay compressed in near memory: their part of its price."""
    savings: list[Saving]


class Fleet(Document, kw_only=True, forbid_unknown_fields=True):
    """Slowdown and saving of far memory for each type of host."""

    KIND: ClassVar[str] = "fleet"
    VERSION: ClassVar[int] = 1

    far: str
    far_price_per_gib: float
    adapter_price: float
    """Per host with far memory."""
    currency: str
    profiles: int
    hosts: int
    footprint_bytes: int
    cpu_seconds: float
    types: list[HostType]
    objects: list[CheapObject]
    savings: list[Saving]
    """By rising slowdown limit."""
    slo_by: Judge = "value"
    """The number of each program that keeps the limits: its value, or its interval's high end."""
    sensitivity: list[PricePoint]
    break_even: dict[str, float]
    """Slowdown limit to the price of far over near memory above which nothing is saved."""
    quick_form: QuickForm
    paged: bool = False
    """Whether `far` is moved in pages: every profile is then predicted, and nothing is summed."""
    beside: list[BesideSaving] = []
    left_out: dict[str, int] = {}
    """Why files were left out, to how many."""
    warnings: list[str] = []
