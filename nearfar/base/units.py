"""Sizes and times as people type them, and numbers as people read them.

1 GB is 1e9 bytes, 1 GiB is 2**30 bytes; the two are never confused, so ``2 GB`` and ``2GiB``
are different budgets and a bare ``2G`` is refused.
"""

from __future__ import annotations

import re
from functools import lru_cache

from nearfar.base.errors import CommandError, NearfarError

LINE_BYTES = 64
"""A cache line: of every x86-64 core and of all Arm server cores."""

PAGE_BYTES = 4096
"""A small page, the unit of mmap and of most page tables."""

_FACTORS = {"B": 1}
for _power, _letter in enumerate("KMGTP", start=1):
    _FACTORS[f"{_letter}iB"] = 1024**_power
    _FACTORS[f"{_letter}B"] = 1000**_power
_FACTORS["kB"] = 1000

_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*")
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_TIME = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|min|h)\s*")


MAX_LETTERS = 24
"""Longest number that is read: longer ones could overflow."""

SHARE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")


@lru_cache(1024)
def parse_size_bytes(text: str) -> int:
    """Parse ``64MiB``, ``2 GB``, ``4096B`` to bytes; a missing or unclear unit is refused."""
    match = _SIZE.fullmatch(text)
    if match is None or match[2] not in _FACTORS:
        raise NearfarError(
            f"cannot read the size {text!r}: write a positive number and a unit, "
            "such as 2GiB (2 x 2^30 bytes) or 2GB (2 x 10^9 bytes)"
        )
    return round(float(match[1]) * _FACTORS[match[2]])


def parse_budget_bytes(text: str, footprint_bytes: int) -> int:
    """Return the budget in bytes; a share is of `footprint_bytes`.

    ``0`` and sizes above the footprint are valid. Raises NearfarError for a negative budget, one
    without a unit and text that is not a number.
    """
    if text.strip().startswith("-"):
        raise NearfarError(
            f"the budget {text!r} is negative: write 0 to keep nothing near, a size such as "
            "2GiB, or a share of the program's memory such as 25%"
        )
    if text.strip() == "0":
        return 0
    share = SHARE.fullmatch(text[:MAX_LETTERS])
    if share is not None:
        return int(float(share[1]) / 100.0 * footprint_bytes)
    try:
        if len(text) > MAX_LETTERS:
            raise NearfarError("too long")
        return parse_size_bytes(text)
    except NearfarError as error:
        raise NearfarError(
            f"cannot read the budget {text!r}: write a number with a unit, such as 2GiB "
            "(2 x 2^30 bytes) or 2GB (2 x 10^9 bytes), or a share of the program's memory, such "
            "as 25%"
        ) from error


def parse_seconds(text: str, option: str) -> float:
    """Parse ``10s``, ``500ms``, ``2min``, ``1h``, the value of `option`, to seconds."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise CommandError(f"cannot read {option} {text!r}: write a time such as 10s or 500ms")
    return float(match[1]) * _SECONDS[match[2]]


def parse_positive_seconds(text: str, option: str) -> float:
    """Parse the value of `option` to seconds; zero is refused."""
    time_s = parse_seconds(text, option)
    if time_s == 0:
        raise CommandError(f"{option} {text} leaves no time: write one above 0, such as 10s")
    return time_s


def format_bytes(size_bytes: float) -> str:
    """Format bytes with a binary unit and three digits: ``1.50 GiB``."""
    sign = "-" if size_bytes < 0 else ""
    value = abs(float(size_bytes))
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            digits = 0 if unit == "B" else max(0, 2 - (value >= 10) - (value >= 100))
            return f"{sign}{value:.{digits}f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def format_count(count: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun: ``1 file``, ``2,500 files``; `plural` if it is irregular."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def format_ns(time_ns: float) -> str:
    """Format a time with the unit that keeps it readable: ``312 ns``, ``1.25 ms``, ``3.10 s``."""
    value = float(time_ns)
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} ns"
