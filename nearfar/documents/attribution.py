"""Attribution: which inputs make two predictions differ. A is the first, B the second."""

from __future__ import annotations

import msgspec

from nearfar.base.estimate import Estimate


class InputCause(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One group of inputs that differs."""

    input: str
    """near time, misses, threads, near latencies, near bandwidths, near capacity, far memory, core,
    model, the rest."""
    a: str
    b: str
    """Its figures on both sides, in words."""
    effect: float
    """Part of the difference between B's and A's slowdowns; the effects of all causes add up to
    it."""


class Attribution(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The difference of two predicted slowdowns of the whole run on one far memory."""

    far: str
    a: Estimate
    b: Estimate
    agree: bool
    """Whether the difference is within both intervals, joined in quadrature."""
    causes: list[InputCause]
    """Greatest effect first; empty if the inputs are unknown or missing."""
