"""A field of one of the program's types that an instruction touches; part of a WorkloadProfile."""

from __future__ import annotations

import msgspec

from nearfar.documents.fields import Bytes


class TouchedField(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Bytes of a type that an instruction touches, as the compiler knows them."""

    type: str
    """``struct item``, ``shop::Order<double>``."""
    type_bytes: Bytes
    """Size of the type; 0: unknown."""
    field: str = ""
    """``key``, ``link.next``; empty: several fields at once, padding, or a name that debug
    information lacks."""
    offset: Bytes
    """Bytes from the type's start to the field; an array is one field."""
    bytes: Bytes
    """Size of the field."""
    always: bool = True
    """False: touched only on some paths after the instruction's first access."""
