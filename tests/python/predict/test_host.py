"""Conversion of latencies published on another machine to this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
import pytest
import samples

from nearfar.__main__ import main
from nearfar.api import place, predict
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.estimate import Estimate
from nearfar.devices import curves
from nearfar.devices.library import device_names, host_dram, load_device
from nearfar.documents import DeviceProfile, Prediction, load, save
from nearfar.documents.device import LoadedLatencyCurve
from nearfar.documents.prediction import HostRule
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.interval import FarEstimate, far_estimate
from nearfar.predict.model import MODELS
from nearfar.predict.traffic import CHASE, COLUMNS, PhaseTraffic

RULES: tuple[HostRule, ...] = get_args(HostRule)
WITH_HOST = [name for name in device_names() if load_device(name).host_dram is not None]

HERE_NS = 164.0
REMOTE_NS, LOCAL_NS = 160.846, 91.925
"""Mess, Skylake: DDR4-2666 of the other socket and of the own."""

ON_PAPER: dict[HostRule, float] = {
    "added": (HERE_NS + REMOTE_NS - LOCAL_NS) / HERE_NS,
    "published": REMOTE_NS / HERE_NS,
    "ratio": REMOTE_NS / LOCAL_NS,
}


def measured(latency_ns: float = HERE_NS) -> DeviceProfile:
    """Return a cloud machine's own DRAM."""
    context = samples.measured_here()
    return msgspec.structs.replace(
        samples.device("dram", latency_ns), technology="dram", measured=context
    )


def chase(near: DeviceProfile, far: str, host: HostRule) -> FarEstimate:
    """Return the time of a million serial misses that take all of near time."""
    # The figure is idle latency; the queueing of the chase's own lines is left out.
    device = msgspec.structs.replace(load_device(far), loaded_latency=[])
    near_side = near_memory(near)
    far_side = far_memory(device, near_side, host)
    lines = np.zeros((1, COLUMNS))
    lines[0, CHASE] = 1e6
    time = near_side.latency_ns * 1e6
    phase = PhaseTraffic("p", Estimate(time, time, time), 1.0, None, lines, 0.0)
    kind = MODELS.get("inversion")
    return far_estimate(kind, phase, near_side, far_side, kind(phase, near_side, far_side))


@pytest.mark.parametrize("rule", RULES)
def test_a_chase_over_the_other_socket_of_a_slow_machine(rule: HostRule):
    result = chase(measured(), "ddr4-2666-remote", rule)
    assert result.slowdown.value == pytest.approx(ON_PAPER[rule])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("far", ["ddr4-2666-remote", "optane-100-6dimm", "cxl-e3s-x8"])
def test_the_interval_contains_all_three_ways(rule: HostRule, far: str):
    result = chase(measured(), far, rule).slowdown
    ways = [chase(measured(), far, other).slowdown.value for other in RULES]
    assert ways[1] < ways[0] < ways[2]
    assert all(result.low <= way <= result.high for way in ways)


def test_the_interval_is_not_the_sum_of_all_worst_cases():
    """Upward: the errors of ratio, far figure and model add in quadrature."""
    result = chase(measured(), "ddr4-2666-remote", "added").slowdown
    far = far_memory(load_device("ddr4-2666-remote"), near_memory(measured()))
    errors = [
        ON_PAPER["ratio"] - result.value,
        far.latency_error * result.value,
        0.10 * (result.value - 1.0),
    ]
    assert max(errors) < result.high - result.value < 0.8 * sum(errors)


@pytest.mark.parametrize("far", WITH_HOST)
def test_on_the_host_itself_every_way_gives_the_published_latency(far: str):
    device = load_device(far)
    near = host_dram(device)
    assert near is not None
    results = [chase(near, far, rule) for rule in RULES]
    assert results[0] == results[1] == results[2]
    published = curves.idle_read_latency_ns(device).value_ns
    here = far_memory(device, near_memory(near), "added")
    assert here.latency_ns == published
    assert here.latency_range == (1.0, 1.0)
    assert not any("assumed to be" in caveat for caveat in here.caveats)


def test_between_library_machines_the_rule_is_the_same():
    """Skylake's other socket is taken to Sapphire Rapids with its own DRAM of 116.349 ns."""
    near = near_memory(load_device("ddr5-4800-local"))
    far = load_device("ddr4-2666-remote")
    assert far_memory(far, near).latency_ns == pytest.approx(116.349 + REMOTE_NS - LOCAL_NS)
    assert far_memory(far, near, "ratio").latency_ns == pytest.approx(
        116.349 * REMOTE_NS / LOCAL_NS
    )


def test_far_memory_as_near_is_no_local_dram():
    """With Optane as near memory, its machine's DRAM counts; if unknown, as published."""
    optane, remote = load_device("optane-100-6dimm"), load_device("ddr4-2666-remote")
    far = far_memory(remote, near_memory(optane))
    assert far.latency_ns == pytest.approx(REMOTE_NS + 101.5 - LOCAL_NS)
    unknown = msgspec.structs.replace(measured(300.0), technology="cxl")
    far = far_memory(remote, near_memory(unknown))
    assert (far.latency_ns, far.latency_from) == (REMOTE_NS, "published")
    assert any("not this machine's local DRAM" in caveat for caveat in far.caveats)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("far", WITH_HOST)
def test_a_slower_machine_never_has_faster_far_memory(rule: HostRule, far: str):
    device = load_device(far)
    results = [
        far_memory(device, near_memory(measured(ns)), rule).latency_ns
        for ns in (40.0, 90.0, 120.0, 164.0, 200.0)
    ]
    assert results == sorted(results)
    assert results[0] > 0


@pytest.mark.parametrize("rule", ["added", "ratio"])
def test_far_memory_that_is_slower_there_is_no_faster_here(rule: HostRule):
    for name in WITH_HOST:
        device = load_device(name)
        for ns in (40.0, 92.0, 164.0, 200.0):
            near = near_memory(measured(ns))
            assert far_memory(device, near, rule).latency_ns >= ns * (1 - 1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_a_higher_published_latency_is_a_higher_latency_here(rule: HostRule):
    base, near = load_device("ddr4-2666-remote"), near_memory(measured(40.0))
    results = []
    for ns in (30.0, 60.0, 91.0, 92.0, 120.0, 400.0):
        latency = [msgspec.structs.replace(base.latency[0], value_ns=ns)]
        device = msgspec.structs.replace(base, latency=latency)
        results.append(far_memory(device, near, rule).latency_ns)
    assert results == sorted(results)
    assert results[0] > 0


def test_parallel_misses_take_the_latency_here():
    near = near_memory(measured())
    far = far_memory(load_device("ddr4-2666-remote"), near)
    here = HERE_NS + REMOTE_NS - LOCAL_NS
    assert [far.cost_ns(k) for k in (1, 4, 8)] == pytest.approx([here, here / 4, here / 8])


def test_queueing_in_the_memory_does_not_grow_with_the_machines_path():
    """Full load has twice the idle latency there: the same number of ns is added here."""
    curve = LoadedLatencyCurve(
        how="published", source="mess", read_share=1.0, points=[(0.0, 160.0), (30.0, 320.0)]
    )
    device = msgspec.structs.replace(load_device("ddr4-2666-remote"), loaded_latency=[curve])
    far = far_memory(device, near_memory(measured()))
    load = far.loaded_latency(1.0)
    assert load is not None
    assert far.latency_ns * load.greatest == pytest.approx(far.latency_ns + REMOTE_NS)


def test_doubt_about_near_latency_is_not_counted_twice():
    noisy = measured()
    assert noisy.measured is not None
    noisy = msgspec.structs.replace(
        noisy, measured=msgspec.structs.replace(noisy.measured, noise_floor=0.2)
    )
    near = near_memory(noisy)
    assert near.quality.latency_floor == 0.2
    assert far_memory(load_device("ddr4-2666-remote"), near, "ratio").near_share == 1.0
    share = HERE_NS / (HERE_NS + REMOTE_NS - LOCAL_NS)
    far = far_memory(load_device("ddr4-2666-remote"), near)
    assert far.near_share == pytest.approx(share)
    assert far_memory(load_device("ddr4-2666-remote"), near, "published").near_share == 0.0


def test_measured_latencies_stay():
    far = msgspec.structs.replace(measured(300.0), name="far")
    for rule in RULES:
        result = far_memory(far, near_memory(measured()), rule)
        assert (result.latency_ns, result.latency_from) == (300.0, "measured")
        assert result.latency_range == (1.0, 1.0)


def test_a_memory_faster_than_near_is_reported():
    local = far_memory(load_device("ddr4-2666-local"), near_memory(measured()))
    assert (local.latency_ns, local.latency_from) == (LOCAL_NS, "published")
    assert any("the DRAM of another machine" in caveat for caveat in local.caveats)
    assert any("faster than near memory here (92 ns against 164 ns)" in c for c in local.caveats)
    remote = far_memory(load_device("ddr4-2666-remote"), near_memory(measured()), "published")
    assert not any("faster" in caveat for caveat in remote.caveats)


def test_an_nvdimm_on_its_own_channels_is_as_slow_as_near():
    result = far_memory(load_device("nvdimm-n"), near_memory(measured()))
    assert result.latency_ns == HERE_NS
    assert not any("faster" in caveat for caveat in result.caveats)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("added", "assumed to be 233 ns: local DRAM here plus what it adds to ddr4-2666-local"),
        ("published", "assumed to be 161 ns: as published"),
        ("ratio", "assumed to be 287 ns: in proportion to ddr4-2666-local"),
    ],
)
def test_prediction_and_plan_report_the_rule(rule: HostRule, message: str):
    workload, near, far = samples.workload(), measured(), load_device("ddr4-2666-remote")
    prediction = predict(profile=workload, near=near, far=[far], host=rule)
    (device,) = prediction.devices
    assert (prediction.host, device.latency_from) == (rule, rule)
    assert prediction.near_latency_ns == HERE_NS
    assert sum(message in caveat for caveat in device.caveats) == 1
    plan = place(profile=workload, near=near, far=far, budget="25%", host=rule)
    assert sum(message in caveat for caveat in plan.caveats) == 1
    all_far = next(bar for bar in plan.alternatives if bar.name == "all-far")
    assert all_far.slowdown.value == pytest.approx(device.total.slowdown.value)


def test_an_unknown_way_is_refused():
    near, far = measured(), load_device("ddr4-2666-remote")
    with pytest.raises(NearfarError, match='Choose from: "added"'):
        predict(profile=samples.workload(), near=near, far=[far], host="addd")  # type: ignore[arg-type]


@pytest.fixture
def run(tmp_path: Path) -> list[str]:
    save(samples.workload(), tmp_path / "run.json")
    save(measured(), tmp_path / "near.json")
    near = ["--near", str(tmp_path / "near.json"), "--far", "ddr4-2666-remote"]
    return [str(tmp_path / "run.json"), *near]


@pytest.mark.parametrize("rule", RULES)
def test_the_option_of_predict_place_and_report(run: list[str], rule: str, tmp_path, capsys):
    output = tmp_path / "out"
    assert main(["predict", *run, "--host", rule, "-q", "-o", str(output)]) == ExitCode.DONE
    predicted = load(output, Prediction).devices[0].total.slowdown.value
    assert main(["place", *run, "--host", rule, "--budget", "0", "--json"]) == ExitCode.DONE
    bars = json.loads(capsys.readouterr().out)["alternatives"]
    placed = next(bar["slowdown"]["value"] for bar in bars if bar["name"] == "all-far")
    assert main(["report", *run, "--host", rule, "--json"]) == ExitCode.DONE
    shown = json.loads(capsys.readouterr().out)["memories"]
    assert placed == pytest.approx(predicted)
    assert "ddr4-2666-remote" in json.dumps(shown)


def test_the_default_is_added(run: list[str], capsys):
    results = []
    for arguments in ([], ["--host", "added"], ["--host", "published"]):
        assert main(["predict", *run, *arguments, "--json"]) == ExitCode.DONE
        results.append(json.loads(capsys.readouterr().out)["devices"][0]["total"]["slowdown"])
    assert results[0] == results[1] != results[2]


@pytest.mark.parametrize("rule", ["add", "absolute"])
def test_another_word_is_wrong_use(run: list[str], rule: str, capsys):
    assert main(["predict", *run, "--host", rule]) == ExitCode.WRONG_USE
    out, err = capsys.readouterr()
    assert out == ""
    assert "--host" in err
    assert len(err.strip().splitlines()) == 1


def test_the_overview_explains_how_latencies_were_converted(run: list[str], capsys):
    assert main(["predict", *run[:-1], "all"]) == ExitCode.DONE
    shown = capsys.readouterr().out
    rows = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert "near+69" in rows["ddr4-2666-remote"]
    assert shown.index("faster than near:") < shown.index("ddr4-2666-local ")
    assert all(name in shown for name in device_names())
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert "..." not in shown
    assert "…" not in shown
