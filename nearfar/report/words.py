"""Format numbers for the page's sentences; the scripts in figures/ use the same formats."""

from __future__ import annotations

from nearfar.base.units import format_ns

NARROW = "\u00a0"
"""A number and its unit stay on one line."""


def time_text(time_ns: float) -> str:
    """Return ``1.25 ms``, ``3.1 µs``: the text of `format_ns` with the micro sign."""
    return format_ns(time_ns).replace(" us", " µs").replace(" ", NARROW)


def percent_text(share: float) -> str:
    """Return ``25 %``; one digit more below one per cent."""
    return f"{100 * share:.{0 if share >= 0.0095 else 1}f}{NARROW}%"


def digits3(value: float | None) -> str:
    """Return three significant digits, or a dash for an unknown value."""
    return "–" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def count_text(value: float) -> str:
    """Return ``1.38 M``."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{NARROW}{unit}"
    return f"{value:.3g}"
