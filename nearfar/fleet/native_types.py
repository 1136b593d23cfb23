"""The types of a document's fields, as the native reader of profiles takes them."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from msgspec import inspect

from nearfar._fleet import ProfileRows, Type
from nearfar.documents import WorkloadProfile
from nearfar.documents.fields import MOST

INT64_MAX = 2**63 - 1


def profile_rows(most_bytes: int) -> ProfileRows:
    """Return an empty reader of profiles that have at most `most_bytes` of data."""
    kind = WorkloadProfile
    return ProfileRows(_types_of(kind), kind.KIND, kind.VERSION, MOST, most_bytes)


@cache
def _types_of(kind: type) -> list[Type]:
    types: list[Type | None] = []
    _add(inspect.type_info(kind), types, {})
    return [each for each in types if each is not None]


def _add(info: inspect.Type, types: list[Type | None], known: dict[type, int]) -> int:
    """Add a type and all that it holds; return its index."""
    nullable = isinstance(info, inspect.UnionType)
    if isinstance(info, inspect.UnionType):
        info, *others = [each for each in info.types if not isinstance(each, inspect.NoneType)]
        if others:
            raise TypeError("the native reader knows no types with alternatives")
    cls = info.cls if isinstance(info, inspect.StructType) and not nullable else None
    if cls in known:
        return known[cls]
    index = len(types)
    types.append(None)
    if cls is not None:
        known[cls] = index
    types[index] = Type(nullable=nullable, **_described(info, types, known))
    return index


def _described(
    info: inspect.Type, types: list[Type | None], known: dict[type, int]
) -> dict[str, Any]:
    """Return the arguments of `Type`."""
    match info:
        case inspect.StructType(fields=fields, forbid_unknown_fields=True):
            return {
                "kind": "record",
                "fields": [
                    (field.encode_name, _add(field.type, types, known), field.required)
                    for field in fields
                ],
            }
        case inspect.ListType(item_type=inner, min_length=None, max_length=None):
            return {"kind": "list", "inner": _add(inner, types, known)}
        case inspect.DictType(key_type=inspect.StrType(), value_type=inner):
            return {"kind": "table", "inner": _add(inner, types, known)}
        case inspect.StrType(min_length=None, max_length=None, pattern=None):
            return {"kind": "text"}
        case inspect.LiteralType(values=values) if all(isinstance(each, str) for each in values):
            return {"kind": "text", "allowed": list(values)}
        case inspect.BoolType():
            return {"kind": "flag"}
    return _bounded(info)


def _bounded(info: inspect.Type) -> dict[str, Any]:
    match info:
        case inspect.FloatType(lt=None, multiple_of=None):
            low = info.ge if info.gt is None else info.gt
            return {
                "kind": "number",
                "low": -math.inf if low is None else low,
                "high": math.inf if info.le is None else info.le,
                "above": info.gt is not None,
            }
        case inspect.IntType(gt=None, lt=None, multiple_of=None):
            return {
                "kind": "whole",
                "least": -INT64_MAX if info.ge is None else info.ge,
                "most": INT64_MAX if info.le is None else info.le,
            }
    raise TypeError(f"the native reader does not know the type {info}")
