"""A problem with what limits it: capacities and prices of far memories, the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from nearfar.base.errors import NearfarError
from nearfar.place.budget import parse_budget_bytes, parse_price
from nearfar.place.machine_file import FarMemory
from nearfar.place.problem import Over, Problem


def with_limits(
    problem: Problem, fars: Sequence[FarMemory], *, inputs: tuple[int, ...], over: Over
) -> Problem:
    """Return the problem with far memories' capacities and prices."""
    default = problem.prices.far_per_byte
    return replace(
        problem,
        capacities_bytes=tuple(
            math.inf if one.capacity_bytes is None else float(one.capacity_bytes) for one in fars
        ),
        far_prices=tuple(
            default if one.price_per_byte is None else one.price_per_byte for one in fars
        ),
        inputs=inputs,
        over=over if inputs else "mean",
    )


def with_budget(problem: Problem, budget: int | str | None) -> tuple[Problem, int]:
    """Return the budget in bytes, and the problem with a limit on the price where that was meant.

    With one far memory a price is so many bytes of near memory; with several it is a limit of its
    own, and near memory gets at most what it would beside the cheapest of them.
    """
    footprint = problem.footprint_bytes
    if budget is None:
        return problem, footprint
    text = budget if isinstance(budget, str) else f"{budget}B"
    price = parse_price(text)
    if price is None:
        return problem, parse_budget_bytes(text, footprint)
    prices = problem.prices_per_byte()
    near, far = float(prices[0]), float(prices[1:].min())
    if near <= far:
        raise NearfarError(
            f"a byte near costs no more than one far ({near:g} and {far:g}): a price limits nothing"
        )
    bytes_ = footprint * (price * near - far) / (near - far)
    if bytes_ < 0:
        raise NearfarError(
            f"no placement costs {price:.0%} of all near: with all far it is {far / near:.0%}"
        )
    if len(problem.fars) > 1:
        problem = replace(problem, most_cost=price)
    return problem, min(footprint, int(bytes_))
