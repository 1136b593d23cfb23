"""Compares the verbs' documents with the accepted ones: no internal change alters a number."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))
from golden import cases, differences, expected_path, result  # noqa: E402

MAX_SHOWN = 20


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if case.get("long") else [])
        for name, case in cases().items()
    ],
)
def test_output_equals_the_accepted_output(name: str) -> None:
    expected = json.loads(expected_path(name).read_text())
    changes = list(differences(result(cases()[name]), expected))
    if changes:
        lines = "\n".join(changes[:MAX_SHOWN])
        pytest.fail(
            f"{name}: {len(changes)} differences\n{lines}\n"
            f"To accept the new output: .venv/bin/python tests/golden/accept.py {name}",
            pytrace=False,
        )


def test_every_expected_output_has_a_case() -> None:
    kept = {path.stem for path in (GOLDEN / "expected").glob("*.json")}
    assert kept == set(cases())
