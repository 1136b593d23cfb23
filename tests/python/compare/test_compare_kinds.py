"""Every kind of document can be compared; mistakes are reported in one sentence."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest
import samples
from forked import nearfar

from nearfar.__main__ import main
from nearfar.api import place, predict
from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.commands.compare import compare as verb
from nearfar.compare.api import compare
from nearfar.compare.kind import KINDS
from nearfar.compare.page import render
from nearfar.documents import Document, RunRecord, producer, save
from nearfar.documents.run_record import ObjectLanding
from nearfar.options.compare import CompareOptions


def saved(folder: Path, *documents: Document) -> list[Path]:
    paths = [folder / f"{name}.json" for name in "abcdefghij"[: len(documents)]]
    for path, document in zip(paths, documents, strict=True):
        save(document, path)
    return paths


def record(wall_ns: float) -> RunRecord:
    landing = ObjectLanding(
        object=0,
        name="table",
        planned={"near": 1.0},
        planned_bytes=1,
        recognised_bytes=1,
        bytes_by_memory={"near": 1},
        fallback_bytes=0,
        on_plan=1.0,
    )
    return RunRecord(
        producer=producer(["tests"]),
        plan="",
        policy="plan",
        command=["x"],
        executable="x",
        exit_status="exited 0",
        wall_time_ns=wall_ns,
        cpu_time_ns=wall_ns / 2,
        allocator="",
        memories=[],
        objects=[landing],
        pages_by_memory={"near": 4096},
        recognised_share_of_profile=None,
        recognised_share_of_heap=None,
        heap_bytes=0,
        out_of_sight_bytes=0,
        fallback_bytes=0,
        pictures=1,
        processes=1,
    )


def test_devices_predictions_and_plans_are_compared(tmp_path: Path) -> None:
    near, far = samples.device("near"), samples.device("far", 300.0)
    slower = samples.device("far", 330.0)
    paths = saved(tmp_path, far, slower)
    comparison = compare(*paths, limit=0.05)
    assert {change.name for change in comparison.changes if change.over_limit} >= {
        "read, random, load"
    }
    profile = samples.workload(5)
    paths = saved(
        tmp_path, *(predict(profile=profile, near=near, far=[device]) for device in (far, slower))
    )
    comparison = compare(*paths)
    total = next(change for change in comparison.changes if change.name == "far, total")
    assert (total.family, total.verdict) == ("slowdown", "worse")
    paths = saved(
        tmp_path,
        *(place(profile=profile, near=near, far=far, budget=budget) for budget in ("50%", "10%")),
    )
    comparison = compare(*paths)
    moved = [
        change
        for change in comparison.changes
        if change.family == "objects" and change.verdict == "changed"
    ]
    assert moved
    assert comparison.warnings
    page = render(comparison)
    assert page.count('<h3><span class="') == 2
    assert f"{tmp_path}/b.json" in page


def test_a_folder_of_runs_has_a_spread_and_a_single_run_has_none(tmp_path: Path) -> None:
    for name, factor in (("old", 1.0), ("new", 1.2)):
        (tmp_path / name).mkdir()
        saved(tmp_path / name, *(record(factor * (1e9 + 1e6 * i)) for i in range(8)))
    comparison = compare(tmp_path / "old", tmp_path / "new", limit=0.05)
    assert {change.name for change in comparison.changes if change.over_limit} == {"wall", "CPU"}
    single = compare(tmp_path / "old" / "a.json", tmp_path / "new" / "a.json", limit=0.05)
    assert single.failed == 0
    assert "nothing could be judged" in single.warnings[-1]
    with pytest.raises(CommandError, match="nothing was judged") as raised:
        verb(tmp_path / "old" / "a.json", tmp_path / "new" / "a.json", fail_over="5%", quiet=True)
    assert raised.value.exit_code == ExitCode.WRONG_USE


def test_the_verb_exits_with_1_and_writes_junit_and_a_page(tmp_path: Path) -> None:
    a, b = saved(tmp_path, samples.workload(4), samples.workload(4, seed=2))
    rows = {
        "producer": msgspec.to_builtins(producer(["x"])),
        "rows": [{"name": "n<", "value": 1, "unit": "s", "bar": "<= 1 s", "holds": True}],
    }
    words = ["--junit", tmp_path / "j.xml", "--html", tmp_path / "p.html", "--json"]
    ran = nearfar("compare", a, b, "--fail-over", "5%", *words)
    assert ran.returncode == 1, ran.stderr
    comparison = json.loads(ran.stdout)
    assert comparison["failed"] > 0
    suites = ET.parse(tmp_path / "j.xml").getroot()
    assert int(suites.get("failures", "")) == comparison["failed"]
    assert len(suites.findall(".//testcase/failure")) == comparison["failed"]
    assert "A is" not in (tmp_path / "p.html").read_text()
    for name, holds in (("one", True), ("two", False)):
        rows["rows"][0]["holds"] = holds  # type: ignore[index]
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    lost = compare(tmp_path / "one.json", tmp_path / "two.json", limit=0.5)
    assert [change.name for change in lost.changes if change.over_limit] == ["n<"]


def test_bad_input_is_refused_in_one_sentence(tmp_path: Path) -> None:
    a, b = saved(tmp_path, samples.workload(2), samples.device("x"))
    with pytest.raises(NearfarError, match="compare two documents of one kind"):
        compare(a, b)
    with pytest.raises(NearfarError, match="cannot read"):
        compare(a, tmp_path / "none.json")
    (tmp_path / "cut.json").write_text(a.read_text()[:100])
    with pytest.raises(NearfarError, match="not a whole JSON document"):
        compare(a, tmp_path / "cut.json")
    (tmp_path / "cut.json").unlink()
    with pytest.raises(NearfarError, match="documents of one kind: it contains"):
        compare(tmp_path, tmp_path)
    for text in ("5", "-1%", "x%"):
        with pytest.raises(NearfarError, match="write a percentage"):
            CompareOptions(a=tmp_path, b=tmp_path, fail_over=text)


def test_a_negative_limit_is_refused_as_a_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "a.json", "b.json", "--fail-over", "-5%"]) == 2
    assert "cannot read the limit '-5%'" in capsys.readouterr().err
    assert main(["fleet", "a", "--near", "n", "--far", "f", "--slo", "-1%", "--", "-2%"]) == 2
    assert "--slo -1% is no slowdown" in capsys.readouterr().err
    assert len(KINDS.names()) >= 8


def test_each_kind_of_figure_has_its_own_noise_floor():
    floors = {"latency": 0.4, "chains": 0.1, "bandwidth": 0.2, "bandwidth-threads": 0.8}
    context = msgspec.structs.replace(samples.measured_here(), noise_floors=floors)
    near = samples.device("dram")
    latency = msgspec.structs.replace(near.latency[0], low_ns=90.0, high_ns=90.0, value_ns=90.0)
    bandwidths = [
        msgspec.structs.replace(
            near.bandwidth[0], threads=threads, low_gb_per_s=12.0, high_gb_per_s=12.0
        )
        for threads in (1, 2)
    ]
    near = msgspec.structs.replace(
        near, measured=context, latency=[latency], bandwidth=bandwidths, chains=[]
    )
    values = KINDS.get("device-profile")().values([near])
    errors = [1.959964 * value.sigma / value.value for value in values]
    assert errors == pytest.approx([0.4, 0.2, 0.8], rel=1e-6)
