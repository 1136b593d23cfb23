"""The page that compares every prediction with its measured value."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from nearfar.documents import Reproduction, producer
from nearfar.documents.study import StudyResult
from nearfar_studies.compare import row, table

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def accuracy() -> ModuleType:
    spec = importlib.util.spec_from_file_location("accuracy", ROOT / "scripts" / "accuracy.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def document() -> Reproduction:
    rows = [
        row("a", 1.0, 1.05, interval=(1.0, 1.1)),
        row("b", 2.0, 2.2, interval=(2.1, 2.3)),
        row("left out", 3.0, 9.0, judged=False),
    ]
    study = StudyResult(
        name="s", title="t", source="x", tables=[table("slowdowns", "here", "slowdown", rows)]
    )
    other = StudyResult(name="o", title="u", source="y", skipped="no compiler")
    return Reproduction(producer=producer(), studies=[study, other])


def test_the_summary_counts_judged_slowdowns_only(accuracy: ModuleType) -> None:
    sentence = accuracy.summary(accuracy.judged(document().studies[0]))
    assert sentence.startswith("2 slowdowns: mean error 7.5%, median 7.5%, 50% within 10 points")
    assert sentence.endswith("50% inside the 90 % intervals")


def test_the_page_has_every_row_and_lists_skipped_studies(accuracy: ModuleType) -> None:
    text = accuracy.page([document()])
    for words in ("| a | 1 | 1.05 |", "| left out | 3 | 9 |", "Not run: no compiler", "**2 slow"):
        assert words in text
    assert "- 1 more slowdowns are listed but not judged" in text


def test_rows_with_a_note_do_not_hide_the_error_of_the_others(accuracy: ModuleType) -> None:
    (study, _) = document().studies
    assert accuracy.mean_of(study) == "7.5% in 2 cases of `s`"
    study.tables[0].rows[0].note = "known there"
    assert accuracy.mean_of(study).startswith(
        "7.5% in 2 cases of `s` (10.0% without the case from whose run"
    )


def test_a_study_without_slowdowns_gets_a_section(
    accuracy: ModuleType,
) -> None:
    shares = table("shares", "there", "% of programs", [row("below 5 %", 43.0, 60.0)])
    study = StudyResult(name="p", title="first", source="z", tables=[shares])
    before = accuracy.page([document()])
    once = accuracy.with_section(before, study)
    assert once.startswith(before)
    assert "| below 5 % | 43 | 60 |" in once
    changed = accuracy.with_section(once, msgspec.structs.replace(study, title="second"))
    assert changed == once.replace("## p: first", "## p: second")
    other = msgspec.structs.replace(document().studies[0], title="new")
    assert accuracy.with_section(once, other) == once.replace("## s: t", "## s: new")


def test_other_studies_keep_their_sections_and_origins(accuracy: ModuleType) -> None:
    old = StudyResult(name="p", title="kept", source="z")
    (first, *_) = document().studies
    before = accuracy.page(
        [
            msgspec.structs.replace(document(), studies=[old], commit="0ld"),
            msgspec.structs.replace(document(), studies=[first], commit="0lder"),
        ]
    )
    changed = msgspec.structs.replace(first, title="made again")
    after = accuracy.page(
        [msgspec.structs.replace(document(), studies=[changed], commit="n3w")], before
    )
    assert "- `s`: models of n3w" in after
    assert "- `p`: models of 0ld" in after
    assert "0lder" not in after
    assert after.index("## s: made again") < after.index("## p: kept")
    assert after.count("\n## ") == 2


def test_the_readme_has_a_place_for_the_line(accuracy: ModuleType) -> None:
    assert accuracy.LINE.search((ROOT / "README.md").read_text())


def test_the_picture_is_drawn(accuracy: ModuleType, tmp_path: Path) -> None:
    accuracy.draw([document()], tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
