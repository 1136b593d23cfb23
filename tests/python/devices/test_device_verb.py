"""The verb `device` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import samples

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode
from nearfar.devices.library import device_names, paged_names
from nearfar.documents import save


def test_list_names_every_device_with_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", "list", "--json"]) == ExitCode.DONE
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == [*device_names(), *paged_names()]
    assert rows["optane-100-6dimm"]["idle_read_ns"] == 305.0
    assert rows["optane-100-6dimm"]["assumed"] == []
    assert "idle_read_ns" in rows["cxl-melody-a"]["assumed"]
    assert main(["device", "list", "--quiet"]) == ExitCode.DONE
    assert capsys.readouterr().out == ""


def test_list_shows_complete_names(capsys: pytest.CaptureFixture[str]) -> None:
    main(["device", "list"])
    shown = capsys.readouterr().out
    assert [name for name in (*device_names(), *paged_names()) if name not in shown] == []


def test_show_prints_figures_sources_and_editable_toml(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    main(["device", "show", "optane-100-6dimm"])
    shown = capsys.readouterr().out
    assert "305" in shown
    assert "FAST 2020" in shown
    assert "ddr4-2666-cascade-lake" in shown
    main(["device", "show", "optane-100-6dimm", "--toml"])
    copy = tmp_path / "mine.toml"
    copy.write_text(capsys.readouterr().out)
    main(["device", "show", str(copy), "--json"])
    mine = json.loads(capsys.readouterr().out)
    main(["device", "show", "optane-100-6dimm", "--json"])
    theirs = json.loads(capsys.readouterr().out)
    assert mine | {"producer": None} == theirs | {"producer": None}


def test_compare_prints_ratios_of_the_second_to_the_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["device", "compare", "xmem-near", "xmem-far-600ns-5gb", "--json"])
    answer = json.loads(capsys.readouterr().out)
    ratios = {row["quantity"]: row["ratio"] for row in answer["rows"]}
    assert ratios["idle random read"] == 4.0
    assert ratios["read bandwidth"] == 0.125
    main(["device", "compare", "xmem-near", "xmem-far-600ns-5gb"])
    assert "4.00x" in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_plot_draws_and_cites_all_devices(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"curves.{ending}"
    names = ["ddr4-2666-local", "xmem-far-300ns-10gb", "optane-100-6dimm"]
    assert main(["device", "plot", *names, "-o", str(path), "--json"]) == ExitCode.DONE
    caption = json.loads(capsys.readouterr().out)["caption"]
    assert [line.split(",")[0].split(" ")[0] for line in caption[1:]] == names
    assert "MICRO 2024" in caption[1]
    assert "FAST 2020" in caption[3]
    first = path.read_bytes()
    assert first.startswith(b"\x89PNG" if ending == "png" else b"<?xml")
    main(["device", "plot", *names, "-o", str(path), "--quiet"])
    assert path.read_bytes() == first, "the same devices must give the same file"


def test_import_shows_anomalies_and_the_device_is_usable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    csv = tmp_path / "curve.csv"
    csv.write_text("bandwidth_gb_per_s,latency_ns\n0,100\n10,120\n11,110\n20,300\n18,400\n")
    out = tmp_path / "mine.toml"
    command = ["device", "import", str(csv), "-o", str(out), "--name", "mine", "--title", "my own"]
    command += ["--source", "my bench", "--technology", "cxl", "--read-share", "1"]
    assert main(command) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "dip at 11 GB/s" in shown
    assert "folds back past 20 GB/s" in shown
    assert main(["device", "compare", "xmem-near", str(out)]) == ExitCode.DONE


def test_a_plain_curve_is_imported_and_used_for_a_prediction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("curve.csv").write_text("bandwidth_gb_per_s,latency_ns\n1,300\n5,310\n10,350\n")
    assert main(["device", "import", "curve.csv"]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "wrote curve.toml: 1 curve\n" in shown
    assert "all rows are assumed to be 100% reads (--read-share)" in shown
    assert "(--source), what kind of memory it is (--technology)" in shown
    assert main(["device", "import", "curve.csv"]) == ExitCode.WRONG_USE
    assert "exists already" in capsys.readouterr().err
    save(samples.workload(), Path("run.json"))
    save(samples.device(), Path("near.json"))
    predict = ["predict", "run.json", "--near", "near.json", "--far", "curve.toml", "--json"]
    assert main(predict) == ExitCode.DONE
    (device,) = json.loads(capsys.readouterr().out)["devices"]
    assert device["total"]["slowdown"]["value"] > 1
    assert any("stands in for sequential nt-store" in caveat for caveat in device["caveats"])


def test_import_takes_the_dram_of_its_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("curve.csv").write_text("bandwidth_gb_per_s,latency_ns\n1,300\n5,310\n")
    command = ["device", "import", "curve.csv", "--host-dram"]
    assert main([*command, "ddr4-2666-locl"]) == ExitCode.WRONG_USE
    assert "ddr4-2666-local" in capsys.readouterr().err
    assert main([*command, "ddr4-2666-local", "--json"]) == ExitCode.DONE
    assert json.loads(capsys.readouterr().out)["host_dram"] == "ddr4-2666-local"


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (["show", "optane"], 2, "did you mean"),
        (["show", "/nowhere/x.toml"], 2, "cannot read"),
        (["plot", "-o", "x.png"], 2, "at least one device"),
        (["plot", "xmem-near", "-o", "/nowhere/x.png"], 3, "mkdir -p"),
        (["plot", "xmem-near", "-o", "curves.bmp"], 2, ".png"),
        (["plot", "xmem-near", "-o", "x.png", "--read-share", "50"], 2, "between 0 and 1"),
        (["import", "/nowhere/x.csv", "-o", "x.toml"], 2, "cannot read"),
    ],
)
def test_mistakes_are_reported_in_one_sentence(
    command: list[str],
    code: int,
    message: str,
    *,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["device", *command]) == code
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [], "something half-written was left"
