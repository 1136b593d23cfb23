"""An interval from values that each have one uncertain input perturbed."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, hypot, log, log1p

from nearfar.base.estimate import Estimate

MIN_RATIO = 1e-12
"""Smallest ratio to the central time that a downward deviation leaves."""


def joined(
    central: float,
    validated: Sequence[float],
    unvalidated: Sequence[float],
    share: float,
) -> Estimate:
    """Return `central` with the deviations of other values joined in quadrature.

    Deviations are logarithms of ratios. `validated` ones count by `share`, `unvalidated` in full.
    """
    ups = [_upward(central, ends) for ends in (validated, unvalidated)]
    downs = [_downward(central, ends) for ends in (validated, unvalidated)]
    if central <= 0.0:
        return Estimate(central, central, central + hypot(*ups))
    highs = [log1p(up / central) for up in ups]
    lows = [log(max(1.0 - down / central, MIN_RATIO)) for down in downs]
    return Estimate(
        central,
        central * exp(-hypot(share * lows[0], lows[1])),
        central * exp(hypot(share * highs[0], highs[1])),
    )


def _upward(central: float, ends: Sequence[float]) -> float:
    return hypot(*[end - central for end in ends if end > central])


def _downward(central: float, ends: Sequence[float]) -> float:
    return hypot(*[central - end for end in ends if end < central])
