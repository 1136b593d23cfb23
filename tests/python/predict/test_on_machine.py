"""Predictions for a machine of the library, a file or a MachineProfile."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import samples
from other_machines import NEAR, SLOWER, made_up

from nearfar.api import predict
from nearfar.base.errors import CommandError, NearfarError
from nearfar.devices.cores import load_core
from nearfar.devices.library import load_device
from nearfar.devices.machines import TargetMachine, load_machine, machine_names
from nearfar.documents import DeviceProfile, MachineProfile, WorkloadProfile, load, producer, save
from nearfar.predict.on_machine import on_machine

THERE = TargetMachine(name="there", near="ddr5-local-dmsim", llc_bytes=1 << 22, threads=16)
HERE = msgspec.structs.replace(
    NEAR,
    producer=msgspec.structs.replace(NEAR.producer, cpu_model="Intel(R) Xeon(R) CPU @ 2.00GHz"),
)


def _near_ns(workload: WorkloadProfile) -> float:
    return workload.phases[0].near_cpu_time_ns.value


@pytest.mark.parametrize("name", machine_names())
def test_a_machine_of_the_library_names_existing_memories_and_a_core(name: str) -> None:
    machine = load_machine(name)
    assert machine.name == name
    assert machine.title
    assert machine.sources
    assert machine.near is not None
    assert load_device(machine.near).technology in ("dram", "hbm")
    assert machine.fars
    assert machine.core is not None
    load_core(machine.core)


def test_the_machines_of_the_published_programs_are_in_the_library() -> None:
    assert {
        "cxl-dmsim",
        "streamer",
        "storing-storage",
        "optane-study",
        "optanedc-miniapps",
        "xcena",
        "cloudlab-c220g5",
        "pmem-olap",
    } <= set(machine_names())


def test_a_given_near_time_is_the_wall_time_of_all_threads() -> None:
    moved = on_machine(made_up(), THERE, NEAR, near_times_ns={"": 3e8}, threads=4)
    (phase,) = moved.workload.phases
    assert phase.near_wall_time_ns == pytest.approx(3e8)
    assert phase.near_cpu_time_ns.value == pytest.approx(12e8)
    assert moved.workload.program.threads_seen == 4
    assert "near time" in moved.known
    assert any("splits evenly over 4" in text for text in moved.assumed)


def test_threads_that_took_turns_are_not_counted_as_busy_cores() -> None:
    workload = made_up()
    program = msgspec.structs.replace(workload.program, threads_seen=100)
    turns = msgspec.structs.replace(workload, program=program)
    alone, many = (
        on_machine(each, msgspec.structs.replace(THERE, threads=128), NEAR, near_times_ns={"": 3e8})
        for each in (workload, turns)
    )
    assert _near_ns(many.workload) == _near_ns(alone.workload)
    assert many.workload.phases[0].near_wall_time_ns == pytest.approx(3e8)


def test_the_whole_runs_time_is_divided_as_in_the_profile() -> None:
    workload = made_up()
    phase = workload.phases[0]
    longer = msgspec.structs.replace(phase, name="second", near_wall_time_ns=6e8)
    workload = msgspec.structs.replace(workload, phases=[phase, longer])
    moved = on_machine(workload, THERE, NEAR, near_times_ns={"": 4e9})
    assert [p.near_wall_time_ns for p in moved.workload.phases] == pytest.approx([1e9, 3e9])


def test_phases_without_a_given_time_are_predicted_or_said_to_be_as_here() -> None:
    workload = made_up()
    workload = msgspec.structs.replace(
        workload,
        phases=[msgspec.structs.replace(workload.phases[0], name=name) for name in ("one", "two")],
    )
    alone = on_machine(workload, THERE, SLOWER, here=HERE).workload.phases[1]
    moved = on_machine(workload, THERE, SLOWER, here=HERE, near_times_ns={"one": 3e8})
    first, second = moved.workload.phases
    assert first.near_wall_time_ns == pytest.approx(3e8)
    assert second.near_cpu_time_ns == alone.near_cpu_time_ns
    assert "near time of one" in moved.known
    assert any("near time of two, predicted for slower" in text for text in moved.assumed)
    stays = on_machine(workload, THERE, SLOWER, near_times_ns={"one": 3e8})
    assert stays.workload.phases[1].near_cpu_time_ns == workload.phases[1].near_cpu_time_ns
    assert any("near time of two: as in the profile" in text for text in stays.assumed)
    with pytest.raises(CommandError, match="of the whole run or of phases"):
        on_machine(workload, THERE, SLOWER, near_times_ns={"": 3e8, "one": 1e8})


def test_misses_are_those_of_the_machines_cache() -> None:
    moved = on_machine(made_up(), THERE, NEAR, near_times_ns={"": 3e8})
    assert moved.workload.cache.size_bytes == 1 << 22
    assert any("last-level cache 4.00 MiB" in text for text in moved.known)


def test_a_machine_without_caches_names_the_source_of_its_misses() -> None:
    bare = msgspec.structs.replace(THERE, llc_bytes=None)
    moved = on_machine(made_up(), bare, NEAR, near_times_ns={"": 3e8})
    assert moved.workload.cache == made_up().cache
    text = "its last-level cache is not stated: misses are those of 1.00 MiB"
    assert text in moved.assumed


def test_a_predicted_near_time_is_reported_and_has_a_wider_interval() -> None:
    moved = on_machine(made_up(), THERE, SLOWER, here=HERE)
    time_ns = moved.workload.phases[0].near_cpu_time_ns
    assert time_ns.low < 0.8 * time_ns.value
    assert time_ns.high > 1.2 * time_ns.value
    assert any("near time, predicted for slower from that in near" in t for t in moved.assumed)
    assert any("its clock is not known" in text for text in moved.assumed)
    given = on_machine(made_up(), THERE, SLOWER, near_times_ns={"": time_ns.value}, here=HERE)
    there = given.workload.phases[0].near_cpu_time_ns
    assert there.low == there.high == pytest.approx(time_ns.value)


def test_a_faster_clock_shortens_what_does_not_wait_for_memory() -> None:
    faster = msgspec.structs.replace(THERE, clock_ghz=4.0)
    same = msgspec.structs.replace(THERE, clock_ghz=2.0)
    times = [
        _near_ns(on_machine(made_up(), machine, NEAR, here=HERE).workload)
        for machine in (faster, same)
    ]
    assert times[0] < 0.95 * times[1]


def test_more_threads_share_the_bandwidth_of_near_memory() -> None:
    """One thread's work on 2 to 16: CPU time is constant until bandwidth is used up, then grows."""
    workload, narrow = made_up(), samples.device("narrow", 100.0, 2.0)
    wall_ns = {
        n: _near_ns(on_machine(workload, THERE, narrow, here=HERE, threads=n).workload) / n
        for n in (1, 2, 16)
    }
    assert wall_ns[2] == pytest.approx(wall_ns[1] / 2, rel=0.15)
    there = on_machine(workload, THERE, narrow, here=HERE, threads=16).workload
    read_ns = 64 * there.phases[0].objects[0].traffic.misses() / 2.0
    assert read_ns <= wall_ns[16] < 1.5 * read_ns


def test_impossible_predictions_are_refused_in_one_sentence() -> None:
    with pytest.raises(
        NearfarError, match="there runs at most 16 threads at once, not 17: choose fewer"
    ):
        on_machine(made_up(), THERE, NEAR, near_times_ns={"": 3e8}, threads=17)
    with pytest.raises(CommandError, match="near time on there is not known"):
        on_machine(made_up(), THERE, NEAR)
    with pytest.raises(CommandError, match="at least 1, not 0"):
        on_machine(made_up(), THERE, NEAR, near_times_ns={"": 3e8}, threads=0)
    with pytest.raises(NearfarError, match="did you mean 'cxl-dmsim'"):
        load_machine("cxl-dmsin")
    untimed = made_up()
    for phase in untimed.phases:
        phase.near_wall_time_ns = 0.0
    with pytest.raises(NearfarError, match="near time, which is 0: give a time for each phase"):
        on_machine(untimed, THERE, NEAR, near_times_ns={"": 3e8})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("clock_gz = 2", "unknown key 'clock_gz' of a machine; did you mean 'clock_ghz'"),
        ("clock_ghz = 2400", "'clock_ghz' is 2400, expected 0.1 to 20"),
        ("near_bytes = -3", "'near_bytes' is -3, expected 1.04858e+06 to"),
        ("private_bytes = 0", "'private_bytes' is 0, expected 4096 to"),
        ('core = "sapphire"', "there is no core 'sapphire'"),
        ('near = "ddr5-4800"', "there is no device 'ddr5-4800' in the library"),
        ('threads = "many"', "key 'threads': Expected `int | null`"),
        ('assumed = {llc_bytes = "x"}', "a reason for 'llc_bytes', which has no value"),
    ],
)
def test_a_mistake_in_a_machine_file_names_its_line(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'name = "mine"\n{line}\n')
    with pytest.raises(NearfarError) as refusal:
        load_machine(str(path))
    assert said in str(refusal.value)
    assert str(refusal.value).startswith(f"{path}:2: ")


def test_predict_on_a_machine_uses_its_memories_and_lists_facts(tmp_path: Path) -> None:
    profile = tmp_path / "run.json"
    save(made_up(), profile)
    prediction = predict(profile=profile, on="cxl-dmsim", near_time=["3.5s"], threads=2)
    assert prediction.near == "ddr5-local-dmsim"
    fars = [device.far for device in prediction.devices]
    assert fars == load_machine("cxl-dmsim").fars
    assert prediction.devices[0].phases[0].near_time_ns.value == pytest.approx(7e9)
    message = " | ".join(prediction.devices[0].caveats)
    for text in ("on cxl-dmsim, known:", "assumed: core Intel Sapphire Rapids", "same compiler"):
        assert text in message


def test_a_measured_machine_is_a_target_and_may_lack_caches(tmp_path: Path) -> None:
    profile = tmp_path / "run.json"
    save(made_up(), profile)
    golden = Path(__file__).parents[2] / "machines" / "old-guest-without-sysfs-caches.json"
    old = tmp_path / "old.json"
    made_by = msgspec.to_builtins(producer([]))
    fields = json.loads(golden.read_text()) | {"producer": made_by, "caches": []}
    old.write_text(json.dumps(fields))
    for machine in (str(old), load(old, MachineProfile)):
        prediction = predict(
            profile=profile,
            on=machine,
            near="ddr5-4800-local",
            far=["cxl-e3s-x8"],
            near_time=["1s"],
        )
        text = " | ".join(prediction.devices[0].caveats)
        assert "its last-level cache is not stated: misses are those of 1.00 MiB" in text


def test_a_measured_core_is_the_targets(tmp_path: Path) -> None:
    profile, path = tmp_path / "run.json", tmp_path / "there.json"
    save(made_up(), profile)
    golden = Path(__file__).parents[2] / "machines" / "two-sockets.json"
    fields = json.loads(golden.read_text()) | {"producer": msgspec.to_builtins(producer([]))}
    core = {"name": "here", "title": "Measured by nearfar", "sources": {}}
    path.write_text(json.dumps(fields | {"core": core}))
    for target in (str(path), load(path, MachineProfile)):
        prediction = predict(
            profile=profile,
            on=target,
            near="ddr5-4800-local",
            far=["cxl-e3s-x8"],
            near_time=["1s"],
        )
        known = next(text for text in prediction.devices[0].caveats if ", known: " in text)
        assert "core Measured by nearfar" in known


def test_formulas_are_evaluated_for_the_machine() -> None:
    code = Path("thesis-hashmap")
    with pytest.raises(CommandError, match="--near-time and --threads is for a profile"):
        predict(profile=code, on="storing-storage", near_time=["3s"], threads=2)
    there = predict(profile=code, on="storing-storage", size=["n=1e7"])
    here = predict(profile=code, near="ddr4-2933-local-xeon5218", far=["optane-100-2dimm"])
    assert there.near == here.near
    assert [device.far for device in there.devices] == ["optane-100-2dimm"]


def test_memory_mode_caches_as_much_as_the_machine_has(tmp_path: Path) -> None:
    profile = tmp_path / "run.json"
    save(made_up(), profile)
    slowdowns = [
        predict(
            profile=profile,
            on="storing-storage",
            near_time=["50ms"],
            model="memory-mode",
            near_size=near_size,
        )
        .devices[0]
        .total.slowdown.value
        for near_size in (None, "16MiB")
    ]
    assert slowdowns[0] == pytest.approx(1.0, abs=0.05)
    assert slowdowns[1] > 1.05 * slowdowns[0]


def test_options_of_on_go_together(tmp_path: Path) -> None:
    profile = tmp_path / "run.json"
    save(made_up(), profile)
    with pytest.raises(CommandError, match="only --on MACHINE has both"):
        predict(profile=profile, far=["cxl-e3s-x8"])
    with pytest.raises(CommandError, match="change a copy of the machine's file"):
        predict(profile=profile, on="cxl-dmsim", near_time=["1s"], llc="1MiB")
    with pytest.raises(CommandError, match="--threads needs"):
        predict(profile=profile, near="ddr5-4800-local", far=["cxl-e3s-x8"], threads=2)
    bare = tmp_path / "bare.toml"
    bare.write_text('name = "bare"\n')
    with pytest.raises(CommandError, match="bare names no far memory: name it by --far"):
        predict(profile=profile, on=str(bare), near="ddr5-4800-local", near_time=["1s"])
    with pytest.raises(CommandError, match="bare names no near memory"):
        predict(profile=profile, on=str(bare), near_time=["1s"], far=["cxl-e3s-x8"])


def test_misses_are_those_of_the_cache_that_a_core_gets(near_of_share: DeviceProfile) -> None:
    moved = on_machine(made_up(), THERE, near_of_share, here=HERE)
    small = msgspec.structs.replace(THERE, llc_bytes=1 << 20)
    assert moved.workload.phases == on_machine(made_up(), small, NEAR, here=HERE).workload.phases
    assert any("4.00 MiB, of which a core gets 1.00 MiB" in text for text in moved.known)


@pytest.fixture
def near_of_share() -> DeviceProfile:
    """Return near memory beside which a core got a quarter of the cache."""
    measured = samples.measured_here()
    measured = msgspec.structs.replace(measured, llc_bytes=1 << 22, effective_llc_bytes=1 << 20)
    return msgspec.structs.replace(NEAR, measured=measured)
