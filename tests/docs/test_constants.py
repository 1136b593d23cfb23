"""The page of chosen constants names constants that exist, with their values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `(\w+)` \| `([\w/.]+)` \| ([\d.]+) \|", re.MULTILINE)
PAGE = (ROOT / "docs" / "constants.md").read_text()
ROWS = ROW.findall(PAGE)
NOT_PLAIN = ast.Call | ast.Lambda


def assignments(path: Path) -> Iterator[ast.Assign]:
    """Yield what a module assigns at its top level and in its classes."""
    for node in ast.parse(path.read_text()).body:
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, ast.Assign):
                yield each


def constants(path: Path) -> dict[str, float]:
    """Return the numbers that a module assigns to names."""
    result = {}
    for node in assignments(path):
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, int | float):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    result[target.id] = float(node.value.value)
    return result


def fractions(path: Path) -> Iterator[str]:
    """Yield the names to which a module assigns numbers that are not whole, or several numbers."""
    for node in assignments(path):
        parts = list(ast.walk(node.value))
        plain = not any(isinstance(part, NOT_PLAIN) for part in parts)
        if plain and any(isinstance(getattr(part, "value", None), float) for part in parts):
            for target in node.targets:
                yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name))


def test_there_are_rows():
    assert len(ROWS) >= 50


@pytest.mark.parametrize(("name", "file", "value"), ROWS, ids=[row[0] for row in ROWS])
def test_a_listed_constant_exists_with_its_value(name: str, file: str, value: str):
    assert constants(ROOT / file)[name] == float(value)


def test_each_fraction_of_a_prediction_is_on_the_page():
    named = set(re.findall(r"`(\w+)`", PAGE))
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "nearfar" / "predict").rglob("*.py"))
        for name in fractions(path)
        if name not in named
    ]
    assert not missing, (
        "say in docs/constants.md what these were chosen with, or that they are guesses: "
        + "; ".join(missing)
    )
