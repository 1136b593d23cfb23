"""Data of the figure that shows traffic along large objects."""

from __future__ import annotations

import msgspec


class PlacedRanges(msgspec.Struct, kw_only=True):
    """Ranges of one object that a plan keeps near."""

    object: int
    near: list[tuple[int, int]]
    """First byte of each within the object, and the byte after its last."""


class ObjectRanges(msgspec.Struct, kw_only=True):
    """Traffic along one large object."""

    object: int
    range_bytes: int
    lines: dict[str, list[float]]
    """By phase: lines missed or written back in each range."""
