"""`nearfar predict` from the command line: output, documents and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import samples

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode
from nearfar.documents import Prediction, load, save


@pytest.fixture
def run(tmp_path: Path) -> list[str]:
    save(samples.workload(), tmp_path / "run.json")
    save(samples.device(), tmp_path / "near.json")
    save(samples.device("slow", 300, 5, 3), tmp_path / "slow.json")
    return [
        "predict",
        str(tmp_path / "run.json"),
        "--near",
        str(tmp_path / "near.json"),
        "--far",
        str(tmp_path / "slow.json"),
    ]


def test_the_table_includes_the_naive_models(run: list[str], capsys):
    assert main(run) == ExitCode.DONE
    shown = capsys.readouterr().out
    for word in ("slowdown", "null", "misses", "load", "get", "total", "Caveats"):
        assert word in shown


def test_json_and_the_written_document_are_the_same_prediction(run: list[str], tmp_path, capsys):
    assert main([*run, "--json", "-o", str(tmp_path / "p.json")]) == ExitCode.DONE
    printed = json.loads(capsys.readouterr().out)
    written = load(tmp_path / "p.json", Prediction)
    assert printed == json.loads(msgspec.json.encode(written))
    assert [phase.phase for phase in written.devices[0].phases] == ["load", "get"]
    assert written.devices[0].total.phase == "total"


def test_quiet_prints_nothing(run: list[str], capsys):
    assert main([*run, "--quiet"]) == ExitCode.DONE
    assert capsys.readouterr() == ("", "")


def test_phase_restricts_phases_and_total(run: list[str], tmp_path, capsys):
    assert main([*run, "--phase", "get", "--json"]) == ExitCode.DONE
    device = json.loads(capsys.readouterr().out)["devices"][0]
    assert [phase["phase"] for phase in device["phases"]] == ["get"]
    assert device["total"]["far_time_ns"] == device["phases"][0]["far_time_ns"]


def test_several_devices_and_the_whole_library(run: list[str], capsys):
    from nearfar.devices.library import device_names

    assert main([*run, "--far", "optane-100-6dimm", "--json"]) == ExitCode.DONE
    devices = json.loads(capsys.readouterr().out)["devices"]
    assert [device["far"] for device in devices] == ["slow", "optane-100-6dimm"]
    assert main([*run[:-1], "all", "--json"]) == ExitCode.DONE
    devices = json.loads(capsys.readouterr().out)["devices"]
    assert [device["far"] for device in devices] == device_names()
    assert main([*run[:-1], "all"]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert all(name in shown for name in device_names())


def test_a_profile_of_another_processor_is_reported(tmp_path: Path, run: list[str], capsys):
    near = samples.device()

    near.measured = samples.measured_here()
    near.producer = msgspec.structs.replace(near.producer, cpu_model="Another 9000")
    save(near, tmp_path / "near.json")
    assert main([*run, "--json"]) == ExitCode.DONE
    caveats = json.loads(capsys.readouterr().out)["devices"][0]["caveats"]
    assert any("Another 9000" in caveat for caveat in caveats)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--phase", "gte"], "did you mean 'get'"),
        (["--model", "inverson"], "did you mean 'inversion'"),
        (["--pages", "5KiB"], "not a page size"),
        (["--pages", "4k"], "4k"),
        (["--far", "optane-100-6dim"], "did you mean 'optane-100-6dimm'"),
        (["--nosuch"], "nosuch"),
    ],
)
def test_wrong_use_is_refused_in_one_sentence(
    run: list[str], change: list[str], message: str, capsys
):
    assert main([*run, *change]) == ExitCode.WRONG_USE
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_a_device_without_the_needed_curve_is_refused(run: list[str], tmp_path: Path, capsys):
    slow = msgspec.structs.replace(samples.device("slow"), latency=[], loaded_latency=[])
    save(slow, tmp_path / "slow.json")
    output = tmp_path / "p.json"
    assert main([*run, "-o", str(output)]) == ExitCode.WRONG_USE
    assert "'slow' lacks an idle random read latency" in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize("damage", ["truncated", "version", "kind", "object", "negative"])
def test_a_damaged_profile_is_refused(run: list[str], tmp_path: Path, damage: str, capsys):
    path = tmp_path / "run.json"
    content = json.loads(path.read_text())
    if damage == "version":
        content["version"] = 99
    elif damage == "kind":
        content["kind"] = "plan"
    elif damage == "object":
        content["phases"][0]["objects"][0]["object"] = 10**6
    elif damage == "negative":
        content["phases"][0]["objects"][0]["traffic"]["write_backs"] = -1.0
    text = json.dumps(content)
    path.write_text(text[: len(text) // 2] if damage == "truncated" else text)
    assert main(run) == ExitCode.WRONG_USE
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_missing_folder_is_refused_before_the_work(run: list[str], tmp_path, capsys):
    assert main([*run, "-o", str(tmp_path / "no" / "p.json")]) == ExitCode.MACHINE_LACKS
    assert "mkdir -p" in capsys.readouterr().err


def test_a_profile_without_misses_is_predicted_as_unchanged(tmp_path: Path, run, capsys):
    workload = samples.workload()
    for phase in workload.phases:
        phase.objects = []
    save(workload, tmp_path / "run.json")
    assert main([*run, "--json"]) == ExitCode.DONE
    device = json.loads(capsys.readouterr().out)["devices"][0]
    assert device["total"]["slowdown"]["value"] == 1.0
    assert any("no cache misses" in caveat for caveat in device["caveats"])


def test_a_phase_without_time_causes_no_division_by_zero(tmp_path: Path, run, capsys):
    workload = samples.workload()
    workload.phases[0].near_cpu_time_ns = type(workload.phases[0].near_cpu_time_ns)(0, 0, 0)
    workload.phases[0].near_wall_time_ns = 0.0
    workload.phases[0].operations = 0.0
    save(workload, tmp_path / "run.json")
    assert main([*run, "--json"]) == ExitCode.DONE
    first = json.loads(capsys.readouterr().out)["devices"][0]["phases"][0]
    assert first["slowdown"]["value"] == 1.0
