"""MLC's modes on a model: results of its points, and refusals."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from like_subject import FAR_NS, NEAR_NS, KnownSubject

from nearfar.base.errors import CommandError
from nearfar_like.mlc import measure
from nearfar_like.mlc.arguments import parse
from nearfar_like.model import ModelBench


def mlc(line: str, subject: KnownSubject | None = None) -> tuple[list[str], dict[str, Any]]:
    printed: list[str] = []
    bench = ModelBench("model:known", subject or KnownSubject())
    return printed, measure(parse(shlex.split(line)), bench, printed.append)


def test_idle_latency() -> None:
    subject = KnownSubject()
    printed, _ = mlc("--idle_latency -r -b16m", subject)
    assert (
        printed[-1] == f"Each iteration took {NEAR_NS:.1f} base frequency clocks (\t{NEAR_NS}\tns)"
    )
    point = subject.seen[0]
    assert (point.region_bytes, point.stride_bytes, point.window_bytes) == (
        16 << 20,
        128,
        256 << 10,
    )
    assert point.page_bytes == 4096
    printed, _ = mlc("--latency_matrix -r -b32m -L")
    assert float(printed[-1].split()[-1]) == pytest.approx((NEAR_NS + FAR_NS) / 2)


def test_instruction_sets_do_not_apply_to_models() -> None:
    printed, _ = mlc("--idle_latency -r -b16m -Z")
    assert any("-Z changes nothing" in line for line in printed)


def test_bandwidth() -> None:
    printed, _ = mlc("--peak_injection_bandwidth -b1m")
    rates = [float(line.split(":\t")[1]) for line in printed[-5:]]
    # 4 threads; ordinary stores with their reads for ownership; the triad as a mix.
    assert rates == pytest.approx([16e3, 10e3 * 4 / 3, 10e3 * 3 / 2, 4e3 * 2, 12e3], abs=0.1)


def test_loaded_latency_explains_delays() -> None:
    printed, result = mlc("--loaded_latency -d1000 -r -b16m")
    assert "*** delays are in ns: a model has no clock" in printed
    row = result["results"]["loaded_latency"]["rows"][0]
    drawn = 3 / (1 / 4 + 16000 / 2048)
    assert row["bandwidth"]["value_mb_per_s"] == pytest.approx(
        1e3 * (drawn + 64 / row["latency"]["value_ns"]), rel=1e-6
    )


def test_a_run_without_arguments_leaves_out_cores() -> None:
    printed, result = mlc("-b16m -x3")
    assert "c2c_latency" not in result["results"]
    assert any("is a memory and has no cores" in line for line in printed)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--c2c_latency", "has no cores"),
        ("--idle_latency -b1g", "use a smaller -b"),
        ("--idle_latency -J/mnt/pmem0", "has no folders"),
        ("--loaded_latency -T -d100", "delays go with latency"),
        ("--idle_latency -c9", "this process may not use CPU 9"),
        ("--idle_latency -j1", "there is no node 1"),
        ("--memory_bandwidth_scan", "no physical memory"),
    ],
)
def test_refused(line: str, says: str) -> None:
    with pytest.raises(CommandError, match=says):
        mlc(line)


def test_a_kernel_that_the_model_lacks_is_refused() -> None:
    with pytest.raises(CommandError, match="has no kernel 'write'"):
        mlc("--loaded_latency -W5 -d0 -b1m", KnownSubject(without=("write",)))


def test_lines_of_a_file_must_be_equal(tmp_path: Any) -> None:
    path = tmp_path / "file"
    path.write_text("0 R seq 1m dram\n1 W6 seq 1m dram\n")
    with pytest.raises(CommandError, match="all threads do the same"):
        mlc(f"--loaded_latency -T -d0 -o {path}")
