"""Parsing of budgets."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from nearfar.api import place
from nearfar.base.errors import NearfarError
from nearfar.base.units import parse_budget_bytes
from nearfar.place.budget import budget_remark

FOOTPRINT = 1000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("0%", 0),
        ("0B", 0),
        ("25%", 250),
        ("12.5 %", 125),
        ("100%", 1000),
        ("150%", 1500),
        ("2GiB", 2 << 30),
        ("2 GB", 2 * 10**9),
        ("1.5MiB", 3 << 19),
    ],
)
def test_is_read(text: str, expected: int):
    assert parse_budget_bytes(text, FOOTPRINT) == expected


@pytest.mark.parametrize(
    "text", ["-1GiB", "-5%", "2G", "5", "nan", "inf", "", "%", "1e3MB", "two GiB", "9" * 400 + "%"]
)
def test_is_refused_with_what_to_write(text: str):
    with pytest.raises(NearfarError, match="write"):
        parse_budget_bytes(text, FOOTPRINT)


def test_extreme_budgets_give_a_warning_and_ordinary_budgets_do_not():
    assert "nothing stays near" in (budget_remark(0, FOOTPRINT) or "")
    assert "everything can stay near" in (budget_remark(1000, FOOTPRINT) or "")
    assert budget_remark(999, FOOTPRINT) is None


def test_more_near_memory_never_makes_a_plan_slower():
    inputs = Path(__file__).parents[2] / "golden/inputs"
    last_ns = math.inf
    for percent in range(72, 97, 4):
        plan = place(
            profile=[inputs / "redis.json"], near=inputs / "near.json", far=["cxl-e3s-x8"],
            budget=f"{percent}%", details=False,
        )  # fmt: skip
        times = {bar.name: bar.time_ns.value for bar in plan.alternatives}
        time_ns = times.get("plan", times["optimal"])
        assert time_ns <= last_ns * (1 + 1e-9), percent
        last_ns = time_ns
