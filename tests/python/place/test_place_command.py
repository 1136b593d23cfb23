"""`nearfar place` from the command line: output, documents and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import samples

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode
from nearfar.documents import Plan, load, save


@pytest.fixture
def run(tmp_path: Path) -> list[str]:
    save(samples.workload(), tmp_path / "run.json")
    save(samples.device(), tmp_path / "near.json")
    return [
        "place",
        str(tmp_path / "run.json"),
        "--near",
        str(tmp_path / "near.json"),
        "--far",
        "optane-100-6dimm",
    ]


def test_all_bars_are_shown(run: list[str], capsys):
    assert main([*run, "--budget", "25%"]) == ExitCode.DONE
    shown = capsys.readouterr().out
    for name in ("all-near", "all-far", "page-interleaved", "hot-first", "greedy", "optimal"):
        assert name in shown
    assert "X-Mem" in shown


def test_json_and_the_written_document_are_the_same_plan(run: list[str], tmp_path, capsys):
    output = tmp_path / "plan.json"
    assert main([*run, "--budget", "1MiB", "--json", "-o", str(output)]) == ExitCode.DONE
    printed = json.loads(capsys.readouterr().out)
    written = load(output, Plan)
    assert printed == json.loads(msgspec.json.encode(written))
    assert written.budget_bytes == 1 << 20


def test_only_json_is_written_to_standard_output(tmp_path: Path, run: list[str], capfd):
    """The solver's native code prints its own lines on some problems of this size."""
    save(samples.workload(objects=10_000), tmp_path / "run.json")
    assert main([*run, "--budget", "1%", "--json"]) == ExitCode.DONE
    assert json.loads(capfd.readouterr().out)["kind"] == "plan"


def test_gb_and_gib_differ(run: list[str], capsys):
    budgets = []
    for text in ("2 GB", "2GiB"):
        assert main([*run, "--budget", text, "--json"]) == ExitCode.DONE
        budgets.append(json.loads(capsys.readouterr().out)["budget_bytes"])
    assert budgets == [2_000_000_000, 2_147_483_648]


@pytest.mark.parametrize(
    ("budget", "message"), [("0", "nothing stays near"), ("1TiB", "everything can stay near")]
)
def test_extreme_budgets_are_accepted_with_a_warning(
    run: list[str], budget: str, message: str, capsys
):
    assert main([*run, "--budget", budget, "--json"]) == ExitCode.DONE
    plan = json.loads(capsys.readouterr().out)
    assert any(message in caveat for caveat in plan["caveats"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--budget", "-5%"], "negative"),
        (["--budget=-2GiB"], "negative"),
        (["--budget", "2G"], "2GiB"),
        (["--budget", "nan"], "cannot read the budget"),
        (["--budget", "1GiB", "--near-price", "-1"], "prices"),
        (["--budget", "1GiB", "--optimiser", "all-near"], "only a bar"),
        ([], "--budget"),
    ],
)
def test_wrong_use_is_refused_in_one_sentence(
    run: list[str], change: list[str], message: str, tmp_path, capsys
):
    output = tmp_path / "plan.json"
    assert main([*run, *change, "-o", str(output)]) == ExitCode.WRONG_USE
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not output.exists()


def test_a_plan_is_exported_unchanged(run: list[str], tmp_path, capsys):
    """Options that would make another plan are refused."""
    made = tmp_path / "plan.json"
    assert main([*run, "--budget", "1GiB", "-o", str(made), "--quiet"]) == ExitCode.DONE
    export = ["place", str(made), "--export", "json"]
    assert main(export) == ExitCode.DONE
    capsys.readouterr()
    assert main([*export, "--budget", "3%", "--phase", "total"]) == ExitCode.WRONG_USE
    assert capsys.readouterr().err.strip().endswith("leave out --budget")


def test_the_interval_has_the_same_name_as_in_predict(run: list[str], capsys):
    assert main([*run, "--budget", "1GiB"]) == ExitCode.DONE
    assert "slowdown (90 %)" in capsys.readouterr().out


def test_given_prices_are_printed(run: list[str], capsys):
    assert main([*run, "--budget", "0", "--near-price", "3", "--json"]) == ExitCode.DONE
    prices = json.loads(capsys.readouterr().out)["prices"]
    assert prices["near_per_byte"] == 3.0
    assert prices["source"] == "given on the command line"
