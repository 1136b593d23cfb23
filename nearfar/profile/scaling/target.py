"""The size to extrapolate to, as people type it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nearfar.base.errors import NearfarError


def parse_target(texts: Sequence[str]) -> dict[str, float]:
    """Read sizes such as ``n=1e7``."""
    return dict(_size(text) for text in texts)


def _size(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    try:
        if name and equals and math.isfinite(number := float(value)):
            return name, number
    except ValueError:
        pass
    raise NearfarError(f"cannot read --to {text!r}: write a name and a number, such as n=1e7")
