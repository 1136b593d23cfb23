"""The thesis' uses of pmembench: which values are compared, without running anything."""

from __future__ import annotations

import pytest

from nearfar.base.estimate import Estimate
from nearfar.devices.library import load_device
from nearfar.documents.study import StudyResult
from nearfar_studies.studies import pmembench_tables as study


def result(scale: float = 1.0) -> StudyResult:
    gets = {
        n: study.TimedOperations(n * 100e-9, Estimate(n * 300e-9, 0.0, n * 1e-6))
        for n in study.SIZES
    }
    inserts = {
        size: study.TimedOperations(0.2, Estimate(0.3 * scale, 0.2, 0.4))
        for size in study.ELEMENTS_BYTES
    }
    of = study.PmembenchTables()
    return study.compare(of, gets, inserts, load_device("thesis-dram"))


def test_our_values_do_not_depend_on_the_published_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [row.ours for row in result().tables[0].rows]
    columns = study.THESIS.columns("6.1")
    changed = {**columns, "real": columns["real"] * 3}
    monkeypatch.setattr(type(study.THESIS), "columns", lambda _, key: changed)
    after = result().tables[0].rows
    assert [row.ours for row in after] == before
    assert after[0].published == pytest.approx(3 * 0.034)  # table 6.1: 50,000 gets


def test_statements_about_the_text_follow_the_figures() -> None:
    sentence = result().texts[0].rows[0][1]
    assert sentence == (
        "1.50 times for inserts, 3.00 for 1,000,000 gets (3.00 for 100,000): true here"
    )
    assert result(scale=4.0).texts[0].rows[0][1].endswith("not true here")
    share = result().texts[0].rows[1][1]
    assert share.startswith("95 % in DRAM: an insert takes 2000 ns, a get 100")
