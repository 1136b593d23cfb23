"""Attribution of the difference of two predictions to groups of their inputs."""

from __future__ import annotations

import shutil
from dataclasses import replace as changed
from pathlib import Path

import msgspec
import other_machines
import pytest
from samples import device, measured_here, workload

from nearfar import api
from nearfar.api import predict
from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate, scale_estimate
from nearfar.compare.api import compare
from nearfar.compare.page import render
from nearfar.devices.library import device_names, load_device
from nearfar.documents import Prediction, WorkloadProfile, load, save
from nearfar.documents.attribution import Attribution
from nearfar.predict.attribution import LoadedInputs, attributions, unattributed
from nearfar.predict.phases import phases_of
from nearfar.predict.traffic import PhaseTraffic

replace = msgspec.structs.replace
FAR = "optane-100-6dimm"
NEAR = replace(device("dram", latency_ns=100.0), measured=measured_here())
INPUTS = LoadedInputs(
    workload=workload(), near=NEAR, fars={FAR: load_device(FAR)}, model="best", host="added"
)


def slower_time(inputs: LoadedInputs) -> LoadedInputs:
    phases = [
        replace(phase, near_cpu_time_ns=scale_estimate(phase.near_cpu_time_ns, 2.0))
        for phase in inputs.workload.phases
    ]
    return changed(inputs, workload=replace(inputs.workload, phases=phases))


def more_misses(inputs: LoadedInputs) -> LoadedInputs:
    phases = [replace(phase, objects=phase.objects[:3]) for phase in inputs.workload.phases]
    return changed(inputs, workload=replace(inputs.workload, phases=phases))


def nearer(inputs: LoadedInputs) -> LoadedInputs:
    fast = device("dram", latency_ns=60.0)
    near = replace(inputs.near, latency=fast.latency, chains=fast.chains)
    return changed(inputs, near=near)


def narrower(inputs: LoadedInputs) -> LoadedInputs:
    slow = device("dram", read_gb_per_s=1.5, write_gb_per_s=1.0)
    return changed(inputs, near=replace(inputs.near, bandwidth=slow.bandwidth))


def other_far(inputs: LoadedInputs) -> LoadedInputs:
    return changed(inputs, fars={FAR: load_device("optane-100-1dimm")})


def other_model(inputs: LoadedInputs) -> LoadedInputs:
    return changed(inputs, model="latency-ratio")


CHANGES = {
    "near time": slower_time,
    "misses": more_misses,
    "near latencies": nearer,
    "near bandwidths": narrower,
    "far memory": other_far,
    "model": other_model,
}


def slowdown(inputs: LoadedInputs) -> Estimate:
    value = inputs.slowdown(FAR)
    return Estimate(value, 0.9 * value, 1.1 * value)


def attributed(a: LoadedInputs, b: LoadedInputs) -> Attribution:
    return attributed_as(a, b, (slowdown(a), slowdown(b)))


def attributed_as(a: LoadedInputs, b: LoadedInputs, pair: tuple[Estimate, Estimate]) -> Attribution:
    (result,) = attributions(a, b, {FAR: pair})
    return result


def test_its_slowdown_equals_that_of_predict():
    for model in ("best", "chains"):
        inputs = changed(INPUTS, model=model)
        total = (
            predict(profile=inputs.workload, near=NEAR, far=[load_device(FAR)], model=model)
            .devices[0]
            .total
        )
        assert inputs.slowdown(FAR) == pytest.approx(total.slowdown.value, rel=1e-12)


@pytest.mark.parametrize("name", CHANGES)
def test_a_single_change_has_all_of_the_effect(name: str):
    other = CHANGES[name](INPUTS)
    result = attributed(INPUTS, other)
    assert [cause.input for cause in result.causes] == [name]
    difference = other.slowdown(FAR) - INPUTS.slowdown(FAR)
    assert result.causes[0].effect == pytest.approx(difference)
    assert result.causes[0].a != result.causes[0].b or name == "far memory"


def test_effects_of_all_changes_add_up_and_change_sign_with_the_sides():
    other = INPUTS
    for change in CHANGES.values():
        other = change(other)
    there, back = attributed(INPUTS, other), attributed(other, INPUTS)
    effects = {cause.input: cause.effect for cause in there.causes}
    assert len(effects) >= 4
    assert sum(effects.values()) == pytest.approx(other.slowdown(FAR) - INPUTS.slowdown(FAR))
    for cause in back.causes:
        assert cause.effect == pytest.approx(-effects[cause.input], abs=1e-9)
    sizes = [abs(cause.effect) for cause in there.causes]
    assert sizes == sorted(sizes, reverse=True)


def test_a_page_size_is_attributed():
    other = changed(other_model(INPUTS), page_bytes=2 << 20)
    (cause,) = attributed(INPUTS, other).causes
    assert cause.a == "best, host added"
    assert cause.b == "latency-ratio, host added, pages 2.00 MiB"


def test_an_effect_that_no_input_explains_is_the_rest():
    shown = Estimate(INPUTS.slowdown(FAR) + 0.2, 1.0, 2.0)
    result = attributed_as(INPUTS, INPUTS, (slowdown(INPUTS), shown))
    assert [cause.input for cause in result.causes] == ["the rest"]
    assert result.causes[0].effect == pytest.approx(0.2)


def test_twice_the_operations_are_no_cause():
    phases = [
        replace(
            phase,
            operations=2e6,
            objects=phase.objects * 2,
            near_cpu_time_ns=scale_estimate(phase.near_cpu_time_ns, 2.0),
        )
        for phase in INPUTS.workload.phases
    ]
    once = [replace(phase, operations=1e6) for phase in INPUTS.workload.phases]
    a = changed(INPUTS, workload=replace(INPUTS.workload, phases=once))
    b = changed(INPUTS, workload=replace(INPUTS.workload, phases=phases))
    assert attributed(a, b).causes == []


@pytest.mark.parametrize(
    ("a", "b", "agree"),
    [
        (Estimate(1.44, 1.2, 1.7), Estimate(1.24, 1.1, 1.4), True),
        (Estimate(1.44, 1.4, 1.5), Estimate(1.24, 1.2, 1.3), False),
        (Estimate(1.3, 1.2, 1.4), Estimate(1.3, 1.3, 1.3), True),
    ],
)
def test_agreement(a: Estimate, b: Estimate, agree: bool):
    assert unattributed(FAR, a, b).agree is agree
    assert unattributed(FAR, b, a).agree is agree


def host(folder: Path, inputs: LoadedInputs) -> Path:
    """Return a prediction that the API made in `folder`."""
    folder.mkdir()
    save(inputs.workload, folder / "run.json")
    save(inputs.near, folder / "near.json")
    made = api.predict(
        profile=folder / "run.json", near=str(folder / "near.json"), far=[FAR, "cxl-e3s-x8"]
    )
    save(made, folder / "prediction.json")
    return folder / "prediction.json"


def test_two_hosts_whose_folders_were_copied(tmp_path: Path):
    for name, inputs in (("one", INPUTS), ("two", nearer(INPUTS))):
        host(tmp_path / name, inputs)
        shutil.move(tmp_path / name, tmp_path / f"copy-of-{name}")
    a, b = (tmp_path / f"copy-of-{name}" / "prediction.json" for name in ("one", "two"))
    comparison = compare(a, b)
    assert [entry.far for entry in comparison.attributions] == [FAR, "cxl-e3s-x8"]
    for entry in comparison.attributions:
        assert [cause.input for cause in entry.causes] == ["near latencies"]
        assert entry.agree
    page = render(comparison)
    assert "Which inputs make the difference" in page
    assert "near latencies" in page
    (b.parent / "near.json").write_text((a.parent / "near.json").read_text())
    changed_file = compare(a, b)
    assert any("near.json has changed" in text for text in changed_file.warnings)
    (b.parent / "near.json").unlink()
    lost = compare(a, b)
    assert any("near.json is missing" in text for text in lost.warnings)
    assert [entry.causes for entry in lost.attributions] == [[], []]


def test_a_report_against_another_host(tmp_path: Path):
    other = host(tmp_path / "one", INPUTS)
    here = nearer(INPUTS)
    data = api.report(profile=here.workload, near=here.near, far=[FAR, "nvdimm-n"], against=other)
    (entry,) = data.method.attributions
    assert entry.far == FAR
    assert [cause.input for cause in entry.causes] == ["near latencies"]
    page = api.report_page(data)
    assert "Compared with another prediction" in page
    assert f"{entry.causes[0].effect:+.3f}" in page
    with pytest.raises(NearfarError, match="none of the page's far memories"):
        api.report(profile=here.workload, near=here.near, far=["nvdimm-n"], against=other)
    fewer = replace(here.workload, phases=here.workload.phases[:1])
    with pytest.raises(NearfarError, match="different phases"):
        api.report(profile=fewer, near=here.near, far=[FAR], against=other)


def test_a_prediction_without_named_inputs(tmp_path: Path):
    a = host(tmp_path / "one", INPUTS)
    old = tmp_path / "old.json"
    save(replace(load(a, Prediction), inputs=None), old)
    comparison = compare(a, old)
    assert any("does not name its inputs" in text for text in comparison.warnings)
    in_memory = api.predict(profile=INPUTS.workload, near=NEAR, far=[FAR])
    assert in_memory.inputs is None


OTHER_MACHINES = {
    "near time": {"near_time": ["3s"]},
    "misses": {"llc": "4MiB"},
    "threads": {"on": "cxl-dmsim", "near_time": ["3s"], "threads": 4},
}
"""Options that describe another machine, by an input that differs from a prediction without."""


@pytest.mark.parametrize("cause", OTHER_MACHINES)
def test_options_for_another_machine_are_causes(cause: str, tmp_path: Path):
    save(other_machines.made_up(), tmp_path / "run.json")
    save(NEAR, tmp_path / "near.json")
    files = {"profile": tmp_path / "run.json", "near": str(tmp_path / "near.json"), "far": [FAR]}
    for name, options in (("a", {}), ("b", OTHER_MACHINES[cause])):
        save(api.predict(**files, **options), tmp_path / f"{name}.json")
    comparison = compare(tmp_path / "a.json", tmp_path / "b.json")
    assert not [text for text in comparison.warnings if "not known" in text]
    (entry,) = comparison.attributions
    inputs = {result.input for result in entry.causes}
    assert cause in inputs
    assert "the rest" not in inputs
    if cause != "threads":
        assert inputs == {cause}


def test_many_far_memories_are_attributed_at_once(monkeypatch: pytest.MonkeyPatch):
    """The traffic of a mixture of both sides is made once, however many far memories there are."""
    other = narrower(nearer(more_misses(slower_time(INPUTS))))
    fars = {name: load_device(name) for name in device_names()}
    pairs = dict.fromkeys(fars, (Estimate(1.0, 1.0, 1.0), Estimate(2.0, 2.0, 2.0)))
    made = []

    def counted(workload: WorkloadProfile, names: list[str] | None = None) -> list[PhaseTraffic]:
        made.append(workload)
        return phases_of(workload, names)

    monkeypatch.setattr("nearfar.predict.attribution.phases_of", counted)
    result = attributions(changed(INPUTS, fars=fars), changed(other, fars=fars), pairs)
    assert len(result) == len(fars)
    assert len(made) == 4  # misses and near time of either side
