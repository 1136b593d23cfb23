"""The budget as people type it: ``2GiB``, ``500 MB``, ``25%`` of the program's memory."""

from __future__ import annotations

import re

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_bytes, parse_size_bytes

LONGEST_TEXT = 24
"""Longer is no number that anyone means, and could overflow one."""

_SHARE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")


def parse_budget_bytes(text: str, footprint_bytes: int) -> int:
    """Return the budget in bytes; a share is of `footprint_bytes`.

    ``0`` and more than everything are legal extremes. A negative budget, one without a unit,
    and what is not a number are refused.
    """
    if text.strip().startswith("-"):
        raise NearfarError(
            f"the budget {text!r} is negative: write 0 to keep nothing near, a size such as "
            "2GiB, or a share of the program's memory such as 25%"
        )
    if text.strip() == "0":
        return 0
    share = _SHARE.fullmatch(text[:LONGEST_TEXT])
    if share is not None:
        return int(float(share[1]) / 100.0 * footprint_bytes)
    try:
        if len(text) > LONGEST_TEXT:
            raise NearfarError("too long")
        return parse_size_bytes(text)
    except NearfarError as error:
        raise NearfarError(
            f"cannot read the budget {text!r}: write a number with a unit, such as 2GiB "
            "(2 x 2^30 bytes) or 2GB (2 x 10^9 bytes), or a share of the program's memory, such "
            "as 25%"
        ) from error


def budget_remark(budget_bytes: int, footprint_bytes: int) -> str | None:
    """Return what to say of an extreme budget; None of an ordinary one."""
    if budget_bytes == 0:
        return "the budget is 0: nothing stays near"
    if budget_bytes >= footprint_bytes:
        return (
            f"the budget of {format_bytes(budget_bytes)} holds all "
            f"{format_bytes(footprint_bytes)}: everything can stay near"
        )
    return None


def parse_price(text: str) -> float | None:
    """Return the share of all near's price that ``price:40%`` allows; None of another budget."""
    head, colon, share = text.partition(":")
    if not colon or head.strip().lower() != "price":
        return None
    found = _SHARE.fullmatch(share[:LONGEST_TEXT])
    if found is None:
        raise NearfarError(
            f"cannot read the budget {text!r}: a price is a share of what all near memory would "
            "cost, such as price:40%"
        )
    return float(found[1]) / 100.0
