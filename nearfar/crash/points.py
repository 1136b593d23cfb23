"""A moment at which power may go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

At = Literal["fence", "operation", "end", "store"]
KINDS: tuple[At, ...] = ("fence", "operation", "end", "store")
"""As native/crash/explore/explorer.hpp numbers them."""


@dataclass(frozen=True, slots=True)
class Point:
    """Before a fence, at an operation's end, at the program's end; with caches that survive, after
    a store."""

    number: int
    at: At
    stack: tuple[int, ...]
