"""Counters of measured programs: the error bars, and independence of the measured times."""

from __future__ import annotations

import copy

from nearfar_studies import profet
from nearfar_studies.study import STUDIES, StudyInputs


def test_the_bars_hold_and_rivals_are_far_off() -> None:
    result = STUDIES.get("profet-counters")().run(StudyInputs())
    rows = [row for compared in result.tables for row in compared.rows]
    inside = sum((row.low or 0.0) <= (row.published or 0.0) <= (row.high or 0.0) for row in rows)
    assert 0.85 <= inside / len(rows) <= 0.95
    for direction, mean, most in (("fast to slow", 0.017, 0.12), ("slow to fast", 0.023, 0.25)):
        tables = [each for each in result.tables if each.title.endswith(direction)]
        errors = [abs(row.difference or 0.0) for each in tables for row in each.rows]
        null = [abs(1.0 / (row.published or 1.0) - 1.0) for each in tables for row in each.rows]
        assert sum(errors) / len(errors) <= mean < sum(null) / len(null) / 2
        assert max(errors) <= most


def test_a_prediction_does_not_use_measured_far_times() -> None:
    """The far memory's counters and all measured times may have any values."""
    figures = profet.load()
    platform = "knights-landing"
    figures["runs"][platform] = {"gcc": figures["runs"][platform]["gcc"]}
    changed = copy.deepcopy(figures)
    runs = changed["runs"][platform]["gcc"]
    runs["ddr4"]["intervals"] = [[1.0, 1e3, 1.0, 1.0, 1.0]]
    for run in runs.values():
        run["measured_cpi"] *= 3.0
    before, after = (
        profet.cases(given, platform)["fast to slow"][0] for given in (figures, changed)
    )
    assert before.level == "mcdram to ddr4"
    assert after.interval == before.interval
    assert after.predicted == before.predicted
