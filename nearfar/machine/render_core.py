"""A measured core as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.base.units import format_bytes
from nearfar.documents.core import CoreFigure, CoreFigures

UNITS = {"cycles": " cycles", "lines": " lines", "ghz": " GHz"}
"""Units by the last word of a figure's key; sizes of buffers have none."""


def core_lines(core: CoreFigures) -> Iterator[str]:
    """Yield a line for each figure with its interval and note, then what was not seen."""
    for key, figure in core.figures().items():
        name, _, unit = key.rpartition("_")
        if unit == "bytes":
            yield f"{_words(name)}: {_sizes(figure)}{_note(figure)}"
        elif unit in UNITS:
            yield f"{_words(name)}: {_value(figure)}{UNITS[unit]}{_note(figure)}"
        else:
            yield f"{_words(key)}: {_value(figure)}{_note(figure)}"
    for walk in core.page_walks:
        pages, region = format_bytes(walk.page_bytes), format_bytes(walk.footprint_bytes)
        yield f"page walks, {pages} pages of {region}: {_value(walk.walk_ns)} ns an access"
    reasons: dict[str, list[str]] = {}
    for key, reason in core.not_seen.items():
        reasons.setdefault(reason, []).append(_words(key))
    for reason, keys in reasons.items():
        yield f"not seen: {', '.join(keys)}: {reason}"


def _words(key: str) -> str:
    return key.replace("_", " ")


def _value(figure: CoreFigure) -> str:
    low, high = figure.range
    ends = "" if low == high else f" [{_number(low)}, {_number(high)}]"
    return f"{_number(figure.value)}{ends}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.3g}"


def _sizes(figure: CoreFigure) -> str:
    low, high = (format_bytes(int(end)) for end in figure.range)
    ends = "" if low == high else f" [{low}, {high}]"
    return f"{format_bytes(int(figure.value))}{ends}"


def _note(figure: CoreFigure) -> str:
    return f" ({figure.note})" if figure.note else ""
