"""The glossary has the names that plans are shown under."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.place.optimiser import OPTIMISERS

GLOSSARY = (Path(__file__).parents[2] / "docs/glossary.md").read_text()


@pytest.mark.parametrize("name", [*OPTIMISERS.names(), "all-far", "memory-mode", "per-phase"])
def test_each_placement_is_in_the_glossary(name: str) -> None:
    assert f"`{name}`" in GLOSSARY
