"""Bad input: missing, too short, negative, or outside of the fit; each is reported."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import samples

from nearfar.__main__ import main
from nearfar.api import predict
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.estimate import Estimate
from nearfar.documents import WorkloadProfile, save
from nearfar.documents.profiled_run import Extrapolated, Extrapolation
from nearfar.predict.model import MODELS

NEAR, FAR = samples.device(), samples.device("far", 300.0, 5.0, 3.0)


def width(estimate: Estimate) -> float:
    return estimate.high - estimate.low


def verb(folder: Path, workload: WorkloadProfile, *options: str) -> int:
    save(workload, folder / "run.json")
    save(NEAR, folder / "near.json")
    save(FAR, folder / "far.json")
    near_and_far = ["--near", str(folder / "near.json"), "--far", str(folder / "far.json")]
    try:
        return int(main(["predict", str(folder / "run.json"), *near_and_far, *options]) or 0)
    except SystemExit as end:
        return int(end.code or 0)


def test_models_that_lack_an_input_name_it_and_the_others_continue(tmp_path: Path, capsys):
    assert verb(tmp_path, samples.workload(), "--models", "all", "--json") == ExitCode.DONE
    device = json.loads(capsys.readouterr().out)["devices"][0]
    shown = {each["model"] for each in device["total"]["models"]}
    lacking = set(MODELS.names()) - shown - {"best"}
    assert lacking == {"memory-mode", "persist", "stalls", "window"}
    for name in lacking:
        assert any(caveat.startswith(name) for caveat in device["caveats"])


@pytest.mark.parametrize("name", ["memory-mode", "persist", "stalls", "window"])
def test_a_requested_model_that_lacks_an_input_is_refused(name: str, tmp_path: Path, capsys):
    assert verb(tmp_path, samples.workload(), "--model", name) == ExitCode.WRONG_USE
    assert f"nearfar: {name}" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "name", [n for n in MODELS.names() if n not in ("memory-mode", "persist", "stalls", "window")]
)
def test_every_model_gives_value_interval_bound_and_caveats(name: str):
    device = predict(profile=samples.workload(), near=NEAR, far=[FAR], model=name).devices[0]
    total = device.total
    assert total.slowdown.low <= total.slowdown.value <= total.slowdown.high
    if name != "null":
        assert width(total.slowdown) > 0.05 * (total.slowdown.value - 1.0)
        assert total.slowdown.value > 1.0
    assert total.bound in ("compute", "latency", "bandwidth")
    assert device.caveats


def test_a_chains_curve_that_ends_too_early_is_reported_and_widens_the_interval():
    workload = samples.workload(objects=6)
    for phase in workload.phases:
        for row in phase.objects:
            lines = row.traffic.misses()
            row.traffic.read_misses = type(row.traffic.read_misses)(indirect=lines)
        # The time is so short that ten misses must have been in flight.
        lines = sum(row.traffic.misses() for row in phase.objects)
        phase.near_cpu_time_ns = Estimate(*(lines * 10.0 * end for end in (1.0, 0.99, 1.01)))
    short = msgspec.structs.replace(FAR, chains=FAR.chains[:3])
    cut, whole = predict(profile=workload, near=NEAR, far=[short, FAR]).devices
    assert any("chains curve covers: extrapolated" in caveat for caveat in cut.caveats)
    assert not any("extrapolated" in caveat for caveat in whole.caveats)
    added = [each.total.slowdown.value - 1.0 for each in (cut, whole)]
    assert width(cut.total.slowdown) / added[0] > 1.5 * width(whole.total.slowdown) / added[1]


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (Estimate(-1.0, -1.0, -1.0), "expected a number of at least 0"),
        (Estimate(float("nan"), 0.0, 1.0), "expected a number of at least 0"),
        (Estimate(1e9, -5.0, 2e9), "expected a number of at least 0"),
    ],
)
def test_negative_times_are_refused(time: Estimate, message: str, tmp_path: Path, capsys):
    workload = samples.workload()
    workload.phases[0].near_cpu_time_ns = time
    with pytest.raises(NearfarError, match=message):
        predict(profile=workload, near=NEAR, far=[FAR])
    if time.value != time.value:  # JSON has no such number
        return
    assert verb(tmp_path, workload, "-o", str(tmp_path / "p.json")) == ExitCode.WRONG_USE
    assert "near_cpu_time_ns must be at least 0" in capsys.readouterr().err
    assert not (tmp_path / "p.json").exists()


def test_a_time_of_zero_is_reported_and_predicts_nothing(tmp_path: Path, capsys):
    workload = samples.workload()
    workload.phases[0].near_cpu_time_ns = Estimate(0.0, 0.0, 0.0)
    assert verb(tmp_path, workload, "--json") == ExitCode.DONE
    device = json.loads(capsys.readouterr().out)["devices"][0]
    assert any("near time of load is 0" in caveat for caveat in device["caveats"])
    assert device["phases"][0]["slowdown"]["value"] == 1.0
    assert device["phases"][1]["slowdown"]["value"] > 1.0


def test_a_device_with_a_latency_of_zero_is_refused(tmp_path: Path, capsys):
    assert verb(tmp_path, samples.workload()) == ExitCode.DONE
    capsys.readouterr()
    far = json.loads((tmp_path / "far.json").read_text())
    far["latency"][0]["value_ns"] = 0.0
    (tmp_path / "zero.json").write_text(json.dumps(far))
    run, near = str(tmp_path / "run.json"), str(tmp_path / "near.json")
    command = ["predict", run, "--near", near, "--far", str(tmp_path / "zero.json")]
    assert main(command) == ExitCode.WRONG_USE
    assert "positive" in capsys.readouterr().err


def extrapolated(half: float) -> WorkloadProfile:
    """Return a profile of a size that was not run, with misses known within a share `half`."""
    workload = samples.workload()
    quantities = [
        Extrapolated(
            quantity="misses",
            phase=phase.name,
            object=row.object,
            law="n",
            held_out_error=half,
            estimate=Estimate(lines, lines * (1 - half), lines * (1 + 2 * half)),
        )
        for phase in workload.phases
        for row in phase.objects
        for lines in [row.traffic.misses()]
    ]
    about = Extrapolation(
        parameter="n", target=1e6, sizes=[1e4, 1e5], profiles=["a", "b"], quantities=quantities
    )
    return msgspec.structs.replace(workload, extrapolation=about)


def test_an_extrapolated_profiles_uncertainty_widens_its_prediction():
    widths = []
    for half in (0.0, 0.2, 0.4):
        device = predict(profile=extrapolated(half), near=NEAR, far=[FAR]).devices[0]
        widths.append(width(device.total.slowdown))
        assert any("n=1e+06 was not run" in caveat for caveat in device.caveats)
    assert widths[0] < widths[1] < widths[2]
    message = next(c for c in device.caveats if "was not run" in c)
    assert "misses -40% to +80%" in message
    measured = predict(profile=samples.workload(), near=NEAR, far=[FAR]).devices[0]
    assert widths[0] == pytest.approx(width(measured.total.slowdown))
    assert not any("was not run" in caveat for caveat in measured.caveats)


def test_a_size_outside_the_fit_is_reported_and_widens_the_interval(tmp_path: Path, capsys):
    save(NEAR, tmp_path / "near.json")
    result = {}
    for size in ("1e6", "7e6", "7e8"):
        options = ["--near", str(tmp_path / "near.json"), "--far", "optane-100-6dimm", "--json"]
        code = main(["predict", "thesis-hashmap-counters", "--size", f"n={size}", *options])
        assert code == ExitCode.DONE
        result[size] = json.loads(capsys.readouterr().out)["devices"][0]
    outside = [
        any("outside the sizes that the formulas" in c for c in each["caveats"])
        for each in result.values()
    ]
    assert outside == [False, False, True]
    relative = [
        (each["total"]["slowdown"]["high"] - each["total"]["slowdown"]["low"])
        / each["total"]["slowdown"]["value"]
        for each in result.values()
    ]
    assert relative[2] > relative[1]


def test_an_impossible_range_of_fitted_sizes_is_refused(tmp_path: Path, capsys):
    save(NEAR, tmp_path / "near.json")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(
        'title = "x"\nsource = "y"\n[sizes]\nn = 1\n[fitted]\nn = [5, 2]\n'
        '[phases.get]\noperations = "n"\n[phases.get.objects.map]\nsize_bytes = "n"\n'
    )
    command = ["predict", str(wrong), "--near", str(tmp_path / "near.json"), "--far", "xmem-near"]
    assert main(command) == ExitCode.WRONG_USE
    assert "[fitted] must name sizes" in " ".join(capsys.readouterr().err.split())


def test_near_size_without_the_model_that_uses_it_is_refused(tmp_path: Path, capsys):
    assert verb(tmp_path, samples.workload(), "--near-size", "1GiB") == ExitCode.WRONG_USE
    assert "memory-mode" in capsys.readouterr().err
    given = ("--near-size", "1GiB", "--models", "memory-mode", "--json")
    assert verb(tmp_path, samples.workload(), *given) == ExitCode.DONE
