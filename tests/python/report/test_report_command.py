"""The verb: its output, and one sentence for each bad input, with no partial files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import samples

from nearfar.__main__ import main
from nearfar.documents import WorkloadProfile, save

FAR = ("--far", "optane-100-6dimm")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    save(samples.workload(objects=6), tmp_path / "run.json")
    save(samples.device("near-dram"), tmp_path / "near.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, far: tuple[str, ...] = FAR) -> int:
    return main(["report", "run.json", "--near", "near.json", *far, *words])


def test_writes_one_page_and_reports_it(folder: Path, capsys: Any) -> None:
    assert run("-o", "report.html") == 0
    out = capsys.readouterr().out
    assert "store takes" in out
    assert "report.html" in out
    page = (folder / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "http" not in page.split("<style>")[0].lower().replace("http-equiv", "")


def test_json_is_the_pages_data(folder: Path, capsys: Any) -> None:
    assert run("-o", "report.html", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    page = (folder / "report.html").read_text()
    start = page.index('id="report-data">') + len('id="report-data">')
    assert json.loads(page[start : page.index("</script>", start)]) == data


def test_quiet_prints_nothing(folder: Path, capsys: Any) -> None:
    assert run("-o", "report.html", "--quiet") == 0
    assert capsys.readouterr().out == ""


def test_budget_and_phase_set_the_initial_page(folder: Path, capsys: Any) -> None:
    assert run("--budget", "2MiB", "--phase", "get", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["first_budget_bytes"] == 2 << 20
    assert data["first_phase"] == "get"
    assert {c["origin"] for c in data["choices"]} == {"10 %", "25 %", "50 %", "--budget 2MiB"}


def test_an_earlier_plan_is_shown(folder: Path, capsys: Any) -> None:
    place = ["place", "run.json", "--near", "near.json", *FAR, "--budget", "3MiB"]
    assert main([*place, "-o", "plan.json", "--quiet"]) == 0
    assert run("--plan", "plan.json", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    plan = json.loads((folder / "plan.json").read_text())
    shown = next(c for c in data["choices"] if c["origin"] == "plan.json")
    assert data["first_budget_bytes"] == shown["budget_bytes"] == 3 << 20
    near = {
        placed["object"]
        for placed in plan["placements"]
        if "near" in (placed["memory"], *(part["memory"] for part in placed["parts"]))
    }
    assert {data["objects"][n]["id"] for n in shown["near"]} == near


def test_memories_with_the_same_name_are_distinguished(folder: Path, capsys: Any) -> None:
    save(samples.device("near-dram", latency_ns=200.0), folder / "slower.json")
    far = ("--far", "near.json", "--far", "slower.json", "--device", "near.json")
    assert run("--json", far=far) == 0
    data = json.loads(capsys.readouterr().out)
    names = [memory["name"] for memory in data["memories"]]
    assert names == ["near-dram", "near-dram-2", "near-dram-3", "near-dram-4"]
    slow = {e["memory"]: e["slowdown"]["value"] for e in data["effects"] if e["phase"] == "total"}
    assert slow["near-dram-2"] == pytest.approx(1.0, abs=0.02)
    assert slow["near-dram-3"] > 1.1


def spoil_truncated(folder: Path) -> None:
    path = folder / "run.json"
    path.write_bytes(path.read_bytes()[:500])


def spoil_version(folder: Path) -> None:
    path = folder / "run.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 99', 1))


def spoil_missing(folder: Path) -> None:
    (folder / "run.json").unlink()


def spoil_kind(folder: Path) -> None:
    (folder / "run.json").write_text((folder / "near.json").read_text())


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (spoil_truncated, "not a whole JSON document"),
        (spoil_version, "version 99"),
        (spoil_missing, "cannot read workload-profile run.json"),
        (
            spoil_kind,
            "kind device-profile; a workload-profile is needed here, as `nearfar profile`",
        ),
    ],
)
def test_bad_profiles(
    folder: Path, capsys: Any, spoil: Callable[[Path], None], sentence: str
) -> None:
    spoil(folder)
    assert run("-o", "report.html") == 2
    refused(folder, capsys, sentence)


@pytest.mark.parametrize(
    ("words", "far", "expected"),
    [
        ((), FAR, ("nothing to write", 2)),
        (("-o", "no/such/report.html"), FAR, ("make the folder first", 3)),
        (("-o", "/proc/report.html"), FAR, ("choose another folder", 3)),
        (("-o", "."), FAR, ("it is a folder", 2)),
        (("-o", "report.html", "--phase", "set"), FAR, ("no phase 'set'", 2)),
        (("-o", "report.html", "--budget", "2G"), FAR, ("cannot read the budget '2G'", 2)),
        (("-o", "report.html", "--budget=-1MiB"), FAR, ("negative", 2)),
        (("-o", "report.html", "--plan", "none.json"), FAR, ("cannot read plan none.json", 2)),
        (("-o", "report.html", "--device", "optan"), FAR, ("no device 'optan'", 2)),
        (("-o", "report.html"), ("--far", "optane-100-6dim"), ("did you mean", 2)),
        (("-o", "report.html"), ("--far", "optane-200,cxl-e3s-x8"), ("--far A --far B", 2)),
    ],
)
def test_bad_words(
    folder: Path,
    capsys: Any,
    words: tuple[str, ...],
    far: tuple[str, ...],
    expected: tuple[str, int],
) -> None:
    sentence, code = expected
    assert run(*words, far=far) == code
    refused(folder, capsys, sentence)


def refused(folder: Path, capsys: Any, sentence: str) -> None:
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not (folder / "report.html").exists()
    assert not list(folder.glob(".report.html.*"))


def test_a_plan_for_another_memory_is_refused(folder: Path, capsys: Any) -> None:
    place = ["place", "run.json", "--near", "near.json", "--far", "nvdimm-n"]
    assert main([*place, "--budget", "25%", "-o", "plan.json", "--quiet"]) == 0
    assert run("--plan", "plan.json", "-o", "report.html") == 2
    refused(folder, capsys, "add --far nvdimm-n")


def test_a_plan_of_another_profile_is_refused(folder: Path, capsys: Any) -> None:
    place = ["place", "run.json", "--near", "near.json", *FAR]
    assert main([*place, "--budget", "25%", "-o", "plan.json", "--quiet"]) == 0
    other = samples.workload(objects=6)
    other.objects[2].name = "something else"
    save(other, folder / "run.json")
    assert run("--plan", "plan.json", "-o", "report.html") == 2
    refused(folder, capsys, "make it again from this profile")


def no_phases(profile: WorkloadProfile) -> None:
    profile.phases = []


def no_objects(profile: WorkloadProfile) -> None:
    profile.objects, profile.live = [], []
    for phase in profile.phases:
        phase.objects, phase.instructions = [], []


def nothing_at_all(profile: WorkloadProfile) -> None:
    no_objects(profile)
    no_phases(profile)
    profile.instructions = []


@pytest.mark.parametrize("take_away", [no_phases, no_objects, nothing_at_all])
def test_empty_profiles_make_an_accurate_page(
    folder: Path, capsys: Any, take_away: Callable[[WorkloadProfile], None]
) -> None:
    profile = samples.workload(objects=6)
    take_away(profile)
    save(profile, folder / "run.json")
    assert run("-o", "report.html") == 0
    assert "store" in (folder / "report.html").read_text()
