"""Scores, pooling and the document of made-up results."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
import validation_results as made

from nearfar.base.errors import NearfarError
from nearfar.documents import ValidationReport, load, save
from nearfar.validate import store
from nearfar.validate.report import (
    as_json,
    between_sessions,
    floor_of,
    pooled,
    rank_correlation,
    score,
    scores,
)


def test_errors_are_of_time_and_skill_is_relative_to_null() -> None:
    results = [
        made.result("a", 2.0, {"one": 2.2, "null": 1.0}),
        made.result("b", 1.25, {"one": 1.0, "null": 1.0}),
    ]
    first, null = score(results, "one"), score(results, "null")
    assert first is not None
    assert null is not None
    assert first.mean_error == pytest.approx((0.1 + 0.2) / 2)
    assert first.max_error == pytest.approx(0.2)
    assert first.bias == pytest.approx((0.1 - 0.2) / 2)
    assert null.mean_error == pytest.approx((0.5 + 0.2) / 2)
    assert first.skill == pytest.approx(1 - 0.15 / 0.35)
    assert null.skill == 0.0
    assert first.rank == pytest.approx(1.0)
    assert null.rank is None


def test_a_model_is_judged_against_null_on_its_own_predictions() -> None:
    results = [made.result("a", 2.0, {"some": 2.0, "null": 1.0}), made.result("b", 9.0, {})]
    scored = score(results, "some")
    assert scored is not None
    assert (scored.results, scored.skill) == (1, 1.0)
    assert score(results, "absent") is None


def test_nothing_to_predict_is_no_skill() -> None:
    scored = score([made.result("a", 1.0, {"one": 1.1, "null": 1.0})], "one")
    assert scored is not None
    assert scored.skill is None


def test_intervals_of_every_kernel_come_from_the_others() -> None:
    results = made.several(12, error=0.04)
    scored = score(results, "good")
    assert scored is not None
    assert scored.coverage == 1.0  # all errors are equal
    mean = statistics.fmean(each.slowdown.value for each in results)
    assert scored.width == pytest.approx(2 * 0.04 * mean, rel=0.2)
    # One kernel is far off: the others' intervals do not cover it.
    results[5] = made.result("odd", 3.0, {"good": 1.5, "null": 1.0})
    scored = score(results, "good")
    assert scored is not None
    assert scored.coverage == pytest.approx(11 / 12)


def test_too_few_kernels_have_no_intervals() -> None:
    scored = score(made.several(9), "good")
    assert scored is not None
    assert (scored.coverage, scored.width) == (None, None)
    report = pooled([made.session()], made.several(9))
    assert any("need 10 kernels" in text for text in report.warnings)


def test_models_are_listed_by_accuracy() -> None:
    assert list(scores(made.several())) == ["good", "null"]


def test_rank_correlation_needs_two_values() -> None:
    assert rank_correlation([1.0, 1.0], [1.0, 2.0]) is None
    assert rank_correlation([1.0], [1.0]) is None
    assert rank_correlation([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]) == pytest.approx(-1.0)


def test_floors() -> None:
    results = [
        made.result("a", 2.0, {}, a_a=0.02),
        made.result("a", 2.2, {}, a_a=-0.04, of_session="two"),
    ]
    assert floor_of(results) == pytest.approx(0.03)
    assert between_sessions(results) == pytest.approx(0.1 / 2.1)
    assert between_sessions(results[:1]) is None


def test_different_kinds_of_far_memory_are_not_pooled() -> None:
    sessions = [made.session("one"), made.session("two", tier="pmem")]
    with pytest.raises(NearfarError, match="different kinds"):
        pooled(sessions, made.several())


def test_json_has_fractions_and_documented_keys() -> None:
    scored = as_json(pooled([made.session()], made.several()))
    assert set(scored) == {"kernels", "models", "floor"}
    assert set(scored["models"]["good"]) == {
        "mean_error",
        "max_error",
        "bias",
        "rank",
        "skill",
        "coverage",
        "width",
    }
    assert scored["models"]["good"]["mean_error"] == pytest.approx(0.04)
    assert scored["floor"] == pytest.approx(0.01)
    assert len(scored["kernels"]) == 12


def test_a_store_is_appended_to_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "store.jsonl"
    store.prepare_store(path)
    with pytest.raises(NearfarError, match="empty"):
        store.read_results([path])
    for each in made.several(3):
        store.append(path, made.session(), each)
    store.append(path, made.session("two"), made.result("x", 2.0, {}, of_session="two"))
    with path.open("ab") as file:
        file.write(b'{"version":1,"sess')  # killed while writing
    sessions, results = store.read_results([path])
    assert [session.id for session in sessions] == ["one", "two"]
    assert results[:3] == made.several(3)
    # A repeated session in a report counts once.
    report = tmp_path / "report.json"
    save(pooled([made.session()], made.several(3)), report)
    assert len(store.read_results([path, report])[1]) == 4
    assert load(report, ValidationReport).floor == pytest.approx(0.01)


def test_a_damaged_store_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "store.jsonl"
    store.append(path, made.session(), made.several(1)[0])
    with path.open("ab") as file:
        file.write(b'{"version":1,"nonsense":2}\n')
    with pytest.raises(NearfarError, match="line 2"):
        store.read_results([path])
