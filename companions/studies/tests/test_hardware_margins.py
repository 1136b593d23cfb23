"""Intervals of stand-in programs, and what leaving a group out says of them."""

from __future__ import annotations

from math import exp, log

import pytest

from nearfar.base.estimate import Estimate
from nearfar_studies.hardware.cases import CasePrediction, MemoryCase
from nearfar_studies.hardware.margins import (
    MEMORY_MODE_MARGIN,
    WIDTH_SHARE,
    interval_of,
    left_out_sentence,
    margins_table,
    needed,
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
    """Return a prediction of 2 to which the model gives an interval of `low` to `high`."""
    ends = interval_of(of, Estimate(2.0, low, high))
    return CasePrediction(of.id, 2.0, *ends, "best", "c", "")


def test_a_case_needs_the_share_of_the_width_that_reaches_it() -> None:
    above, below = case(1, "a", 2.2), case(2, "a", 1.9)
    assert needed(predicted(above, 1.8, 2.6), above) == pytest.approx(log(1.1) / log(1.3))
    assert needed(predicted(below, 1.0, 2.6), below) == pytest.approx(log(2.0 / 1.9) / log(2.0))


def test_memory_mode_keeps_its_width_and_has_a_margin() -> None:
    of = case(1, "a", 2.2, "Memory Mode")
    each = predicted(of, 1.8, 2.0)
    assert each.low == pytest.approx(1.8 * exp(-MEMORY_MODE_MARGIN))
    assert needed(each, of) == pytest.approx(log(1.1))
    direct = predicted(case(1, "a", 2.2), 1.8, 2.5)
    assert direct.low == pytest.approx(2.0 * 0.9**WIDTH_SHARE)


def test_a_group_left_out_is_given_what_the_others_need() -> None:
    cases = [case(n, "a", 2.0) for n in range(4)] + [case(n, "b", 2.4) for n in range(4)]
    table = margins_table([predicted(each, 1.8, 2.6) for each in cases], cases)
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["a"][2:5] == ["0.00", f"{log(1.2) / log(1.3):.2f}", "100%"]
    assert rows["b"][3:5] == ["0.00", "0%"]


def test_the_sentence_counts_what_groups_hold_by_the_widths_of_others() -> None:
    cases = [case(n, "a", 2.0) for n in range(6)] + [case(n, "b", 2.4) for n in range(2)]
    predictions = [predicted(each, 1.8, 2.6) for each in cases]
    sentence = left_out_sentence(predictions, cases)
    assert sentence is not None
    assert "50% of a source's cases are inside the intervals (mean of 2 sources)" in sentence
    assert sentence.endswith("and 75% of all 8 cases")
    assert left_out_sentence(predictions[:6], cases[:6]) is None


def test_suspect_and_refused_cases_do_not_count() -> None:
    of = case(1, "a", 2.0)
    refused = CasePrediction(of.id, None, None, None, "", "c", "no stand-in program")
    assert needed(refused, of) is None
    assert margins_table([refused], [of]).rows == []
