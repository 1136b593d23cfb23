"""A value with its interval, as documents and all stages use it."""

from __future__ import annotations

import msgspec


class Estimate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value with its 95 % interval, in the unit that the key holding it names."""

    value: float
    low: float
    high: float
