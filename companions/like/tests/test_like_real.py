"""The verb on this machine runs, prints what scripts parse, and refuses in one sentence."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from nearfar import _measure
from nearfar.__main__ import main
from nearfar.measure import room
from nearfar.memories import checks
from nearfar_like.bench import BufferPlace, Worker
from nearfar_like.mlc import scan
from nearfar_like.real import RealBench
from nearfar_like.repeat import Effort
from nearfar_like.stream import real
from nearfar_like.stream.arrays import STREAM_FUNCTIONS

SMALL = ("-b8m", "-x3")


@dataclass
class _Finished:
    """The exit code and output of a command."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def like(capsys: pytest.CaptureFixture[str]) -> Callable[..., _Finished]:
    """Return a function that runs ``nearfar measure --like ...`` in this process."""

    def run(*arguments: str, before: tuple[str, ...] = ("--like",)) -> _Finished:
        code = main(["measure", *before, *arguments])
        out, err = capsys.readouterr()
        return _Finished(code, out, err)

    return run


Like = Callable[..., _Finished]


@pytest.mark.timing
def test_idle_latency_and_its_json(like: Like) -> None:
    done = like("mlc", "--idle_latency", "-r", "-l64", *SMALL)
    assert done.returncode == 0, done.stderr
    match = re.search(r"Each iteration took +([0-9.]+) .*\(\s*([0-9.]+)\s*ns\)", done.stdout)
    assert match is not None
    assert float(match[2]) > 0
    as_json = json.loads(like("mlc", "--idle_latency", "-r", "--json", *SMALL).stdout)
    idle = as_json["results"]["idle_latency"]
    assert idle["low_ns"] <= idle["value_ns"] <= idle["high_ns"]
    assert idle["samples"] == 3
    assert as_json["arguments"] == ["--idle_latency", "-r", *SMALL]


@pytest.mark.parametrize("kind", ["-R", "-W2", "-W3", "-W5", "-W6", "-W7", "-W8", "-W9", "-W10",
                                  "-W11", "-W12", "-W19"])  # fmt: skip
def test_every_traffic_type_runs(like: Like, kind: str) -> None:
    done = like("mlc", "--loaded_latency", "-T", "-d0", kind, *SMALL)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^ 00000\t  0\.00\t +[0-9.]+$", done.stdout, re.MULTILINE)


def test_the_guides_line_with_a_file(
    like: Like, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "perthreadfile").write_text(f"0 R seq 8m pmem {tmp_path}\n")
    done = like("mlc", "--loaded_latency", "-d0", "-T", "-operthreadfile", "-x3")
    assert done.returncode == 0, done.stderr
    assert "is not on a DAX file system" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["perthreadfile"]


@pytest.mark.timing
def test_delays_slow_traffic_down() -> None:
    bench = RealBench()
    cpu = bench.nodes()[0].cpus[0]
    rates = []
    for pause in (0.0, 20e3):
        workers = [Worker(cpu, BufferPlace(), 8 << 20, "read", pause_ns=pause)]
        rates.append(bench.measure(None, workers, Effort(0)).gb_per_s[0][0])
    # 2 KiB per 20 us and a little more.
    assert 0.02 < rates[1] < 0.11 < rates[0]


def test_instruction_sets(like: Like) -> None:
    done = like("mlc", "--loaded_latency", "-T", "-d0", "-Y", "--json", *SMALL)
    if "avx2" in _measure.isas():
        assert json.loads(done.stdout)["vector"] == "avx2"
    else:
        assert (done.returncode, "has no avx2" in done.stderr) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["mlc", "--idle_latency", "-b4096g"], 3, "do not fit on node 0"),
        (["mlc", "--idle_latency", "-c4000"], 3, "this process may not use CPU 4000"),
        (["mlc", "--idle_latency", "-j99"], 3, "there is no node 99"),
        (["mlc", "--idle_latency", "-J/nowhere"], 3, "there is no /nowhere"),
        (["mlc", "--idle_latency", "-J/etc/passwd"], 2, "is no folder"),
        (["mlc", "--loaded_latency", "-k0-4000"], 3, "this process may not use CPU"),
        (["mlc", "--loaded_latency", "-o/nowhere"], 2, "cannot read /nowhere"),
        (["mlc", "--latency_matrx"], 2, "did you mean 'latency_matrix'"),
        (["mlc", "model:nowhere"], 2, "nowhere"),
        (["stream", "-n1000000000000"], 3, "or fewer"),
        (["stream", "--threads", "4000"], 3, "use --threads"),
        (["stream", "drum"], 2, "did you mean"),
        (["lens", "node:99"], 3, "node 99"),
        (["mcl"], 2, "did you mean 'mlc'"),
        ([], 2, "one of lens, mlc, stream"),
    ],
)
def test_refused(like: Like, arguments: list[str], code: int, says: str) -> None:
    done = like(*arguments)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert done.stderr.count("\n") == 1, "one sentence"


def test_options_before_like(like: Like) -> None:
    for before in (
        ("model:optane-100-1dimm", "--like", "mlc"),
        ("--like=mlc", "model:thesis-dram"),
    ):
        done = like("--idle_latency", "-r", before=before)
        assert done.returncode == 0, done.stderr
        assert "Each iteration took" in done.stdout
    done = like(before=("--quick", "--like", "mlc"))
    assert done.returncode == 2
    assert "--quick does not go with --like" in done.stderr


@pytest.mark.parametrize("tool", ["mlc", "stream", "lens"])
def test_help(like: Like, tool: str) -> None:
    done = like(tool, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"nearfar measure --like {tool}")


def test_quiet_prints_nothing(like: Like) -> None:
    done = like("mlc", "--idle_latency", "-e", "--quiet", *SMALL)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_stream_validates(like: Like) -> None:
    done = like("stream", "-n", "100000", "-t", "3")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^Triad: +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$", done.stdout, re.MULTILINE)
    assert "Solution Validates" in done.stdout


@pytest.mark.parametrize("elements", [10_000, 560_000, 1_000_000])
def test_a_wrong_element_is_counted(elements: int) -> None:
    """Kernels stagger large arrays: the last size, and the middle one with the room for that."""
    arrays = real.RealArrays("dram", 1)
    assert arrays.prepare(elements) == elements
    for name in ("Copy", "Scale", "Add", "Triad"):
        function = STREAM_FUNCTIONS[name]
        arrays.fill(function)
        arrays.gb_per_s(function)
        assert arrays.wrong(function) == []
    (memory,) = arrays._memories.values()
    real._words(memory)[5] += 1  # a source of the triad: its result is wrong too
    (mistake,) = arrays.wrong(STREAM_FUNCTIONS["Triad"])
    assert mistake.startswith("Triad: 2 elements of CPU")


@pytest.mark.parametrize("isa", _measure.isas())
def test_numbers_beyond_32_bits_are_tripled_as_expected(isa: str) -> None:
    memory, lines = _measure.Memory.anonymous(1 << 20, "4k"), 4096
    words = real._words(memory)
    words[:] = real.numbers_from(2**32 - 1000, len(words))
    cpu, size = min(os.sched_getaffinity(0)), 8 * lines
    worker = _measure.Worker(cpu, "stream-scale", memory, region_bytes=16 * size, isa=isa)
    passes = 0.0
    while passes < 2:
        rate = _measure.together([worker], 5e6, 1e6).each[0].gb_per_s
        passes += rate * 5e6 / (16 * size)
    assert (words[:size] == real.numbers_from(2**32 - 1000, size)).all()
    assert (words[size : 2 * size] == 3 * words[:size]).all()


def test_cores_pass_lines(like: Like) -> None:
    done = like("mlc", "--c2c_latency")
    if len(os.sched_getaffinity(0)) < 2:
        assert done.returncode == 3
    else:
        assert re.search(r"Local Socket L2->L2 HITM latency\t[0-9.]+", done.stdout)


@pytest.mark.long
def test_lens_on_this_machine(like: Like) -> None:
    words = [
        "buffer",
        "policy",
        "--largest",
        "256KiB",
        "--writes",
        "1000",
        "--rounds",
        "2",
        "--no-infer",
    ]
    done = like("lens", "dram", *words)
    assert done.returncode == 0, done.stderr
    assert "Read amplification" in done.stdout


def test_the_scan_writes_every_block(like: Like, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "BLOCK_BYTES", 4 << 20)
    monkeypatch.setattr(room, "available_bytes", lambda: 14 << 20)
    done = like("mlc", "--memory_bandwidth_scan", "-t1", "--json")
    assert done.returncode == 0, done.stderr
    blocks = json.loads(done.stdout)["results"]["memory_bandwidth_scan"]["blocks"]
    assert len(blocks) == 3
    addresses = [block["physical_address"] for block in blocks]
    assert len(set(addresses)) == (3 if any(addresses) else 1)
    assert all(block["mb_per_s"] > 0 for block in blocks)


def test_missing_reserved_pages_are_reported(like: Like, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "free_huge_pages", lambda _bytes: 3)
    done = like("mlc", "--idle_latency", "-L", "-b200m")
    assert done.returncode == 3
    assert "-L: a buffer takes 100 reserved pages of 2.00 MiB, and 3 are free" in done.stderr
    assert "leave out -L" in done.stderr
