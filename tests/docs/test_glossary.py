"""The glossary has the names that plans are shown under, and the columns of tables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearfar.place.optimiser import OPTIMISERS

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs/glossary.md").read_text()
TABLES = ("profile/summary.py", "predict/table.py", "predict/paged_table.py", "place/table.py")
TERMS = {term for line in GLOSSARY.splitlines() for term in re.split(r", |`", line)}
"""Terms that the glossary explains; a column has the name of one."""


@pytest.mark.parametrize("name", [*OPTIMISERS.names(), "all-far", "memory-mode", "per-phase"])
def test_each_placement_is_in_the_glossary(name: str) -> None:
    assert f"`{name}`" in GLOSSARY


def columns(path: str) -> Iterator[str]:
    """Yield the columns of the tables that a module prints."""
    for node in ast.walk(ast.parse((ROOT / "nearfar" / path).read_text())):
        names = None
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "table" and node.args:
            names = node.args[0]
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "columns":
            names = node.value
        for name in names.elts if isinstance(names, ast.List) else ():
            if isinstance(name, ast.Constant) and name.value:
                yield re.sub(r"-?\n", "", name.value).removesuffix("(1000)")


@pytest.mark.parametrize("path", TABLES)
def test_each_column_of_a_table_is_in_the_glossary(path: str) -> None:
    shown = list(columns(path))
    assert len(shown) > 3
    assert not set(shown) - TERMS
