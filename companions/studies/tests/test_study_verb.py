"""The verb: output, files, skipped studies and refusals."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nearfar.__main__ import main
from nearfar.documents import Reproduction, load
from nearfar_studies.study import STUDIES, StudyInputs

QUICK = ["nvdimm-stream", "nvdimm-copies", "nvdimm-pipeline", "thesis-hashmap"]


@pytest.fixture(scope="module", autouse=True)
def run_once() -> Iterator[None]:
    """Run each of these studies once with the same inputs: tests look at ways to show a result."""
    with pytest.MonkeyPatch.context() as patch:
        for name in QUICK:
            study = STUDIES.get(name)
            patch.setattr(study, "run", _kept(study.run))
        yield


def _kept(run: Callable[[Any, StudyInputs], Any]) -> Callable[[Any, StudyInputs], Any]:
    results: dict[str, Any] = {}

    def kept(study: Any, inputs: StudyInputs) -> Any:
        if repr(inputs) not in results:
            results[repr(inputs)] = run(study, inputs)
        return copy.deepcopy(results[repr(inputs)])

    return kept


def test_list_names_every_study(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    printed = capsys.readouterr().out
    for name in STUDIES.names():
        assert name in printed
        assert STUDIES.get(name).title in printed
    assert main(["reproduce", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [study["name"] for study in listed] == STUDIES.names()


@pytest.mark.parametrize("name", QUICK)
def test_the_table_agrees_with_its_json(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    assert main(["reproduce", name, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["studies"][0]
    assert main(["reproduce", name]) == 0
    printed = capsys.readouterr().out
    lines = [line for line in printed.splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    rows = [row for table in result["tables"] for row in table["rows"]]
    assert len(cells) >= len(rows)
    for row, shown in zip(rows, cells, strict=False):
        assert shown[0] == row["what"]
        assert float(shown[1]) == pytest.approx(row["published"], rel=5e-4)
        assert float(shown[2]) == pytest.approx(row["ours"], rel=5e-4)
        if "difference" not in row:
            assert shown[3] == "-"
            continue
        shown_difference = float(shown[3].removesuffix(" %")) / 100
        assert shown_difference == pytest.approx(row["difference"], abs=6e-4)
    flat = " ".join(printed.split())
    for sentence in result["verdict"]:
        assert " ".join(sentence.split()) in flat


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_no_figure_is_truncated_at_any_terminal_width(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["reproduce", "thesis-hashmap"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.startswith("│") and line.count("│") > 4]
    assert rows
    assert not any("…" in row for row in rows)
    assert all(len(row) <= width for row in rows)
    # Every row includes its two models, or the errors below name them.
    assert sum("its code model" in " ".join(line.split()) for line in lines) >= 1


@pytest.mark.parametrize("name", QUICK)
def test_a_file_has_every_column(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    main(["reproduce", name])
    out = capsys.readouterr().out
    assert "wider terminal" not in out
    assert "…" not in out


@pytest.mark.parametrize("name", QUICK)
def test_errors_follow_from_the_rows(name: str) -> None:
    for result in STUDIES.get(name)().run(StudyInputs()).tables:
        judged = [row for row in result.rows if row.judged]
        assert judged
        for predictor, error in result.errors.items():
            signed = [
                ((row.ours if predictor == "ours" else row.rivals[predictor]) or 0.0)
                / (row.published or 1.0)
                - 1.0
                for row in judged
            ]
            assert error.rows == len(judged)
            assert error.bias == pytest.approx(sum(signed) / len(signed))
            assert error.mean == pytest.approx(sum(map(abs, signed)) / len(signed))
            assert error.max == pytest.approx(max(map(abs, signed)))


def test_a_study_without_its_inputs_is_skipped_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where no demo has left a profile
    assert main(["reproduce", "x-mem-curve", "--json"]) == 0
    study = json.loads(capsys.readouterr().out)["studies"][0]
    assert "make demo" in study["skipped"]
    assert "tables" not in study
    assert main(["reproduce", "x-mem-curve"]) == 0
    assert "skipped: " in capsys.readouterr().out


def test_it_writes_a_document_and_pictures(tmp_path: Path) -> None:
    output, pictures = tmp_path / "found.json", tmp_path / "pictures"
    names = ["thesis-hashmap", "nvdimm-copies"]
    arguments = ["reproduce", *names, "-q", "-o", str(output), "--plot", str(pictures)]
    assert main(arguments) == 0
    result = load(output, Reproduction)
    assert [study.name for study in result.studies] == names
    for study in result.studies:
        assert Path(study.picture).read_bytes().startswith(b"\x89PNG")
        assert Path(study.picture).parent == pictures


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name a study, or --all"),
        (["thesis-hashmap", "--all"], "not both"),
        (["thesis-hashmop"], "did you mean 'thesis-hashmap'"),
        (["x-mem-curve", "--profile", "nowhere.json"], "go together"),
        (["x-mem-curve", "--profile", "nowhere", "--near", "nowhere"], "no such file"),
        (["thesis-hashmap", "-o", "nowhere/found.json"], "make the folder first"),
    ],
)
def test_wrong_use_is_reported_in_one_sentence(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *arguments]) in (2, 3)
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert printed.out == ""
    assert list(tmp_path.iterdir()) == []
