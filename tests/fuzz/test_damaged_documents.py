"""Damaged documents and wrong command lines are answered by one sentence, never by a traceback."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from pathlib import Path

import pytest

from nearfar.base.errors import NearfarError
from nearfar.documents.gate import decoded, visible
from nearfar.documents.header import read_document
from nearfar.documents.workload import WorkloadProfile

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import damage  # noqa: E402

QUICK_SEEDS = range(120)
FOUND_SEEDS = (1019, 3906, 4082, 5594, 5910, 12138, 12768, 13694, 15903, 17513)
"""Seeds that half an hour found to fail; what they damage depends on the documents' fields."""
LONG_SECONDS = 30 * 60
BAD_INPUTS = [
    line.split(" ", 2)
    for line in (HERE / "bad_inputs.txt").read_text().splitlines()
    if not line.startswith("#")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return damage.folder_of_inputs(tmp_path_factory.mktemp("documents"))


def test_damaged_documents_are_read_or_refused(folder: Path) -> None:
    failures = [damage.failure(folder, seed) for seed in (*QUICK_SEEDS, *FOUND_SEEDS)]
    assert not [failure for failure in failures if failure]


@pytest.mark.long
def test_half_an_hour_of_damaged_documents(folder: Path) -> None:
    end = time.monotonic() + LONG_SECONDS
    seed, failures = QUICK_SEEDS.stop, []
    while time.monotonic() < end:
        failures += [failure] if (failure := damage.failure(folder, seed)) else []
        seed += 1
    assert not failures, f"{len(failures)} of {seed} failed: {failures[:20]}"


@pytest.mark.parametrize(("code", "word", "line"), BAD_INPUTS)
def test_wrong_lines_are_refused_in_one_sentence(
    folder: Path, code: str, word: str, line: str
) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    with contextlib.chdir(folder):
        ended, _, err, raised = damage.run(line)
    assert (ended, raised) == (int(code), ""), err
    last = [text for text in err.splitlines() if text.startswith("nearfar: ")][-1]
    assert word == "-" or word in last
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rb'"\u001b[31m"', "\\u001b[31m"),
        (rb'"\\u001b"', "\\u001b"),
        (rb'"\\\u001b"', "\\\\u001b"),
        (rb'"a\nb\tc\"d"', 'a\nb\tc"d'),
        (rb'"\r\b\f"', "\\r\\b\\f"),
        ('"\x7f\x9b"'.encode(), "\\u007f\\u009b"),
        ('"für 漢字"'.encode(), "für 漢字"),
    ],
)
def test_control_characters_become_visible(text: bytes, expected: str) -> None:
    assert decoded(visible(text), "name.json", str) == expected


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("cache", "size_bytes"), -(2**20), "Expected `int` >= 1"),
        (("objects", 0, "size_bytes"), -5, "Expected `int` >= 0"),
        (("objects", 0, "size_bytes"), 1e24, "cache"),
        (("objects", 1, "id"), 7, "objects[1] has the id 7"),
        (("phases", 0, "objects", 0, "object"), 10_000, "there is no object 10000"),
        (("phases", 0, "objects", 0, "curve", "read"), [1.0], "has 1 points"),
        (("phases", 0, "near_cpu_time_ns", "low"), 1e29, "low <= value <= high"),
        (("curve_bytes",), [2.0, 1.0], "curve_bytes must rise"),
    ],
)
def test_profiles_that_contradict_themselves(
    path: tuple[str | int, ...], value: object, sentence: str
) -> None:
    document = json.loads((damage.INPUTS / "lookup.json").read_text())
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    with pytest.raises(NearfarError) as caught:
        read_document(json.dumps(document).encode(), "lookup.json", WorkloadProfile)
    assert str(caught.value).startswith("lookup.json is not a valid workload-profile: ")
    if value != 1e24:  # msgspec's own sentence of a number that is too large differs by version
        assert sentence in str(caught.value)
