"""The NVDIMM thesis' studies: no judged time reaches the prediction."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar_studies import in_situ
from nearfar_studies.figures import published
from nearfar_studies.nvdimm_device import curve
from nearfar_studies.studies.nvdimm_copies import NvdimmCopies, predicted
from nearfar_studies.studies.nvdimm_pipeline import NvdimmPipeline
from nearfar_studies.studies.nvdimm_stream import FITTED, NvdimmStream
from nearfar_studies.study import StudyInputs

THESIS = published("nvdimm-thesis")


def doubled(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """Double every figure of a table except its first column."""
    table = THESIS.tables[key]
    rows = [[row[0], *(2 * value for value in row[1:])] for row in table["rows"]]
    monkeypatch.setitem(THESIS.tables, key, table | {"rows": rows})


def test_copies_use_only_tables_4_and_5(monkeypatch: pytest.MonkeyPatch) -> None:
    before = NvdimmCopies().run(StudyInputs()).tables
    for key in THESIS.tables:
        if key not in ("4", "5"):
            doubled(monkeypatch, key)
    after = NvdimmCopies().run(StudyInputs()).tables
    assert [[r.ours for r in t.rows] for t in after] == [[r.ours for r in t.rows] for t in before]
    assert after[0].rows[0].published == pytest.approx(2 * (before[0].rows[0].published or 0.0))


def test_copies_alone_equal_the_stream_curve() -> None:
    threads, gb_per_s = curve("DRAM", "copy")
    (dram, other), _ = predicted("NVM->NVM", 0)
    assert other == 0.0
    assert dram == pytest.approx(float(gb_per_s[threads == 16][0]), rel=0.02)


def test_shared_channels_explain_what_independent_memories_do_not() -> None:
    for table in NvdimmCopies().run(StudyInputs()).tables:
        assert table.errors["ours"].mean < table.errors["memories independent"].mean / 2
        assert len(table.rows) == 15


def test_held_out_threads_are_not_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    before = NvdimmStream().run(StudyInputs()).tables
    for key in ("4", "5"):
        table = THESIS.tables[key]
        rows = [
            row if row[0] in FITTED else [row[0], *(1.05 * value for value in row[1:])]
            for row in table["rows"]
        ]
        monkeypatch.setitem(THESIS.tables, key, table | {"rows": rows})
    after = NvdimmStream().run(StudyInputs()).tables
    assert [[r.ours for r in t.rows] for t in after] == [[r.ours for r in t.rows] for t in before]


def test_held_out_threads_beat_the_plain_bound() -> None:
    for table in NvdimmStream().run(StudyInputs()).tables:
        assert table.errors["ours"].mean < table.errors["min(T b, best)"].mean
        assert all(row.judged is False for row in table.rows if row.note)


def test_no_time_of_the_simulation_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    before = NvdimmPipeline().run(StudyInputs()).tables[:-1]  # the last one checks the locks alone
    for key in THESIS.tables:
        if key not in ("4", "5"):
            doubled(monkeypatch, key)
    monkeypatch.setitem(
        THESIS.tables, "8", THESIS.tables["8"] | {"rows": published_rows("8", splits=True)}
    )
    after = NvdimmPipeline().run(StudyInputs()).tables[:-1]
    assert [[r.ours for r in t.rows] for t in after] == [[r.ours for r in t.rows] for t in before]


def published_rows(key: str, *, splits: bool) -> list[list[float]]:
    """Return table 8 with doubled times and its original splits."""
    assert splits
    return [[row[0], row[1] / 2, row[2] / 2, *row[3:]] for row in THESIS.tables[key]["rows"]]


def test_a_set_of_known_bytes_takes_its_time_at_full_capacity() -> None:
    law = in_situ.generate_scaling()
    many = in_situ.alone_s(in_situ.GENERATE_BYTES, law, 1e6)
    assert many == pytest.approx(in_situ.SETS * in_situ.GENERATE_BYTES / 1e9 / law.capacity)


def test_one_thread_generates_as_fast_as_it_adds() -> None:
    # Table 4, sum, one thread: 6652.3 MB/s, so 8 B every 1.2026 ns; one addition an edge.
    expected_s = 5000 * 127_952_004 * 8 / 6652.3e6
    table = in_situ.alone_s(in_situ.GENERATE_BYTES, in_situ.generate_scaling(), 1)
    assert table == pytest.approx(expected_s, rel=0.01)


def test_the_locks_alone_fit_the_total() -> None:
    whole = THESIS.columns("8")
    bound_by_consumer = whole["generate"] < 0.8 * (whole["transfer"] + whole["analyse"])
    for i in np.flatnonzero(bound_by_consumer):
        table = in_situ.locks_only(*(whole[k][i] for k in ("generate", "transfer", "analyse")))
        assert table.total == pytest.approx(whole["total"][i], rel=0.005)
        assert table.generate_idle == pytest.approx(whole["generate_idle"][i], rel=0.02)
