"""A field of one of the program's types that an instruction touches; part of a WorkloadProfile."""

from __future__ import annotations

import msgspec

from nearfar.documents.fields import Bytes


class TouchedField(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Bytes of a type that an instruction touches, according to the compiler."""

    type: str
    """``struct item``, ``shop::Order<double>``."""
    type_bytes: Bytes
    """Size of the type; 0: unknown."""
    field: str = ""
    """Field such as ``key`` or ``link.next``; empty: several fields at once, padding, or a name
    missing in debug information."""
    offset: Bytes
    """Offset of the field in bytes from the type's start; an array is one field."""
    bytes: Bytes
    """Size of the field."""
    always: bool = True
    """False: touched only on some paths after the instruction's first access."""
