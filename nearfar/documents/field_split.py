"""Splits of types into hot and cold fields, with what they would save; part of a report."""

from __future__ import annotations

import msgspec

from nearfar.base.estimate import Estimate
from nearfar.documents.fields import Amount, Bytes, Whole


class FieldSplit(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A type whose hot fields would be stored separately, for one far memory and one budget."""

    far: str
    type: str
    type_bytes: Bytes
    object: Whole
    """Number of the object whose elements are split."""
    hot_fields: list[str]
    hot_bytes: Bytes
    hot_misses_share: Amount
    """Share of the type's misses in this object that its hot fields cause."""
    pointer_bytes: Bytes
    """Bytes of the pointer that leads from the hot part to the cold one; 0: both are arrays."""
    budget_bytes: Bytes
    """Near memory for the type with and without the split."""
    slowdown_before: Estimate
    """Slowdown of the best plan for the budget."""
    slowdown_after: Estimate
    """Slowdown with the type split, relative to near time without the split."""
    saved: Estimate
    """Difference of both slowdowns. Its interval includes the uncertain number of visits to the
    cold part."""
    near_factor: Estimate
    """Near time with the split divided by near time without it."""
    sentence: str
