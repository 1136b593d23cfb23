"""Counter files of whole programs, to a prediction or to one refusal."""

from __future__ import annotations

from pathlib import Path

import pytest
import samples

from nearfar.__main__ import main
from nearfar.base.errors import NearfarError
from nearfar.documents import save
from nearfar.documents.counters import CounterInterval, CounterProfile
from nearfar.documents.header import producer
from nearfar.predict.api import predict
from nearfar.predict.from_counters import is_counters, profile_of_counters


def counted(**totals: float) -> CounterProfile:
    """Two seconds in two equal intervals."""
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


def test_totals_are_all_that_counters_say():
    made = profile_of_counters(
        counted(cpu_time_ns=4e9, llc_load_misses=6e6, llc_store_misses=2e6, write_bytes=64e6)
    )
    (phase,) = made.phases
    assert phase.near_cpu_time_ns.value == pytest.approx(4e9)
    assert phase.near_wall_time_ns == pytest.approx(2e9)
    assert made.program.threads_seen == 2
    assert phase.objects[0].traffic.misses() == pytest.approx(8e6)
    assert phase.objects[0].traffic.write_backs == pytest.approx(1e6)


def test_serial_misses_add_their_difference():
    made = profile_of_counters(counted(cpu_time_ns=2e9, llc_misses=1e7))
    near, far = samples.device(), samples.device("far", 180.0, 12.0, 9.0)
    (found,) = predict(made, near, [far], "counters").devices
    # 1e7 misses of 90 ns are less than 2 s: each adds 90 ns, and a little for its load.
    assert found.total.slowdown.value == pytest.approx(1.45, rel=0.05)
    assert any("not the objects" in caveat for caveat in found.caveats)


def test_bytes_stand_in_for_misses_and_wall_time_for_cpu_time():
    made = profile_of_counters(counted(read_bytes=64e7))
    assert made.phases[0].objects[0].traffic.misses() == pytest.approx(1e7)
    assert made.phases[0].near_cpu_time_ns.value == pytest.approx(2e9)
    assert sum("no CPU time" in text or "over 64" in text for text in made.warnings) == 2
    assert made.sampling.relative_error > 0.0


def test_an_interval_without_a_count_is_reported():
    some = counted(cpu_time_ns=2e9, llc_misses=1e7)
    some.intervals[1].llc_misses = None
    made = profile_of_counters(some)
    assert made.phases[0].objects[0].traffic.misses() == pytest.approx(1e7)
    assert any("llc_misses is missing in 1 of 2" in text for text in made.warnings)


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


def test_the_verb_takes_what_counters_import_wrote(
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
