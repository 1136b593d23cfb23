"""`nearfar measure --kernel`: options that shape it, and refusals of one sentence."""

from __future__ import annotations

import json

import pytest

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode

TINY = ["measure", "--largest", "1MiB", "--repetitions", "2", "--kernel"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main([*TINY, *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_each_prints_percentiles(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "chase", "--each")
    assert code == ExitCode.DONE
    assert "p99.99" in out
    assert "ns per access" in out


def test_json_has_the_chosen_options(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("persist-store", "--access", "256", "--fence-every", "4", "--isa", "scalar", "--json")
    code, out, _ = run(capsys, *words)
    assert code == ExitCode.DONE
    result = json.loads(out)
    assert (result["access_bytes"], result["fence_every"], result["isa"]) == (256, 4, "scalar")
    assert result["unit"] == "ns per access"


@pytest.mark.parametrize("share", ["75%", "0.75"])
def test_a_read_share_as_percent_or_fraction(
    capsys: pytest.CaptureFixture[str], share: str
) -> None:
    _, out, _ = run(capsys, "mixed", "--read-share", share, "--json")
    assert json.loads(out)["read_share"] == 0.75


def test_the_list_reports_kernels_that_cannot_run_here(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list")
    assert code == ExitCode.DONE
    assert "persist-clwb-sequential" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["mixed", "--read-share", "101%"], "0% to 100%"),
        (["mixed", "--read-share", "half"], "0% to 100%"),
        (["read", "--read-share", "50%"], "has no read share"),
        (["chas"], "did you mean 'chase'"),
        (["read-random", "--access", "100"], "multiple of 64"),
        (["read-strided", "--access", "256", "--stride", "64"], "would overlap"),
        (["chase", "--window", "64", "--access", "128"], "less than one access"),
        (["read-random", "--access", "512KiB"], "too small for accesses"),
        (["persist-store", "--fence-every", "0"], "at least 1"),
        (["read", "--each"], "cannot time each access"),
        (["chase", "--each", "--threads", "2"], "leave --threads out"),
        (["read", "--isa", "avx1024"], "--isa is one of"),
        (["nt-store", "--isa", "scalar"], "has no non-temporal stores"),
        (["read", "--threads", "4096"], "threads"),
        (["chase", "--chains", "2"], "has no chains"),
    ],
)
def test_impossible_options_are_refused_in_one_sentence(
    capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    code, _, err = run(capsys, *words)
    assert code in (ExitCode.WRONG_USE, ExitCode.MACHINE_LACKS)
    assert says in err
    assert err.count("\n") == 1


def test_shapes_without_a_kernel_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "--access", "256"]) == ExitCode.WRONG_USE
    assert "are for --kernel" in capsys.readouterr().err
