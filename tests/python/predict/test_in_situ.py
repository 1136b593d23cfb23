"""Two phases of a profile as a pipeline over two memories."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import samples

from nearfar.__main__ import main
from nearfar.api import predict
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents import DeviceProfile, MachineProfile, save
from nearfar.documents.machine import JointLimit
from nearfar.documents.prediction import Pipeline
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.models.traffic import TrafficModel
from nearfar.predict.phases import phases_of
from nearfar.predict.shared_channels import channel_sharing

NEAR, FAR = samples.device(), samples.device("far", 300.0, 5.0, 3.0)


def machine(*, shared: bool) -> MachineProfile:
    limit = JointLimit(
        memories=("near", "far"),
        alone_gb_per_s=(12.0, 12.0),
        together_gb_per_s=12.0 if shared else 24.0,
        shared=shared,
    )
    return samples.machine(limit)


def pipeline(
    far: DeviceProfile = FAR, *, threads: int = 8, set_size: str = "1MB", **how: object
) -> Pipeline:
    stages = {"pipeline": "load,get", "sets": 100, "set_size": set_size, "threads": threads}
    made = predict(profile=samples.workload(), near=NEAR, far=[far], **stages, **how)
    result = made.devices[0].pipeline
    assert result is not None
    return result


def test_every_split_keeps_both_stages_in_step():
    result = pipeline()
    assert [(s.generate_threads, s.analyse_threads) for s in result.splits] == [
        (8 - k, k) for k in range(1, 8)
    ]
    for split in result.splits:
        total = split.total_ns.value
        assert split.total_ns.low <= total <= split.total_ns.high
        # A stage's work and waits take the whole run; the first stage ends before the second.
        second = split.transfer_ns + split.analyse_ns + split.analyse_idle_ns
        assert second == pytest.approx(total, rel=1e-6)
        assert split.generate_ns + split.generate_idle_ns <= total * (1 + 1e-6)
    # More threads for a stage never make it slower.
    generate = [split.generate_ns for split in result.splits]
    assert generate == sorted(generate)


def test_with_two_threads_nothing_waits_for_bandwidth_and_the_closed_form_holds():
    """With bandwidth for all, each stage takes its CPU time; the slower stage sets the pace."""
    wide_near = samples.device("near", read_gb_per_s=1e4, write_gb_per_s=1e4)
    wide = samples.device("far", 300.0, 1e4, 1e4)
    workload = samples.workload()
    stages = {"pipeline": "load,get", "sets": 100, "set_size": "64B", "threads": 2}
    made = predict(profile=workload, near=wide_near, far=[wide], **stages)
    split = made.devices[0].pipeline.splits[0]
    load_ns = workload.phases[0].near_cpu_time_ns.value
    get_ns = made.devices[0].phases[1].far_time_ns.value
    assert split.generate_ns == pytest.approx(load_ns, rel=0.02)
    assert split.analyse_ns == pytest.approx(get_ns, rel=0.02)
    slower, other = max(load_ns, get_ns), min(load_ns, get_ns)
    assert split.total_ns.value == pytest.approx(slower + other / 100, rel=0.02)


def test_shared_channels_are_slower_than_separate_memories_and_unknown_spans_both():
    unknown = pipeline(set_size="10MB")
    apart = pipeline(set_size="10MB", machine=machine(shared=False))
    shared = pipeline(set_size="10MB", machine=machine(shared=True))
    assert (unknown.channels, apart.channels, shared.channels) == ("unknown", "apart", "shared")
    for each, two, three in zip(apart.splits, shared.splits, unknown.splits, strict=True):
        assert each.total_ns.value <= two.total_ns.value * (1 + 1e-9)
        assert three.total_ns.low == pytest.approx(each.total_ns.value)
        assert three.total_ns.high == pytest.approx(two.total_ns.value)


def test_traffic_over_shared_channels_takes_longer_where_both_memories_are_used():
    far = samples.device("far", 95.0, 12.0, 9.0)
    local = near_memory(NEAR)
    phase = phases_of(samples.workload())[0]
    apart, both = (
        TrafficModel(
            phase,
            local,
            replace(far_memory(far, local), channel_sharing=channel_sharing(each, NEAR, far)),
        )
        for each in (machine(shared=False), machine(shared=True))
    )
    half = phase.total / 2
    assert float(both.times_ns(half)) > float(apart.times_ns(half))
    for whole in (phase.total, 0.0 * phase.total):
        assert float(both.times_ns(whole)) == pytest.approx(float(apart.times_ns(whole)))


@pytest.mark.parametrize(
    ("text", "sets", "threads", "message"),
    [
        ("load", 10, 4, "two phases"),
        ("load,load", 10, 4, "two phases"),
        ("load,get", 0, 4, "--sets"),
        ("load,get", 10, 1, "a thread for each stage"),
    ],
)
def test_a_profile_without_a_pipeline_is_refused(text: str, sets: int, threads: int, message: str):
    with pytest.raises(NearfarError, match=message):
        predict(
            profile=samples.workload(),
            near=NEAR,
            far=[FAR],
            pipeline=text,
            sets=sets,
            set_size="1MB",
            threads=threads,
        )


def test_the_verb_shows_it(tmp_path: Path, capsys):
    save(samples.workload(), tmp_path / "run.json")
    save(NEAR, tmp_path / "near.json")
    command = ["predict", str(tmp_path / "run.json"), "--near", str(tmp_path / "near.json")]
    command += ["--far", "optane-100-6dimm"]
    stages = ["--pipeline", "load,get", "--set-size", "8MB", "--threads", "4", "--sets", "50"]
    assert main([*command, *stages]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "50 sets of" in shown
    assert "3 + 1" in shown
    assert main([*command, *stages, "--json"]) == ExitCode.DONE
    device = json.loads(capsys.readouterr().out)["devices"][0]
    assert len(device["pipeline"]["splits"]) == 3
    assert main([*command, "--pipeline", "load,get"]) == ExitCode.WRONG_USE
    assert "go together" in capsys.readouterr().err
    assert main([*command, "--threads", "4"]) == ExitCode.WRONG_USE
    assert "needs --pipeline" in capsys.readouterr().err
    assert main([*command, *stages[:1], "load,put", *stages[2:]]) == ExitCode.WRONG_USE
    assert "no phase 'put'" in capsys.readouterr().err
