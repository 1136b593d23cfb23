"""Counter files of whole programs, to a prediction or to one refusal."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest
import samples

from nearfar.__main__ import main
from nearfar.api import predict
from nearfar.base.errors import NearfarError
from nearfar.documents import Prediction, save
from nearfar.documents.counters import CounterInterval, CounterProfile
from nearfar.documents.header import producer
from nearfar.predict.from_counters import is_counters, models_beside, profile_of_counters


def counted(**totals: float) -> CounterProfile:
    """Return two seconds in two equal intervals."""
    half = {name: value / 2 for name, value in totals.items()}
    return CounterProfile(
        producer=producer(["tests"]),
        file="made-up.csv",
        format="csv",
        names={name: [name] for name in totals},
        scaled={},
        intervals=[
            CounterInterval(begin_s=begin, end_s=begin + 1.0, **half) for begin in (0.0, 1.0)
        ],
    )


def test_totals_equal_the_counters():
    made = profile_of_counters(
        counted(cpu_time_ns=4e9, llc_load_misses=6e6, llc_store_misses=2e6, write_bytes=64e6)
    )
    (phase,) = made.phases
    assert phase.near_cpu_time_ns.value == pytest.approx(4e9)
    assert phase.near_wall_time_ns == pytest.approx(2e9)
    assert made.program.threads_seen == 2
    assert phase.objects[0].traffic.misses() == pytest.approx(8e6)
    assert phase.objects[0].traffic.write_backs == pytest.approx(1e6)


def test_misses_at_random_times_add_their_difference():
    made = profile_of_counters(counted(cpu_time_ns=2e9, llc_misses=1e7))
    near, far = samples.device(), samples.device("far", 180.0, 12.0, 9.0)
    (result,) = predict(profile=made, near=near, far=[far], model="counters").devices
    # 1e7 misses of 90 ns come at random times: one is in flight for 1 - exp(-0.45) of 2 s.
    assert result.total.slowdown.value == pytest.approx(2.0 - math.exp(-0.45), rel=0.01)
    # Without overlap the slowdown is 1.45: the interval reaches most of the way there.
    assert result.total.slowdown.low < 1.33
    assert result.total.slowdown.high > 1.43
    assert any("not the objects" in caveat for caveat in result.caveats)


def test_bytes_substitute_misses_and_wall_time_substitutes_cpu_time():
    made = profile_of_counters(counted(read_bytes=64e7))
    assert made.phases[0].objects[0].traffic.misses() == pytest.approx(1e7)
    assert made.phases[0].near_cpu_time_ns.value == pytest.approx(2e9)
    assert sum("no CPU time" in text or "over 64" in text for text in made.warnings) == 2
    # Cycles show that more than one core ran.
    made = profile_of_counters(counted(read_bytes=64e7, cycles=24e9))
    assert made.phases[0].near_cpu_time_ns.value == pytest.approx(8e9)
    assert any("assumed clock of 3 GHz, 4.0 cores" in text for text in made.warnings)
    assert made.sampling.relative_error > 0.0


def test_an_interval_without_a_count_is_reported():
    some = counted(cpu_time_ns=2e9, llc_misses=1e7)
    some.intervals[1].llc_misses = None
    made = profile_of_counters(some)
    assert made.phases[0].objects[0].traffic.misses() == pytest.approx(1e7)
    assert any("llc_misses is missing in 1 of 2" in text for text in made.warnings)


def test_counted_stalls_grow_with_latency(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    stalls = {"cycles": 6e9, "memory_stall_cycles": 1.5e9}
    file, near, far = (tmp_path / name for name in ("counted.json", "near.json", "far.json"))
    save(counted(cpu_time_ns=2e9, llc_misses=1e7, **stalls), file)
    save(samples.device(), near)
    save(samples.device("far", 180.0, 12.0, 9.0), far)
    assert main(["predict", str(file), "--near", str(near), "--far", str(far), "--json"]) == 0
    (result,) = msgspec.json.decode(capsys.readouterr().out, type=Prediction).devices
    shown = {model.model: model.slowdown for model in result.total.models}
    # A quarter of the time waits twice as long.
    assert shown["stalls"] == pytest.approx(1.25, rel=0.01)
    assert shown["traffic"] < shown["stalls"]
    without = profile_of_counters(counted(cpu_time_ns=2e9, llc_misses=1e7))
    with pytest.raises(NearfarError, match="stalls needs cycles"):
        predict(
            profile=without,
            near=samples.device(),
            far=[samples.device("far", 180.0)],
            model="stalls",
        )


def test_prefetched_lines_are_bytes_without_misses():
    made = profile_of_counters(
        counted(cpu_time_ns=4e9, llc_misses=1e6, read_bytes=64e7, write_bytes=64e6)
    )
    (row,) = made.phases[0].objects
    assert row.traffic.read_misses.opaque == pytest.approx(1e6)
    assert row.traffic.misses() == pytest.approx(1e7)
    assert [(each.llc_misses, each.read_bytes) for each in row.intervals] == [(5e5, 32e7)] * 2


@pytest.mark.parametrize(
    ("totals", "waiting", "read", "message"),
    [
        ({"llc_misses": 1e7, "read_bytes": 64e6}, 1e7, 1e7, "of another scope"),
        ({"llc_misses": 1e7, "instructions": 1e6}, 1e6, 1e6, "instructions are used instead"),
        (
            {"llc_load_misses": 1e7, "llc_loads": 1e6, "read_bytes": 64e6},
            1e6,
            1e6,
            "bytes read over 64 are used instead",
        ),
    ],
)
def test_contradicting_counts_are_replaced(
    totals: dict[str, float], waiting: float, read: float, message: str
):
    made = profile_of_counters(counted(cpu_time_ns=2e9, **totals))
    traffic = made.phases[0].objects[0].traffic
    assert traffic.read_misses.opaque == pytest.approx(waiting)
    assert traffic.misses() == pytest.approx(read)
    assert sum(message in text for text in made.warnings) == 1


def test_misses_above_loads_widen_the_interval():
    """Nothing tells which was misread: loads are used, and misses may be ten times as many."""
    slowdowns = []
    for counts in ({"llc_load_misses": 1e7, "llc_loads": 1e6}, {"llc_load_misses": 1e6}):
        profile = profile_of_counters(counted(cpu_time_ns=2e9, **counts))
        far = samples.device("far", 300.0, 8.0, 4.0)
        (device,) = predict(profile=profile, near=samples.device(), far=[far]).devices
        slowdowns.append(device.total.slowdown)
    contradicted, intact = slowdowns
    assert contradicted.value == pytest.approx(intact.value)
    assert contradicted.high - contradicted.value > 5.0 * (intact.high - intact.value)


def test_stalls_above_cycles_are_not_used():
    stalls = {"cycles": 6e9, "memory_stall_cycles": 7e9}
    made = profile_of_counters(counted(cpu_time_ns=2e9, llc_misses=1e7, **stalls))
    assert any(
        "memory_stall_cycles (7e+09) are more than cycles (6e+09)" in t for t in made.warnings
    )
    assert models_beside(made) == ["traffic"]


def test_an_interval_that_ends_before_it_begins_is_refused():
    some = counted(cpu_time_ns=2e9, llc_misses=1e7)
    last = some.intervals[1]
    last.begin_s, last.end_s = last.end_s, last.begin_s
    with pytest.raises(NearfarError, match="interval 2 begins at 2 s and ends at 1 s"):
        profile_of_counters(some)


def test_an_interval_in_which_a_counter_wrapped_gets_the_rate_of_the_others():
    some = counted(cpu_time_ns=2e9, llc_misses=1e7)
    some.intervals[0].llc_misses = -1.0
    made = profile_of_counters(some)
    assert made.phases[0].objects[0].traffic.misses() == pytest.approx(1e7)
    assert any("in 1 of 2 intervals: it wrapped" in text for text in made.warnings)


@pytest.mark.parametrize(
    ("totals", "message"),
    [
        ({"cpu_time_ns": 2e9}, "neither last-level misses nor bytes"),
        ({"cpu_time_ns": 0.0, "llc_misses": 1.0}, "expected a time above 0"),
        ({"cpu_time_ns": -1.0, "llc_misses": 1.0}, "negative"),
        ({"cpu_time_ns": 2e9, "llc_misses": -5.0}, "negative"),
        ({"cpu_time_ns": 2e9, "llc_misses": 1.8e19}, "wrapped"),
    ],
)
def test_impossible_counts_are_refused(totals: dict[str, float], message: str):
    with pytest.raises(NearfarError, match=message):
        profile_of_counters(counted(**totals))


def test_the_verb_takes_the_output_of_counters_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "counted.json"
    save(counted(cpu_time_ns=2e9, llc_misses=1e7), file)
    assert is_counters(file)
    assert not is_counters(tmp_path / "absent.json")
    verb = ["predict", str(file), "--near", "ddr5-4800-local", "--far", "cxl-e3s-x8"]
    assert main(verb) == 0
    assert "model counters" in capsys.readouterr().out
    assert main([*verb, "--size", "n=1"]) == 2
