"""Rows of benchmarks are judged only where a verdict tells something."""

from __future__ import annotations

from benchmarks.rows import compare, plans_measured


def test_few_pairs_of_plans_are_shown_but_not_judged() -> None:
    row = plans_measured.row_of(3, 5, 7)
    assert row.note == "too few pairs to judge: 7"
    assert row.bar == "none"
    assert row.holds
    assert plans_measured.row_of(0, 0, 0).value == 0.0
    assert plans_measured.row_of(7, 5, 8).holds
    assert not plans_measured.row_of(6, 8, 8).holds


def test_slowdowns_that_the_noise_hides_are_not_asked_for() -> None:
    hidden = compare.found_row(0.0, 59.0, 10.0)
    assert "the noise lets no test find them reliably" in hidden.note
    assert hidden.bar == "none"
    assert hidden.holds
    assert compare.found_row(80.0, 100.0, 90.0).holds
    assert not compare.found_row(79.0, 100.0, 90.0).holds
    assert not compare.found_row(47.0, 60.0, 50.0).holds
