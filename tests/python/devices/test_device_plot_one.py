"""`nearfar device plot` of one device: its profile, samples and evidence."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from inferred import inferred_device

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode
from nearfar.documents import save
from nearfar.samples.evidence import Evidence
from nearfar.samples.parquet import write_parquet
from nearfar.samples.point import Sample, SamplePoint
from nearfar.samples.store import SampleStore, header


def _caption(capsys: pytest.CaptureFixture[str]) -> list[str]:
    caption: list[str] = json.loads(capsys.readouterr().out)["caption"]
    return caption


def test_a_library_device_is_drawn_completely(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "optane.png"
    assert main(["device", "plot", "optane-100-1dimm", "-o", str(path), "--json"]) == 0
    caption = _caption(capsys)
    assert "Idle read latency by region" in caption
    assert "Bandwidth by access size" in caption
    assert any("MICRO 2020" in line for line in caption)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_latency_beyond_all_memories_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["device", "show", "optane-100-6dimm", "--json"]) == 0
    device = json.loads(capsys.readouterr().out)
    device["loaded_latency"][0]["points"][0][1] = 1e308
    path = tmp_path / "device.json"
    path.write_text(json.dumps(device))
    assert main(["device", "plot", str(path), "-o", str(tmp_path / "x.png")]) == 2
    assert "loaded_latency[0].points[0][1]" in capsys.readouterr().err
    assert not (tmp_path / "x.png").exists()


def test_a_device_without_curves_is_drawn_by_its_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "line.png"
    assert main(["device", "plot", "xmem-far-600ns-5gb", "-o", str(path), "--json"]) == 0
    assert "A dashed line is a memory without a curve" in _caption(capsys)[0]
    assert path.read_bytes().startswith(b"\x89PNG")


def test_samples_and_evidence_next_to_a_profile_are_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device = inferred_device()
    assert device.measured is not None
    device.measured = msgspec.structs.replace(device.measured, samples_file="mine.parquet")
    save(device, tmp_path / "mine.json")
    command = ["device", "plot", str(tmp_path / "mine.json"), "--json", "-o"]
    assert main([*command, str(tmp_path / "without.png")]) == ExitCode.DONE
    assert any("mine.parquet do not exist" in line for line in _caption(capsys))
    x = np.array([1.0, 2.0, 4.0])
    evidence = Evidence("latency", "Where the buffer ends", "region (bytes)", "ns", x, x, x, x)
    with SampleStore.create(tmp_path / "s", header("dram", {})) as store:
        point = SamplePoint("persist", "persist-clwb", 4096, 4096, each=True)
        times = np.random.default_rng(0).lognormal(5, 1, 1000).astype(np.float32)
        store.append(point, Sample(1.0, each_ns=times))
        write_parquet(tmp_path / "mine.parquet", store.header, store.records(), {"knee": evidence})
    assert main([*command, str(tmp_path / "with.png")]) == ExitCode.DONE
    caption = _caption(capsys)
    assert "Where the buffer ends" in caption
    assert "Tails of writes persisted by store + clwb" in caption


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (["optane-100-1dimm", "--figures", "lateny"], "did you mean 'latency'"),
        (["optane-100-1dimm", "--figures", "splits"], "holds nothing to draw of the kind splits"),
        (["optane-100-1dimm", "xmem-near", "--figures", "latency"], "a picture of one device"),
        (["optane-100-1dimm", "--machine", "absent.json"], "cannot read machine-profile"),
        ([], "name at least one device"),
    ],
)
def test_undrawable_input_is_refused(
    arguments: list[str], refusal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.png"
    assert main(["device", "plot", *arguments, "-o", str(path)]) == ExitCode.WRONG_USE
    assert refusal in capsys.readouterr().err
    assert not path.exists()
