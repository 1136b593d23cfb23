"""The page of chosen constants names constants that exist, with their values."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `(\w+)` \| `([\w/.]+)` \| ([\d.]+) \|", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs" / "constants.md").read_text())


def constants(path: Path) -> dict[str, float]:
    """Return the numbers that a module assigns to names at its top level."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            for target in node.targets:
                if isinstance(target, ast.Name) and isinstance(node.value.value, int | float):
                    found[target.id] = float(node.value.value)
    return found


def test_there_are_rows():
    assert len(ROWS) >= 8


@pytest.mark.parametrize(("name", "file", "value"), ROWS, ids=[row[0] for row in ROWS])
def test_a_listed_constant_exists_with_its_value(name: str, file: str, value: str):
    assert constants(ROOT / file)[name] == float(value)
