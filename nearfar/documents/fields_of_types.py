"""Misses and added time by type and field; part of a Prediction."""

from __future__ import annotations

import msgspec

from nearfar.base.estimate import Estimate
from nearfar.documents.fields import Amount, Bytes


class FieldEffect(msgspec.Struct, kw_only=True, gc=False, forbid_unknown_fields=True):
    """Time that the accesses to one field of a type add with everything far."""

    type: str
    """Empty: accesses whose type neither debug information nor TBAA tells."""
    type_bytes: Bytes
    field: str
    """Empty: several fields at once, padding, or a name that debug information lacks."""
    offset: Bytes
    bytes: Bytes
    misses: Amount
    added_ns: Estimate
    """A part of what objects add: those of all fields sum to it."""
