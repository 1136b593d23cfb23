"""`nearfar place` with files of memories, several profiles and exports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import samples

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode
from nearfar.documents import save


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(samples.workload(), tmp_path / "run.json")
    save(samples.device(), tmp_path / "near.json")
    save(samples.device("cxl", 200.0, 8.0, 7.0), tmp_path / "cxl.json")
    (tmp_path / "machine.toml").write_text(
        '[near]\ndevice = "near.json"\ncapacity = "20MiB"\nprice = 4\nspec = "node:0"\n'
        '[[far]]\ndevice = "cxl.json"\ncapacity = "40MiB"\nprice = 2\nspec = "node:1"\n'
        '[[far]]\ndevice = "optane-100-6dimm"\nprice = 1\n'
    )
    return tmp_path


def test_a_file_of_memories_gives_all_inputs(folder: Path, capsys):
    run = ["place", str(folder / "run.json"), "--memories", str(folder / "machine.toml")]
    assert main([*run, "--json"]) == ExitCode.DONE
    plan = json.loads(capsys.readouterr().out)
    rows = [(m["name"], m["capacity_bytes"], m["price_per_byte"], m["spec"])
            for m in plan["memories"]]  # fmt: skip
    assert rows == [
        ("near", 20 << 20, 4.0, "node:0"),
        ("cxl", 40 << 20, 2.0, "node:1"),
        ("optane-100-6dimm", None, 1.0, ""),
    ]
    assert main(run) == ExitCode.DONE
    shown = capsys.readouterr().out
    for word in ("x-mem", "bandwidth-interleaved", "40.0 MiB", "write/read"):
        assert word in shown


def test_a_plan_is_exported_from_its_file(folder: Path, capsys):
    plan = folder / "plan.json"
    run = ["place", str(folder / "run.json"), "--near", str(folder / "near.json")]
    far = ["--far", f"{folder / 'cxl.json'}:64MiB", "--far", "optane-100-6dimm"]
    assert main([*run, *far, "--budget", "10%", "-o", str(plan), "--quiet"]) == ExitCode.DONE
    assert capsys.readouterr().out == ""
    assert main(["place", str(plan), "--export", "json", "--map", "near=node:3"]) == ExitCode.DONE
    assert json.loads(capsys.readouterr().out)["memories"]["near"]["where"] == "node:3"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a file that `nearfar profile` wrote"),
        (["run.json", "--budget", "25%"], "--far"),
        (["run.json", "--far", "cxl.json", "--budget", "25%"], "--near"),
        (["run.json", "--near", "near.json", "--far", "cxl.json:4", "--budget", "1%"], "--far cxl"),
        (["run.json", "--near", "near.json", "--far", "cxl.json:0B", "--budget", "1%"], "0 bytes"),
        (["run.json", "--memories", "machine.toml", "--far", "cxl.json"], "leave out --far"),
        (["run.json", "--memories", "run.json"], "no file of memories"),
        (["run.json", "--memories", "gone.toml"], "gone.toml"),
        (["run.json", "--memories", "machine.toml", "--export", "numctl"], "mean 'numactl'"),
        (["run.json", "--memories", "machine.toml", "--slo-by", "high"], "--slo"),
        (["run.json", "--memories", "machine.toml", "--over", "worst"], "several profiles"),
        (["run.json", "--memories", "machine.toml", "--map", "nea=node:1"], "did you mean 'near'"),
        (["run.json", "near.json", "--memories", "machine.toml"], "workload-profile"),
        (
            ["run.json", "--memories", "machine.toml", "--far-price", "1", "--far-price", "2",
             "--far-price", "3"],
            "3 prices for 2 far memories",
        ),
    ],
)  # fmt: skip
def test_wrong_use_is_refused_in_one_sentence(
    folder: Path, arguments: list[str], message: str, capsys, monkeypatch
):
    monkeypatch.chdir(folder)
    assert main(["place", *arguments]) == ExitCode.WRONG_USE
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[near]\ndevice = "near.json"\n', "far"),
        ("far = []\n", "no far memory"),
        ('[[far]]\ndevice = "cxl"\nsize = "1GiB"\n', "size"),
        ('[[far]]\ndevice = "cxl.json"\nprice = -1\n', "not 0 or more"),
        ('[[far]]\ndevice = "cxl.json"\ncapacity = "64"\n', "cannot read the size"),
        ("[[far", "no file of memories"),
    ],
)
def test_a_wrong_file_of_memories_is_refused_in_one_sentence(
    folder: Path, text: str, message: str, capsys
):
    (folder / "wrong.toml").write_text(text)
    wrong = ["place", str(folder / "run.json"), "--memories", str(folder / "wrong.toml")]
    assert main([*wrong, "--near", str(folder / "near.json"), "--budget", "1%"]) != ExitCode.DONE
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert len(err.strip().splitlines()) == 1
