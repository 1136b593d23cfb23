"""How many examples a property draws, relative to the profile of hypothesis (conftest.py)."""

from __future__ import annotations

from hypothesis import settings


def examples(percent: int) -> settings:
    """Return the decorator of a property that draws this share of the profile's examples."""
    return settings(max_examples=settings().max_examples * percent // 100)
