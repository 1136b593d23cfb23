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
    """Slowdown that 95 % of profiles do not exceed."""


class HostType(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A group of equal hosts."""

    name: str
    near: str
    """Name of the DeviceProfile of its memory."""
    hosts: int
    """Hosts from which profiles came."""
    count: int
    """Total number of such hosts."""
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
    """Bytes in all profiles together."""
    slowdown_cost: float
    """Share by which it increases the fleet's CPU time if it is far everywhere."""


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
    """Price of far memory divided by that of near memory, per byte, without adapters."""
    saved: dict[str, float]
    """Saved share of the cost by slowdown limit, as typed."""


class QuickForm(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """How well the sums over the fleet agree with `nearfar predict` for some of its profiles."""

    profiles: int
    """Number of profiles predicted in full for the comparison; 0 if nothing is summed (`paged`)."""
    factor: float
    """Factor applied to the sums: the median of predicted over summed added time."""
    low: float
    high: float
    """10th and 90th percentile of that ratio divided by its median: the possible error of a
    profile."""
    high_end_factor: float = 1.0
    """The same factor for the high ends of the predicted intervals."""


class BesideSaving(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Savings of another far memory at the same limits (`--beside`)."""

    far: str
    far_price_per_gib: float
    """Price of far memory per GiB. If pages stay compressed in near memory, it is their part of its
    price."""
    savings: list[Saving]


class Fleet(Document, kw_only=True, forbid_unknown_fields=True):
    """Slowdown and saving of far memory for each type of host."""

    KIND: ClassVar[str] = "fleet"
    VERSION: ClassVar[int] = 1

    far: str
    far_price_per_gib: float
    adapter_price: float
    """Price per host with far memory."""
    currency: str
    profiles: int
    hosts: int
    footprint_bytes: int
    cpu_seconds: float
    types: list[HostType]
    objects: list[CheapObject]
    savings: list[Saving]
    """In ascending order of the slowdown limit."""
    slo_by: Judge = "value"
    """The number of each program that must keep the limits: its value, or the high end of its
    interval."""
    sensitivity: list[PricePoint]
    break_even: dict[str, float]
    """By slowdown limit, the price of far memory relative to near above which nothing is saved."""
    quick_form: QuickForm
    paged: bool = False
    """Whether `far` is a paged memory: then every profile is predicted, and nothing is summed."""
    beside: list[BesideSaving] = []
    left_out: dict[str, int] = {}
    """Number of omitted files by reason."""
    warnings: list[str] = []
