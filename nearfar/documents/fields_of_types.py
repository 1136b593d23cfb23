"""Misses and added time by type and field; part of a Prediction."""

from __future__ import annotations

import msgspec

from nearfar.base.estimate import Estimate
from nearfar.documents.fields import Amount, Bytes


class FieldEffect(msgspec.Struct, kw_only=True, gc=False, forbid_unknown_fields=True):
    """Time that the accesses to one field of a type add with everything far."""

    type: str
    """Type; empty: neither debug information nor TBAA gives the type of these accesses."""
    type_bytes: Bytes
    field: str
    """Field; empty: several fields at once, padding, or a name missing in debug information."""
    offset: Bytes
    bytes: Bytes
    misses: Amount
    added_ns: Estimate
    """Part of the time that objects add; the parts of all fields add up to it."""
