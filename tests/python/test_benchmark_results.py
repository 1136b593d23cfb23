"""Results of benchmarks are kept by file; one file measured again leaves the others."""

from __future__ import annotations

import types
from collections.abc import Iterator
from math import isnan
from pathlib import Path

import msgspec
import pytest

from benchmarks import Row, __main__, make_row, results


def _row(name: str, value: float) -> Row:
    return make_row(name, value, "s", bar=2.0, peer="a clock", command="true")


@pytest.fixture
def two_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, float]:
    """Let two row files measure what the dictionary says; NaN fails after one row."""
    values = {"first": 1.0, "second": 1.5}

    def module(path: str) -> types.SimpleNamespace:
        name = path.rpartition(".")[2]

        def rows() -> Iterator[Row]:
            value = values[name]
            yield _row(name, 1.0 if isnan(value) else value)
            if isnan(value):
                raise RuntimeError("a probe died")

        return types.SimpleNamespace(rows=rows)

    files = [types.SimpleNamespace(name=name) for name in ("second", "first", "_shared")]
    monkeypatch.setattr(__main__.importlib, "import_module", module)
    monkeypatch.setattr(__main__.pkgutil, "iter_modules", lambda path: files)
    monkeypatch.setattr(results, "_commit", lambda: "abc")
    monkeypatch.chdir(tmp_path)
    return values


def _measured() -> dict[str, float]:
    written = msgspec.json.decode(Path("build/benchmarks.json").read_bytes())
    return {row["name"]: row["value"] for row in written["rows"]}


def test_a_run_goes_on_and_only_replaces_its_own_rows(
    two_files: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert __main__.main() == 0
    two_files |= {"first": 1.25, "second": 1.75}
    assert __main__.main() == 0
    assert _measured() == {"first": 1.0, "second": 1.5}
    monkeypatch.setenv("ONLY", "second")
    assert __main__.main() == 0
    assert _measured() == {"first": 1.0, "second": 1.75}
    monkeypatch.delenv("ONLY")
    monkeypatch.setattr(results, "_commit", lambda: "def")
    assert __main__.main() == 0
    assert _measured() == {"first": 1.25, "second": 1.75}


def test_a_row_that_fails_leaves_the_others(
    two_files: dict[str, float],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    two_files["first"] = float("nan")
    monkeypatch.setenv("RESULTS", "results.md")
    assert __main__.main() == 1
    assert _measured() == {"first": 1.0, "second": 1.5}
    assert "first: RuntimeError: a probe died" in capsys.readouterr().out
    assert "It ended early: RuntimeError: a probe died." in Path("results.md").read_text()
    two_files["first"] = 3.0
    assert __main__.main() == 1  # measured again, above its bar
    assert _measured()["first"] == 3.0


def test_an_unknown_name_is_refused(
    two_files: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONLY", "third")
    assert __main__.main() == 2
    assert not Path("build").exists()
