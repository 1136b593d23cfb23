"""A value with its interval, as used in documents and in all parts of nearfar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

Finite = Annotated[float, msgspec.Meta(ge=-1e30, le=1e30)]
"""Squares and sums of such values stay finite; wider ones are refused where a file is read."""


class Estimate(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A value with its 95 % interval, in the unit that the key holding it names."""

    value: Finite
    low: Finite
    high: Finite


def sum_estimates(estimates: Sequence[Estimate]) -> Estimate:
    """Return the estimate whose value, low and high are the sums of those of `estimates`."""
    return Estimate(
        sum(estimate.value for estimate in estimates),
        sum(estimate.low for estimate in estimates),
        sum(estimate.high for estimate in estimates),
    )


def scale_estimate(estimate: Estimate, factor: float) -> Estimate:
    """Return the estimate times a factor, such as in another unit."""
    return Estimate(estimate.value * factor, estimate.low * factor, estimate.high * factor)
