"""The script of examples/api runs, and the reference lists every option of every function."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from nearfar import api
from nearfar.api._call import ApiFunction
from nearfar.documents import Plan, Prediction, load
from nearfar.options.option import option_fields

REPOSITORY = Path(__file__).resolve().parents[3]


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_predicts_places_and_reports(tmp_path: Path, capsys) -> None:
    example = imported(REPOSITORY / "examples" / "api" / "near_budget.py")
    plan = example.main(example.KEPT, tmp_path)
    assert load(tmp_path / "plan.json", Plan) == plan
    prediction = load(tmp_path / "prediction.json", Prediction)
    assert [device.far for device in prediction.devices] == example.FAR
    assert "<html" in (tmp_path / "report.html").read_text()
    printed = capsys.readouterr().out
    assert "near memory of 25% holds:" in printed
    assert "cannot read the budget 'a quarter'" in printed


FUNCTIONS = [name for name in api.__all__ if isinstance(getattr(api, name), ApiFunction)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_reference_lists_every_function_and_option(name: str) -> None:
    text = imported(REPOSITORY / "docs" / "reference.py").python_api()
    _, _, section = text.partition(f"\n## {name}\n")
    section = section.partition("\n## ")[0]
    options = getattr(api, name).options
    for entry in option_fields(options):
        assert f"| `{entry.name}` | " in section
        assert entry.help, f"{options.__name__}.{entry.name} has no docstring"
