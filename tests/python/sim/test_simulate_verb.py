"""The verb `simulate`: output and refusals."""

from __future__ import annotations

import json

import pytest

from nearfar.__main__ import main


def _run(*arguments: str) -> int:
    try:
        return int(main(["simulate", "--device", "optane-100-1dimm", *arguments]) or 0)
    except SystemExit as end:
        return int(end.code or 0)


def test_shares_add_up_and_name_their_level(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--region", "64MiB", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert sum(answer["shares"].values()) == pytest.approx(1)
    assert answer["shares"]["medium"] > 0.5
    assert answer["amplification"] == pytest.approx(4, rel=0.02)


def test_lines_in_flight_obey_littles_law(capsys: pytest.CaptureFixture[str]) -> None:
    """Bandwidth times latency is the number in flight; more in flight never lowers bandwidth."""
    drawn = []
    for count in (1, 16, 1000):
        arguments = ("--pattern", "random", "--in-flight", str(count), "--json")
        assert _run("--region", "64MiB", *arguments) == 0
        loaded = json.loads(capsys.readouterr().out)["loaded"]
        assert loaded["gb_per_s"] * loaded["ns_per_line"] == pytest.approx(64 * count, rel=1e-6)
        drawn.append(loaded["gb_per_s"])
    assert drawn == sorted(drawn)


def test_memory_mode_is_reported_as_not_validated(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--region", "1GiB", "--memory-mode", "2GiB") == 0
    text = capsys.readouterr().out
    assert "not validated on hardware" in text
    assert "100.00% DRAM cache" in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--access", "100B"), "multiple of 64 B"),
        (("--in-flight", "4"), "do not wait for each other"),
        (("--pattern", "random", "--in-flight", "0.5"), "from 1 to"),
        (("--stride", "4KiB"), "--stride needs --pattern strided"),
        (("--region", "1B"), "at least one stride"),
        (("--region", "1TiB"), "below 128 GiB"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(*arguments) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert "Traceback" not in error
