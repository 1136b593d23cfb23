"""STREAM's table and validation."""

from __future__ import annotations

import pytest
from like_subject import KnownSubject

from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar_like.stream import StreamOptions, parse, stream
from nearfar_like.stream.arrays import STREAM_FUNCTIONS
from nearfar_like.stream.model import ModelArrays


def test_command_lines() -> None:
    assert parse([], {}) == StreamOptions()
    assert parse(["-n", "1000", "-t5", "--threads=2"], {"OMP_NUM_THREADS": "7"}) == StreamOptions(
        elements=1000, trials=5, threads=2
    )
    assert parse(["node:1"], {"OMP_NUM_THREADS": "7"}) == StreamOptions("node:1", threads=7)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-n"], "-n needs a value"),
        (["-n", "20m"], "no whole number"),
        (["-t", "1"], "at least 2"),
        (["--threads", "0"], "at least 1"),
        (["--thread-count", "2"], "stream has no option --thread-count"),
        (["-x"], "it has -n, -t and --threads"),
        (["dram", "node:1"], "one memory at a time"),
    ],
)
def test_refused(words: list[str], says: str) -> None:
    with pytest.raises(CommandError, match=says):
        parse(words, {})


def test_threads_of_openmp_must_be_a_number() -> None:
    with pytest.raises(CommandError, match="OMP_NUM_THREADS='4,2' is no number"):
        parse([], {"OMP_NUM_THREADS": "4,2"})


def test_the_table() -> None:
    printed: list[str] = []
    arrays = ModelArrays("model:known", 4, KnownSubject())
    result = stream(arrays, StreamOptions("model:known", 10_000_000, 3), printed.append)
    head = printed.index("Function    Best Rate MB/s  Avg time     Min time     Max time")
    # 4 threads at 1.6 GB/s move 160 MB in 25 ms.
    assert printed[head + 1] == "Copy:            6400.0     0.025000     0.025000     0.025000"
    assert printed[head + 3] == "Add:             9600.0     0.025000     0.025000     0.025000"
    assert [row["function"] for row in result["results"]] == [
        name.lower() for name in STREAM_FUNCTIONS
    ]
    assert "Array size = 10000000 (elements), Offset = 0 (elements)" in printed
    assert "STREAM-like" in printed[1]
    assert "a model holds no data" in printed[-2]


def test_the_first_trial_is_left_out() -> None:
    class Slow(ModelArrays):
        first = True

        def gb_per_s(self, function: object) -> float:
            slow, self.first = self.first, False
            return 0.1 if slow else 10.0

    printed: list[str] = []
    result = stream(Slow("m", 4, KnownSubject()), StreamOptions("m", 10_000_000, 2), printed.append)
    assert result["results"][0]["most_s"] == pytest.approx(160e6 / 10e9)


def test_wrong_elements_fail_the_validation() -> None:
    class Wrong(ModelArrays):
        def wrong(self, function: object) -> list[str]:
            return ["Copy: 3 elements"]

    with pytest.raises(NearfarError, match="Failed Validation: Copy: 3 elements") as caught:
        stream(Wrong("m", 4, KnownSubject()), StreamOptions("m", 10_000_000, 2), lambda _: None)
    assert caught.value.exit_code == ExitCode.FOUND


def test_arrays_that_fit_in_caches_give_a_warning() -> None:
    class Cached(ModelArrays):
        def __init__(self) -> None:
            super().__init__("m", 4, KnownSubject())
            self.llc_bytes = 32 << 20

    def notes(elements: int) -> list[str]:
        printed: list[str] = []
        notes = stream(Cached(), StreamOptions("m", elements, 2), printed.append)["notes"]
        assert all(note in printed for note in notes)
        return [note for note in notes if "WARNING" in note]

    least = 4 * (32 << 20) // 8
    assert notes(0) == notes(least) == []
    (warning,) = notes(2_000_000)
    assert "15.3 MiB" in warning
    assert f"-n {least}" in warning
