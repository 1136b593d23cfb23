"""Imports counter files of other tools; the files' README gives their origin.

Expected figures are calculated by hand from the files.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forked import nearfar

from nearfar.base.errors import NearfarError
from nearfar.documents import CounterProfile, load
from nearfar_imports.counters.read import read_counters

FILES = Path(__file__).parent / "files"
MIB = 1 << 20


def test_perf_intervals_are_read_with_units_and_modifiers() -> None:
    counters = read_counters(FILES / "constructed-perf.csv")
    assert counters.format == "perf"
    first, second = counters.intervals
    assert (first.begin_s, first.end_s, second.begin_s) == (0.0, 1.000102345, 1.000102345)
    assert (first.instructions, first.cycles, first.cpu_time_ns) == (2.5e9, 2e9, 1000.12e6)
    assert (first.llc_load_misses, first.llc_store_misses) == (3e6, 1e6)
    assert (first.read_bytes, first.write_bytes) == (640 * MIB, 128 * MIB)
    assert (second.instructions, second.llc_load_misses) == (1.25e9, None)


def test_multiplexed_missing_and_unsupported_counters_are_named() -> None:
    counters = read_counters(FILES / "constructed-perf.csv")
    assert counters.scaled == {
        "instructions": 0.75,
        "cycles": 0.75,
        "llc_load_misses": 0.5,
        "llc_store_misses": 0.2,
    }
    text = "\n".join(counters.warnings)
    assert "cycle_activity.stalls_l3_miss" in text
    assert "LLC-load-misses was not counted in 1 of 2 intervals" in text
    assert "as little as 20% of an interval (too little to rely on)" in text


def test_a_sum_with_an_uncounted_part_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    rows = [
        "     1.000100000,CPU0,500,,cycles,1,100.00,,",
        "     1.000100000,CPU1,<not counted>,,cycles,0,0.00,,",
        "     2.000100000,CPU0,500,,cycles,1,100.00,,",
        "     2.000100000,CPU1,300,,cycles,1,100.00,,",
        "     2.000100000,CPU0,900,,instructions,1,100.00,,",
    ]
    path.write_text("\n".join(rows) + "\n")
    counters = read_counters(path)
    assert [interval.cycles for interval in counters.intervals] == [None, 800]
    assert any("cycles was not counted in 1 of 2" in warning for warning in counters.warnings)
    assert any("instructions was not counted in 1 of 2" in warning for warning in counters.warnings)
    # A program that stayed on the large cores of a hybrid processor has no count of the others.
    rows = ["     1.000100000,500,,cpu_core/cycles/,1,100.00,,"]
    rows += ["     1.000100000,<not counted>,,cpu_atom/cycles/,0,0.00,,"]
    path.write_text("\n".join(rows) + "\n")
    assert [interval.cycles for interval in read_counters(path).intervals] == [500]


def test_real_perf_output_of_a_machine_without_counters() -> None:
    counters = read_counters(FILES / "real-software-events.csv")
    assert list(counters.names) == ["cpu_time_ns"]
    assert all(interval.end_s > interval.begin_s for interval in counters.intervals)
    assert counters.intervals[0].cpu_time_ns == pytest.approx(67.06e6)
    assert any("LLC-load-misses, cycles, instructions" in warning for warning in counters.warnings)


def test_perf_counts_per_socket_are_added() -> None:
    (only,) = read_counters(FILES / "constructed-perf-per-socket.csv").intervals
    assert (only.instructions, only.read_bytes) == (1.5e9, 3e6 * 64)


def test_perf_output_without_intervals_is_one_interval(tmp_path: Path) -> None:
    path = tmp_path / "whole.csv"
    path.write_text("1000,,instructions,2000000000,100.00,,\n500,,cycles,2000000000,100.00,,\n")
    counters = read_counters(path)
    (only,) = counters.intervals
    assert (only.end_s, only.instructions, only.cycles) == (2.0, 1000, 500)
    assert any("without -I" in warning for warning in counters.warnings)


def test_pcm_counts_of_the_system_are_in_millions_and_gigabytes() -> None:
    counters = read_counters(FILES / "constructed-pcm.csv")
    first, second = counters.intervals
    assert (counters.format, first.end_s, second.end_s) == ("pcm", 1.0, 2.0)
    assert (first.instructions, first.cycles, first.llc_misses) == (2.5e9, 2e9, 12.5e6)
    assert (second.read_bytes, second.write_bytes) == (0.75e9, 0.25e9)


def test_pcm_memory_rates_become_bytes_per_interval() -> None:
    counters = read_counters(FILES / "constructed-pcm-memory.csv")
    # The intervals are 0.5 s (between the first two) and 1 s; the first has the median length, 0.75
    # s.
    lengths = [interval.end_s - interval.begin_s for interval in counters.intervals]
    assert lengths == pytest.approx([0.75, 0.5, 1.0])
    read = [interval.read_bytes for interval in counters.intervals]
    assert read == pytest.approx([600e6 * 0.75, 1200e6 * 0.5, 300e6])
    assert any("first interval" in warning for warning in counters.warnings)


def test_likwid_cpus_are_added_and_its_statistics_left_out() -> None:
    (only,) = read_counters(FILES / "constructed-likwid.csv").intervals
    assert (only.end_s, only.instructions, only.cycles) == (2.5, 1.5e9, 3e9)
    assert (only.read_bytes, only.write_bytes) == (5e6 * 64, 1e6 * 64)


def test_likwid_volumes_count_once_and_regions_stay_separate(tmp_path: Path) -> None:
    path = tmp_path / "regions.csv"
    region = """TABLE,Region {name},Group 1 Raw,MEM,3
Event,Counter,Core 0,Core 1
INSTR_RETIRED_ANY,FIXC0,{instructions},100
CAS_COUNT_RD,MBOX0C0,5000000,0
TABLE,Region {name},Group 1 Raw Stat,MEM,3
INSTR_RETIRED_ANY STAT,FIXC0,9,9,9,9
TABLE,Region {name},Group 1 Metric,MEM,2
Runtime (RDTSC) [s],{seconds},{seconds}
Memory read data volume [GBytes],0.32,0
"""
    regions = [("init", 900, 1), ("work", 1900, 2)]
    texts = [region.format(name=a, instructions=b, seconds=c) for a, b, c in regions]
    path.write_text("".join(texts))
    first, second = read_counters(path).intervals
    assert (first.end_s, second.begin_s, second.end_s) == (1, 1, 3)
    assert (first.instructions, second.instructions) == (1000, 2000)
    assert (first.read_bytes, second.read_bytes) == (0.32e9, 0.32e9)


def test_two_events_of_one_quantity_are_not_added(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    line = "     1.000100000,{count},,{event},1,100.00,,"
    counts = [
        ("LLC-load-misses", 300),
        ("mem_load_retired.l3_miss", 290),
        ("instructions:u", 10),
        ("instructions:k", 5),
        ("cpu_core/cycles/", 7),
        ("cpu_atom/cycles/", 2),
        ("uncore_imc_0/data_reads/", 3),
        ("uncore_imc_1/data_reads/", 4),
    ]
    path.write_text("\n".join(line.format(event=e, count=c) for e, c in counts) + "\n")
    counters = read_counters(path)
    (only,) = counters.intervals
    assert (only.llc_load_misses, only.instructions, only.cycles) == (300, 15, 9)
    assert only.read_bytes == 7 * 64
    assert any("mem_load_retired.l3_miss left out" in warning for warning in counters.warnings)


def test_repetitions_of_perf_keep_their_time(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("1000,,cycles:u,0.52%,2000000000,50.00,1.2,GHz\n")
    counters = read_counters(path)
    assert counters.intervals[0].end_s == 2.0
    assert counters.scaled == {"cycles": 0.5}


def test_plain_csv_with_semicolons_reports_what_it_leaves_out(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("time (s);cycles;LLC-load-misses;hits\n0,5;10;nan;1\n1,0;20;3;1\n")
    counters = read_counters(path)
    assert [interval.end_s for interval in counters.intervals] == [0.5, 1.0]
    assert [interval.llc_load_misses for interval in counters.intervals] == [None, 3]
    assert any("columns not used" in w and w.endswith("hits") for w in counters.warnings)


def test_plain_csv_per_interval_and_cumulative() -> None:
    counters = read_counters(FILES / "constructed-plain.csv")
    assert [interval.llc_load_misses for interval in counters.intervals] == [10, None, 30]
    assert counters.intervals[2].begin_s == 2
    assert any("not counted in 1 of 3" in warning for warning in counters.warnings)
    counters = read_counters(FILES / "constructed-cumulative.csv", cumulative=True)
    assert [(i.begin_s, i.end_s, i.instructions) for i in counters.intervals] == [
        (1, 2, 1500),
        (2, 3, 2000),
    ]


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        ("", {}, "is empty"),
        ("     1.000100000,-5,,instructions,1000,100.00,,\n", {}, "wrapped or was reset"),
        ("     1.000100000,281474976710000,,cycles,1000,100.00,,\n", {}, "it wrapped"),
        ("     1.000100000,7,,page-faults,1000,100.00,,\n", {}, "no counter that nearfar uses"),
        ("     1.000100000,many,,cycles,1000,100.00,,\n", {}, "is no count"),
        ('{"event" : "cycles"}\n', {}, "write it with -x"),
        (" Performance counter stats for 'a':\n\n  5  cycles\n", {}, "write it with -x"),
        ("     2.000100000,5,,cycles,1,,,\n     1.000100000,5,,cycles,1,,,\n", {}, "goes back"),
        ("TABLE,Group 1 Raw,A,1\nTABLE,Group 2 Raw,B,1\n", {}, "2 groups of events"),
        ("hello\n", {}, "not a line of perf|no counter that nearfar uses"),
        ("time,cycles\n1,5\n1,6\n", {}, "line 3: time must be a number and advance"),
        ("time,cycles\n1,5\n2,4\n", {"cumulative": True}, "wrapped or was reset"),
        ("time,weather\n1,5\n", {}, "needs a header line"),
        ("# GID|MetricsCount|CpuCount\n1 5 1 1.0 3\n", {}, "timeline mode"),
        ("TABLE,Group 1 Raw,MEM,1\nINSTR_RETIRED_ANY,FIXC0,5\n", {}, "has no line 'Runtime"),
        ("System\nDate,Time,INST\n", {}, "has no interval"),
        ("System,,\nDate,Time,INST\nmonday,noon,5\n", {}, "is not a date and time"),
    ],
)
def test_each_mistake_is_one_sentence(
    text: str, options: dict[str, bool], sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(text)
    with pytest.raises(NearfarError, match=sentence) as raised:
        read_counters(path, **options)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


def test_the_verb_writes_a_document(tmp_path: Path) -> None:
    output = tmp_path / "counters.json"
    words = ["counters", "import", "--json", "-o", output]
    done = nearfar(*words, FILES / "constructed-perf.csv", check=True)
    assert json.loads(done.stdout) == json.loads(output.read_text())
    assert len(load(output, CounterProfile).intervals) == 2
    missing = nearfar(*words, tmp_path / "nothere.csv")
    assert missing.returncode == 2
    assert len(missing.stderr.splitlines()) == 1
