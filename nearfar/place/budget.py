"""Budgets as typed (``2GiB``, ``25%``, ``price:40%``), and the limits they set on a problem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from nearfar.base.errors import NearfarError
from nearfar.base.units import MAX_LETTERS, SHARE, format_bytes, parse_budget_bytes
from nearfar.options.place import Over
from nearfar.place.machine_file import FarMemory
from nearfar.place.problem import Problem


def parse_price(text: str) -> float | None:
    """Return the share of all near's price in ``price:40%``; None for any other budget."""
    head, colon, share = text.partition(":")
    if not colon or head.strip().lower() != "price":
        return None
    match = SHARE.fullmatch(share[:MAX_LETTERS])
    if match is None:
        raise NearfarError(
            f"cannot read the budget {text!r}: a price is a share of the price of all near memory, "
            "such as price:40%"
        )
    return float(match[1]) / 100.0


def budget_remark(budget_bytes: int, footprint_bytes: int) -> str | None:
    """Return a sentence about a budget of nothing or of everything; None for any other."""
    if budget_bytes == 0:
        return "the budget is 0: nothing stays near"
    if budget_bytes >= footprint_bytes:
        return (
            f"the budget of {format_bytes(budget_bytes)} holds all "
            f"{format_bytes(footprint_bytes)}: everything can stay near"
        )
    return None


def with_limits(
    problem: Problem, fars: Sequence[FarMemory], *, inputs: tuple[int, ...], over: Over
) -> Problem:
    """Return the problem with far memories' capacities and prices, and its inputs (profiles).

    `over` summarises the slowdowns of several inputs; without `inputs` it is not used.
    """
    default = problem.prices.far_per_byte
    return replace(
        problem,
        capacities_bytes=tuple(
            math.inf if far.capacity_bytes is None else float(far.capacity_bytes) for far in fars
        ),
        far_prices=tuple(
            default if far.price_per_byte is None else far.price_per_byte for far in fars
        ),
        inputs=inputs,
        over=over if inputs else "mean",
    )


def with_budget(problem: Problem, text: str | None) -> tuple[Problem, int]:
    """Return the problem and the bytes of near memory; a budget by price may add a limit.

    With one far memory a price is equivalent to a number of near bytes. With several far memories
    the price becomes a separate limit, and near memory gets at most the bytes that it would get
    with the cheapest of them.
    """
    footprint = problem.footprint_bytes
    if text is None:
        return problem, footprint
    price = parse_price(text)
    if price is None:
        return problem, parse_budget_bytes(text, footprint)
    prices = problem.prices_per_byte()
    near, far = float(prices[0]), float(prices[1:].min())
    if near <= far:
        raise NearfarError(
            f"a byte of near memory costs {near:g} and a byte of far memory {far:g}: a budget by "
            "price needs near memory that costs more than far memory"
        )
    near_bytes = footprint * (price * near - far) / (near - far)
    if near_bytes < 0:
        raise NearfarError(
            f"no placement costs {price:.0%} of all near: with all far it is {far / near:.0%}"
        )
    if len(problem.fars) > 1:
        problem = replace(problem, max_cost=price)
    return problem, min(footprint, int(near_bytes))
