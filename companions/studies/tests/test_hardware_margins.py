"""Margins of intervals of programs in kind, and what leaving a group out says of them."""

from __future__ import annotations

from math import exp

import pytest

from nearfar_studies.hardware.cases import CasePrediction, MemoryCase
from nearfar_studies.hardware.margins import (
    IN_KIND_MARGIN,
    MEMORY_MODE_MARGIN,
    margin_of,
    margins_table,
    needed_margins,
)


def case(number: int, source: str, slowdown: float, placement: str = "all-far") -> MemoryCase:
    return MemoryCase(
        id=f"{source}-{number}",
        program=f"program of {source}",
        input="",
        threads="1",
        machine="m",
        near_memory="local DDR5",
        far_memory="remote DDR5",
        placement=placement,
        slowdown=slowdown,
        source=source,
    )


def predicted(of: MemoryCase, low: float, high: float) -> CasePrediction:
    """Return a prediction of 2 whose interval without its margin is `low` to `high`."""
    margin = margin_of(of)
    return CasePrediction(of.id, 2.0, low * exp(-margin), high * exp(margin), "best", "c", "")


def test_a_case_needs_its_distance_from_the_interval_without_its_margin():
    inside, outside = case(1, "a", 2.0), case(2, "a", 2.4)
    groups = needed_margins(
        [predicted(inside, 1.8, 2.2), predicted(outside, 1.8, 2.0)], [inside, outside]
    )
    assert groups == {"a": [pytest.approx(-0.0953, abs=1e-3), pytest.approx(0.1823, abs=1e-3)]}


def test_memory_mode_has_a_margin_of_its_own_and_groups_by_program():
    memory_mode = case(1, "a", 2.0, "Memory Mode")
    assert margin_of(memory_mode) == MEMORY_MODE_MARGIN != margin_of(case(1, "a", 2.0))
    assert margin_of(case(1, "a", 2.0)) == IN_KIND_MARGIN
    assert list(needed_margins([predicted(memory_mode, 1.8, 2.2)], [memory_mode])) == [
        "program of a"
    ]


def test_a_group_left_out_is_given_what_the_others_need():
    cases = [case(n, "a", 2.0) for n in range(4)] + [case(n, "b", 2.4) for n in range(4)]
    predictions = [predicted(each, 1.8, 2.2) for each in cases]
    table = margins_table(predictions, cases)
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["a"][2:4] == ["+0.087", "100%"]
    assert rows["b"][2:4] == ["-0.095", "0%"]


def test_suspect_and_refused_cases_do_not_count():
    of = case(1, "a", 2.0)
    refused = CasePrediction(of.id, None, None, None, "", "c", "no program in kind")
    assert needed_margins([refused], [of]) == {}
