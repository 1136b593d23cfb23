"""The hash map's prediction uses only counters and latencies."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nearfar_studies import hashmap
from nearfar_studies.figures import published
from nearfar_studies.studies.thesis_hashmap import ThesisHashmap
from nearfar_studies.study import StudyInputs

THESIS = published("performance-thesis")


def test_a_size_calculated_by_hand() -> None:
    n = 2_000_000
    misses = (4.966 * n - 262902) * (0.055 * math.log(n) - 0.242)
    expected_s = (1589 * n / 2.0 + misses * (305 - 100)) * 1e-9
    seconds = hashmap.predicted_s(np.array([float(n)]), clock=2.0, dram_ns=100.0)
    assert float(seconds[0]) == pytest.approx(expected_s, rel=1e-12)


def test_negative_fits_are_zero_misses() -> None:
    small = hashmap.counters(np.array([50_000.0]))
    assert small.load_misses[0] == 0.0
    seconds = hashmap.predicted_s(np.array([50_000.0]), clock=2.0, dram_ns=100.0)
    assert float(seconds[0]) == pytest.approx(1589 * 50_000 / 2.0 * 1e-9)


def test_the_clock_converts_misses_to_stalls() -> None:
    n = np.array([3_000_000.0])
    seconds = hashmap.counters(n)
    clock = hashmap.clock_ghz(n, dram_ns=100.0)
    assert clock == pytest.approx(
        float(seconds.stalled_cycles[0] / (seconds.load_misses[0] * 100.0))
    )
    # Half the latency explains the same stalls with twice the clock, if that is possible.
    assert hashmap.clock_ghz(n, dram_ns=80.0) == pytest.approx(clock * 100 / 80)


def test_impossible_clocks_are_left_out() -> None:
    n = THESIS.columns("6.1")["n"]
    assert hashmap.implied_clocks_ghz(n, 100.0).max() <= hashmap.MAX_CLOCK_GHZ
    # 50,000 has no misses; 100,000 implies 7 GHz.
    assert len(hashmap.implied_clocks_ghz(n, 100.0)) == len(n) - 2


def test_no_time_on_persistent_memory_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ThesisHashmap().run(StudyInputs()).tables[0].rows
    rows = [[n, 2 * real, a, b] for n, real, a, b in THESIS.tables["6.1"]["rows"]]
    monkeypatch.setitem(THESIS.tables, "6.1", THESIS.tables["6.1"] | {"rows": rows})
    after = ThesisHashmap().run(StudyInputs()).tables[0].rows
    assert [r.ours for r in after] == [r.ours for r in before]
    assert [(r.low, r.high) for r in after] == [(r.low, r.high) for r in before]
    assert [r.published for r in after] == [2 * (r.published or 0.0) for r in before]


def test_the_error_is_below_its_bar() -> None:
    seconds = ThesisHashmap().run(StudyInputs()).tables[0]
    models = [seconds.errors[name].mean for name in ("its counters model", "its code model")]
    assert seconds.errors["ours"].mean < min(models)
