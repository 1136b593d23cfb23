"""A finished point as a row of the dataset; its fields are the columns, for all kinds alike."""

from __future__ import annotations

import types
import typing
from typing import Any

import msgspec


class PointValues(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The values of a point; empty columns where its kind has none. Intervals are 90 %."""

    time_ns: float | None = None
    """predict: of all phases, everything far; place: under the plan; measure: wall, median."""
    time_low_ns: float | None = None
    time_high_ns: float | None = None
    cpu_time_ns: float | None = None
    near_time_ns: float | None = None
    slowdown: float | None = None
    """Slowdown over everything near."""
    slowdown_low: float | None = None
    slowdown_high: float | None = None
    near_bytes: int | None = None
    """Bytes that the plan keeps near."""
    footprint_bytes: int | None = None
    cost_relative: float | None = None
    """Price of the memory used, over all near."""
    ns_per_access: float | None = None
    gb_per_s: float | None = None
    bound: str | None = None
    more: str | None = None
    """JSON object of further values."""


class PointRow(PointValues, kw_only=True, omit_defaults=True):
    """One line of the dataset."""

    point: str
    """Hash of everything it is computed from."""
    kind: str
    program: str | None = None
    size: str | None = None
    """JSON object."""
    seed: int | None = None
    near: str | None = None
    far: str | None = None
    model: str | None = None
    budget: str | None = None
    parameters: str
    """JSON object of all parameters, these included."""
    nearfar: str
    """Version, and digest of the code that computed it."""
    host: str
    started_utc: str
    seconds: float
    """Time of the computation."""


AXIS_COLUMNS = ("program", "size", "seed", "near", "far", "model", "budget")


def columns() -> dict[str, type]:
    """Return every column's type, in order: parameters before values."""
    hints = typing.get_type_hints(PointRow)
    own = [*PointRow.__annotations__, *PointValues.__annotations__]
    return {name: _plain(hints[name]) for name in own}


def _plain(hint: Any) -> type:
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    return typing.cast(type, hint)
