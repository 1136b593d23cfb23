"""The measured comparison of sets, from made-up runs: which slowdowns are calculated."""

from __future__ import annotations

import pytest

from nearfar_studies.intset_predicted import flushed, predicted
from nearfar_studies.intset_runs import (
    DISK,
    DRAM,
    NO_FLUSH,
    PUBLISHED,
    SAFE,
    STRUCTURES,
    SYNCED,
    UNLOGGED,
    VOLATILE,
    SetCase,
    SetPlan,
    SetRuns,
)
from nearfar_studies.studies.intset_measured import IntsetMeasured, compare

NS = {VOLATILE: 100.0, NO_FLUSH: 300.0, DRAM: 500.0, SYNCED: 800.0, DISK: 101_000.0}
COUNTS = {
    "transactions": 0.25,
    "snapshots": 0.25,
    "flush_calls": 2.0,
    "flushed_lines": 1.0,
    "copied_lines": 1.5,
    "fences": 2.5,
}
"""As counted of a list: a quarter of the operations change something."""


def runs(with_disk: bool = True) -> SetRuns:
    plan = SetPlan(sizes=(256, 512), repeats=2)
    runs = SetRuns(plan)
    for structure in STRUCTURES:
        for size in plan.sizes:
            for memory, ns in NS.items():
                runs.throughput[SetCase(structure, size, memory)] = [1e9 / ns] * 2
        for safety, share in ((UNLOGGED, 0.5), (PUBLISHED, 0.8)):
            cells = [(memory, size) for memory in (DRAM, SYNCED) for size in plan.sizes]
            for memory, size in (*cells, (DISK, 256)):
                case = SetCase(structure, size, memory, safety)
                runs.throughput[case] = [1e9 / (NS[memory] * share)] * 2
        for safety in (SAFE, UNLOGGED, PUBLISHED):
            case = SetCase(structure, 256, DRAM, safety)
            runs.counts[case], runs.changes[case] = dict(COUNTS), 0.25
    on_disk = {DISK: (50_200.0, 60_200.0)} if with_disk else {}
    runs.sync_ns = {SYNCED: (200.0, 200.0), **on_disk}
    if not with_disk:
        runs.lacking = "no disk"
    return runs


def test_slowdowns_are_relative_to_the_volatile_set_and_the_disk_rule_is_checked():
    result = compare(IntsetMeasured(), runs())
    pmem, ssd, between = result.tables
    assert [each.published for each in pmem.rows] == [3.2, 11.2, 4.7, 5.54]
    assert [each.published for each in ssd.rows] == [47.0, 274.8, 167.4, 129.3]
    for each in pmem.rows:
        assert each.rivals["in DRAM here"] == pytest.approx(5.0)
        assert each.rivals["no flushes"] == pytest.approx(3.0)
        assert each.rivals["their steps here"] == pytest.approx(4.0)
        # Optane's fences wait nanoseconds longer than DRAM's, not microseconds. The published
        # steps, four fifths of the safe set's time, are predicted.
        assert 4.0 <= (each.ours or 0.0) < 9.0
        assert 5.0 <= each.rivals["predicted, made safe"] < 10.0
    assert ssd.rows[0].rivals["this disk"] == pytest.approx(1010.0)
    # 640 ns with two syncs of 52 us each; between a drive's rate and a journal.
    first = ssd.rows[0]
    assert first.ours == pytest.approx((640.0 + 2 * 52_000.0) / 100.0, rel=0.01)
    assert (first.low or 0.0) == pytest.approx((640.0 + 2 * 4096 / 0.49) / 100.0, rel=0.1)
    assert (first.high or 0.0) >= (2 * 124_000.0) / 100.0
    assert between.rows[0].published == pytest.approx(47.0 / 3.2)
    assert between.rows[0].ours == pytest.approx((first.ours or 0.0) / (pmem.rows[0].ours or 1.0))
    disk = next(text for text in result.texts if "on this disk" in text.title)
    # 800 ns and two syncs of 50 to 60 us in addition.
    assert disk.rows[0][2:4] == ["101 to 121", "101"]
    hidden = next(text for text in result.texts if text.title.startswith("time without"))
    assert hidden.rows[1][2].startswith("0.50")
    assert hidden.rows[2][2].startswith("0.80")
    assert hidden.rows[0][4:] == ["1.0", "1.0", "8.0", "10.0"]


def test_a_machine_without_a_disk_reports_it_and_shows_the_rest():
    result = compare(IntsetMeasured(), runs(with_disk=False))
    assert "no disk" in result.tables[1].note
    assert result.tables[1].rows[0].ours is not None
    assert not any("on this disk" in text.title for text in result.texts)


def test_more_fences_than_flushed_ranges_wait_for_nothing():
    assert flushed(COUNTS).fences == pytest.approx(2.0e6)
    persisted = predicted(runs(), SetCase("list", 256, DRAM), "optane-200")
    assert persisted.low <= persisted.value <= persisted.high
    # FAST 2020 and PerMA-Bench: 65 ns a flushed line and fence in Optane, 57.3 in its DRAM.
    assert persisted.value == pytest.approx(500.0 + 2.0 * (65.0 - 57.3), abs=100.0)
