"""Every mode on a bench of known values: exact tables, and the requests to the bench."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from like_bench import KnownBench

from nearfar.base.errors import CommandError, NearfarError
from nearfar_like.bench import BufferPlace
from nearfar_like.mlc import measure
from nearfar_like.mlc.arguments import DELAYS, parse
from nearfar_like.mlc.options import BARE


def mlc(line: str, bench: KnownBench | None = None) -> tuple[list[str], dict[str, Any]]:
    printed: list[str] = []
    result = measure(parse(shlex.split(line)), bench or KnownBench(), printed.append)
    return printed, result


def test_it_does_not_claim_to_be_mlc() -> None:
    printed, _ = mlc("--idle_latency -e")
    assert re.fullmatch(
        r"nearfar .*, MLC-like \(not Intel\(R\) Memory Latency Checker\)", printed[0]
    )
    assert printed[1] == "Command line parameters: --idle_latency -e "


def test_idle_latency() -> None:
    bench = KnownBench()
    printed, result = mlc("--idle_latency -c0 -j2 -r -b200m", bench)
    assert "Using buffer size of 200.000MiB" in printed
    assert printed[-1] == "Each iteration took 500.0 base frequency clocks (\t250.0\tns)"
    # Public wrappers search for these lines.
    assert (
        re.search(r"Each iteration took\s+([\d.]+).*\(\s*([\d.]+)\s*ns", printed[-1])[2] == "250.0"
    )
    assert result["results"]["idle_latency"]["value_ns"] == 250.0
    ((chase, workers),) = bench.seen
    assert workers == []
    assert (chase.place, chase.size_bytes) == (BufferPlace(2), 200 << 20)
    assert (chase.sequential, chase.stride_bytes, chase.window_bytes) == (False, 128, 256 << 10)


def test_idle_latency_of_another_cpus_node_and_of_a_folder() -> None:
    bench = KnownBench()
    mlc("--idle_latency -c0 -i5 -e", bench)
    mlc("--idle_latency -J/mnt/pmem0 -l256 -D99999999 -r", bench)
    assert bench.seen[0][0].place == BufferPlace(1)
    assert bench.seen[0][0].sequential
    assert bench.seen[1][0].place == BufferPlace(None, Path("/mnt/pmem0"))
    assert bench.seen[1][0].stride_bytes == 256
    assert bench.seen[1][0].window_bytes == 0, "a window of all of it is none"


def test_without_r_or_e_random_access_is_reported_in_one_line() -> None:
    printed, _ = mlc("--latency_matrix")
    lines = [line for line in printed if "enabling random access for latency measurements" in line]
    assert len(lines) == 1
    assert lines[0].startswith("*** Prefetchers stay on")
    assert not any("Prefetchers" in line for line in mlc("--latency_matrix -r")[0])


def test_latency_matrix() -> None:
    printed, result = mlc("--latency_matrix -b200m -X -r")
    at = printed.index("Measuring idle latencies for random access (in ns)...")
    assert printed[at + 1 :] == [
        "\t\tNuma node",
        "Numa node\t     0\t     1\t     2",
        "       0\t  80.0\t 130.0\t 250.0",
        "       1\t 131.0\t  81.0\t 290.0",
    ]
    cells = result["results"]["latency_matrix"]["matrix"]
    assert [cell["value_ns"] for cell in cells] == [80.0, 130.0, 250.0, 131.0, 81.0, 290.0]


def test_latency_matrix_of_every_core() -> None:
    printed, _ = mlc("--latency_matrix -a -X")
    assert printed[-5] == "CPU      \t     0\t     1\t     2"
    assert [line.split()[0] for line in printed[-4:]] == ["0", "2", "4", "6"]


@pytest.mark.parametrize(
    ("kind", "factor"), [("-R", 1), ("-W2", 3 / 2), ("-W3", 4 / 3), ("-W5", 2), ("-W6", 1)]
)
def test_bandwidth_matrix_counts_reads_for_ownership(kind: str, factor: float) -> None:
    printed, _ = mlc(f"--bandwidth_matrix {kind}")
    rows = [[float(cell) for cell in line.split()[1:]] for line in printed[-2:]]
    assert rows == [
        pytest.approx([80e3 * factor, 40e3 * factor, 10e3 * factor], abs=0.1),
        pytest.approx([40e3 * factor, 80e3 * factor, 10e3 * factor], abs=0.1),
    ]


def test_bandwidth_matrix_of_some_cpus() -> None:
    bench = KnownBench()
    mlc("--bandwidth_matrix -k0-1,5", bench)
    assert [[worker.cpu for worker in workers] for _, workers in bench.seen] == [[0, 1]] * 3 + [
        [5]
    ] * 3


def test_peak_and_max_bandwidth() -> None:
    printed, _ = mlc("--peak_injection_bandwidth")
    assert printed[-5:] == [
        "ALL Reads        :\t160000.0",
        "3:1 Reads-Writes :\t213333.3",
        "2:1 Reads-Writes :\t240000.0",
        "1:1 Reads-Writes :\t320000.0",
        "Stream-triad like:\t160000.0",
    ]
    printed, result = mlc("--max_bandwidth -X")
    assert printed[-5] == "ALL Reads        :\t80000.00"
    assert "Using only one thread from each core if Hyper-threading is enabled" in printed
    assert result["results"]["max_bandwidth"]["peaks"][0]["delay_cycles"] == 0
    printed, _ = mlc("--peak_injection_bandwidth -U")
    assert any("Stream-triad like is sequential only" in line for line in printed)


def test_loaded_latency() -> None:
    bench = KnownBench()
    printed, result = mlc("--loaded_latency -x3", bench)
    at = printed.index("==========================")
    assert printed[at - 2 : at] == ["Inject\tLatency\tBandwidth", "Delay\t(ns)\tMB/sec"]
    assert printed[at + 1] == " 00000\t150.00\t 140426.7", (
        "with the latency thread's own 64 B / 150 ns"
    )
    assert [int(line.split()[0]) for line in printed[at + 1 :]] == list(DELAYS)
    bandwidths = [float(line.split()[2]) for line in printed[at + 1 :]]
    assert bandwidths == sorted(bandwidths, reverse=True)
    assert len(result["results"]["loaded_latency"]["rows"]) == len(DELAYS)
    chase, workers = bench.seen[0]
    assert chase.cpu == 0
    assert [worker.cpu for worker in workers] == [1, 2, 3, 4, 5, 6, 7]


def test_a_delay_is_in_cycles_per_two_lines_on_the_bus() -> None:
    bench = KnownBench(ghz=2.0)
    mlc("--loaded_latency -d1000 -R", bench)
    mlc("--loaded_latency -d1000 -W5", bench)
    # 1000 cycles at 2 GHz are 500 ns, and 2 KiB are 32 lines: 16 delays of reads.
    assert bench.seen[0][1][0].pause_ns == pytest.approx(8000)
    # A stored line crosses the bus twice.
    assert bench.seen[1][1][0].pause_ns == pytest.approx(16000)


def test_bandwidth_only() -> None:
    bench = KnownBench()
    printed, _ = mlc("--loaded_latency -d0 -T -W6 -B", bench)
    row = printed.index(" 00000\t  0.00\t 160000.0")
    assert len(printed) == row + 1 + 8, "-B: a line for every thread"
    assert bench.seen[0][0] is None


def test_loaded_latency_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "perthreadfile"
    path.write_text(
        "0-1 R seq 200m dram 0\n4 W6 rand 100m dram 2 50\n5 R seq 1m pmem /mnt/pmem0\n"
        "6 W21 seq 1m dram 1 dram 1 50\n"
    )
    bench = KnownBench()
    printed, _ = mlc(f"--loaded_latency -d0 -T -o {path}", bench)
    (_, workers) = bench.seen[0]
    assert [worker.cpu for worker in workers] == [0, 1, 4, 5, 6]
    assert [worker.kernel for worker in workers] == ["read"] * 2 + ["nt-store-random"] + [
        "read"
    ] * 2
    assert [worker.place.node for worker in workers] == [0, 0, 2, None, 1]
    assert workers[3].place.folder == Path("/mnt/pmem0")
    assert [worker.pause_ns > 0 for worker in workers] == [False, False, True, False, False]
    mlc(f"--loaded_latency -d0 -o {path}", bench)
    chase, workers = bench.seen[1]
    assert chase.cpu == 0
    assert [worker.cpu for worker in workers] == [1, 4, 5, 6]
    assert " 00000\t  0.00\t" in printed[-1]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("9 R seq 1m dram", "line 1: this process may not use CPU 9"),
        ("1 R seq 1m dram 3", "line 1: there is no node 3; there are: 0, 1, 2"),
        ("1 W10 rand 1m dram", "line 1: traffic W10 is sequential only"),
        ("0 R seq 1m dram", "no CPU is left"),
        ("1 W21 seq 1m dram 0 dram 1 50", "two different memories in one thread"),
    ],
)
def test_a_file_with_unsupported_requests_is_refused(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "perthreadfile"
    path.write_text(line + "\n")
    with pytest.raises(NearfarError, match=re.escape(says)):
        mlc(f"--loaded_latency -d0 -o {path}")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--idle_latency -c8", "-c: this process may not use CPU 8; it may use 0-7"),
        ("--idle_latency -j7", "-j: there is no node 7; there are: 0, 1, 2"),
        ("--loaded_latency -k1-64", "-k: this process may not use CPU 8"),
        ("--loaded_latency -k0-3", "CPU 0 measures latency"),
        ("--loaded_latency -l128 -W2", "a stride of more than 64 bytes is for"),
        ("--loaded_latency -U -W10", "sequential only"),
        ("--loaded_latency -Z -Q -W2", "goes with W5 only"),
    ],
)
def test_missing_resources_are_refused(line: str, says: str) -> None:
    with pytest.raises(NearfarError, match=re.escape(says)):
        mlc(line)


def test_a_node_without_memory() -> None:
    class Empty(KnownBench):
        def nodes(self) -> list[Any]:
            first, second, third = super().nodes()
            return [first, replace(second, memory_bytes=0), third]

    with pytest.raises(CommandError, match="node 1 has no memory"):
        mlc("--idle_latency -j1", Empty())
    assert "\t     1" not in mlc("--latency_matrix", Empty())[0][-3], "nor a column"


def test_flushes() -> None:
    bench = KnownBench()
    mlc("--loaded_latency -T -d0 -Z -Q -W5", bench)
    assert bench.seen[0][1][0].kernel == "persist-clflushopt-sequential"
    printed, _ = mlc("--loaded_latency -T -d0 -Z -Q -W6", bench)
    assert any("nothing in caches to flush" in line for line in printed)


def test_cache_to_cache() -> None:
    printed, result = mlc("--c2c_latency")
    assert "Local Socket L2->L2 HIT  latency\t41.0" in printed
    assert "Local Socket L2->L2 HITM latency\t51.0" in printed
    assert printed[-3:] == [
        "Writer Numa Node     0\t     1",
        "            0\t     -\t 112.0",
        "            1\t 112.0\t     -",
    ]
    assert len(result["results"]["c2c_latency"]["pairs"]) == 4


def test_a_run_without_arguments_runs_all_modes_of_mlc() -> None:
    printed, result = mlc("-x3 -X")
    assert tuple(result["results"]) == BARE
    # Public parsers search for these sections.
    for title in (
        "Measuring idle latencies for random access",
        "Measuring Peak Injection Memory Bandwidths",
        "Measuring Memory Bandwidths between nodes",
        "Measuring Loaded Latencies for the system",
        "Measuring cache-to-cache transfer latency",
    ):
        assert sum(title in line for line in printed) == 1


def test_messages_never_interrupt_a_table(tmp_path: Path) -> None:
    class Says(KnownBench):
        def check(self, chase: Any, workers: Any) -> list[str]:
            return ["something is not as asked"]

    path = tmp_path / "perthreadfile"
    path.write_text("0-1 R seq 200m dram 0\n")
    for line in ("--loaded_latency", f"--loaded_latency -d0 -o {path}"):
        printed, _ = mlc(line, Says())
        table = printed[printed.index("==========================") + 1 :]
        assert "*** something is not as asked" in printed
        assert all(re.fullmatch(r" [0-9]{5}\t *[0-9.]+\t *[0-9.]+", row) for row in table)
