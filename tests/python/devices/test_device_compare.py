"""`nearfar device compare`: comparison with each other and with the closest in the library."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import msgspec
import pytest
import samples

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode
from nearfar.devices.closest import MISSING_DISTANCE, closest, compare_figures, figures_of
from nearfar.devices.library import device_names, load_device
from nearfar.devices.tables import half_load, rows
from nearfar.documents import DeviceProfile, save
from nearfar.documents.device import (
    BandwidthFigure,
    LatencyFigure,
    LoadedLatencyCurve,
)


def _measured_like(name: str, off: float, cores: float = 1.0) -> DeviceProfile:
    """Return a measured device whose figures are `off` times those of the library's `name`."""
    device = load_device(name)
    device.name = "mine"
    device.technology = "other"
    device.latency = [
        msgspec.structs.replace(each, value_ns=each.value_ns * off) for each in device.latency
    ]
    device.bandwidth = [
        msgspec.structs.replace(each, value_gb_per_s=each.value_gb_per_s / off * cores)
        for each in device.bandwidth
    ]
    device.loaded_latency = [
        msgspec.structs.replace(
            each, points=[(rate / off * cores, ns * off) for rate, ns in each.points]
        )
        for each in device.loaded_latency
    ]
    return device


def test_half_load_is_reported_only_near_half_load() -> None:
    curve = load_device("ddr5-4800-local").loaded_latency[0]
    whole = msgspec.structs.replace(curve, points=[(1, 100), (6, 150), (10, 400)])
    assert half_load(whole) == (6, 150)
    ends = msgspec.structs.replace(curve, points=[(0.2, 381), (2.4, 1789), (2.5, 1785)])
    assert half_load(ends) is None
    device = load_device("ddr5-4800-local")
    device.loaded_latency = [msgspec.structs.replace(ends, read_share=1.0)]
    (row,) = (row for row in rows(device) if row.quantity.endswith("half load, 100% reads"))
    assert row.value is None
    assert row.note == "no point of the curve is near half load"


@pytest.mark.parametrize(
    "name", ["optane-100-6dimm", "ddr5-4800-local", "cxl-expander-model", "lpddr5-grace"]
)
@pytest.mark.parametrize("off", [0.95, 1.08])
def test_a_memory_measured_slightly_off_is_recognised(name: str, off: float) -> None:
    nearest = closest(_measured_like(name, off))
    assert nearest[0].name == name
    assert nearest[0].distance == pytest.approx(abs(math.log(off)), rel=0.35)
    assert len(nearest) == 3
    assert [each.distance for each in nearest] == sorted(each.distance for each in nearest)


def test_fewer_loading_cores_do_not_change_the_kind_of_memory() -> None:
    nearest = closest(_measured_like("optane-100-6dimm", 1.0, cores=0.6))
    assert {load_device(each.name).technology for each in nearest[:1]} == {"pmem"}


def test_distance_is_symmetric_zero_to_itself_and_follows_its_formula() -> None:
    for each, two in itertools.combinations(device_names()[:12], 2):
        a, b = load_device(each), load_device(two)
        mine, theirs = figures_of(a), figures_of(b)
        both = set(mine) & set(theirs)
        mine = {key: mine[key] for key in both}
        theirs = {key: theirs[key] for key in both}
        there, back = compare_figures(mine, theirs, b), compare_figures(theirs, mine, a)
        assert (there is None) == (back is None)
        if there is not None and back is not None:
            assert there.distance == pytest.approx(back.distance)
    same = compare_figures(figures_of(a), figures_of(a), a)
    assert same is None or same.distance == 0
    mine = {"idle random read": (200.0, " ns"), "read bandwidth": (10.0, " GB/s")}
    theirs = {"idle random read": (100.0, " ns"), "read bandwidth": (40.0, " GB/s")}
    result = compare_figures(mine, theirs, a)
    assert result is not None
    expected = math.sqrt((math.log(2) ** 2 + 0.5 * math.log(4) ** 2) / 1.5)
    assert result.distance == pytest.approx(expected)
    mine["idle nt-store"] = (90.0, " ns")
    lacking = compare_figures(mine, theirs, a)
    assert lacking is not None
    squares = math.log(2) ** 2 + 0.5 * math.log(4) ** 2 + MISSING_DISTANCE**2
    assert lacking.distance == pytest.approx(math.sqrt(squares / 2.5))


def test_assumed_figures_and_mixed_traffic_do_not_count() -> None:
    device = samples.device()
    had = {"how": "assumed", "source": "here", "note": "a guess"}
    device.latency = [LatencyFigure(value_ns=1.0, **had)]
    device.bandwidth = [BandwidthFigure(value_gb_per_s=1.0, **had)]
    device.loaded_latency = [
        LoadedLatencyCurve(
            read_share=0.5, points=[(1, 1), (2, 2), (3, 4)], how="measured", source="here"
        )
    ]
    assert set(figures_of(device)) == {"granularity"}
    assert closest(device) == []


def test_a_single_device_is_shown_with_the_three_closest_and_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    path = tmp_path / "mine.json"
    save(_measured_like("ddr4-2666-local", 1.05), path)
    assert main(["device", "compare", str(path)]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "closest in the library: ddr4-2666-local (near in " in shown
    assert "distance 0.0" in shown
    assert shown.count("\nthen: ") == 2
    assert main(["device", "compare", str(path), "--json"]) == ExitCode.DONE
    answer = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in answer["closest"]] == answer["devices"][1:]
    assert answer["closest"][0]["name"] == "ddr4-2666-local"


def test_several_devices_are_compared_with_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["xmem-near", "xmem-far-300ns-5gb", "xmem-far-600ns-5gb"]
    assert main(["device", "compare", *names, "--json"]) == ExitCode.DONE
    answer = json.loads(capsys.readouterr().out)
    assert answer["devices"] == names
    rows = {row["quantity"]: row for row in answer["rows"]}
    assert rows["idle random read"]["ratios"] == [2.0, 4.0]
    assert main(["device", "compare", *names]) == ExitCode.DONE
    assert "over xmem-near" in capsys.readouterr().out


def test_too_few_figures_for_a_comparison_are_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device = samples.device()
    device.latency = device.latency[:1]
    device.bandwidth, device.loaded_latency = [], []
    save(device, tmp_path / "bare.json")
    assert main(["device", "compare", str(tmp_path / "bare.json")]) == ExitCode.WRONG_USE
    assert "too few figures to find its like" in capsys.readouterr().err
