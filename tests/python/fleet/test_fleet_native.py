"""Native rows of profiles: equal to those of Python's documents, and never of a bad profile."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest

from nearfar.base.errors import NearfarError
from nearfar.documents import WorkloadProfile
from nearfar.documents.header import read_document
from nearfar.documents.workload import AccessClasses
from nearfar.fleet.cache import condense
from nearfar.fleet.native_types import profile_rows

MOST_BYTES = 1 << 46
INPUTS = Path(__file__).parents[2] / "golden" / "inputs"
PROFILES = sorted(
    path for path in INPUTS.glob("*.json") if b'"workload-profile"' in path.read_bytes()[:100]
)

Row = tuple[str, int, float, float, float, float]


def python_rows(profile: WorkloadProfile) -> list[Row]:
    sums = np.zeros((4, len(profile.objects)))
    for phase in profile.phases:
        for row in phase.objects:
            traffic = row.traffic
            read, followed = traffic.read_misses, traffic.read_sequential
            chase = read.chase - followed.chase
            independent = read.indirect - followed.indirect + read.opaque - followed.opaque
            stream = read.total() - chase - independent + traffic.write_misses.total()
            sums[:, row.object] += (chase, independent, stream, traffic.write_backs)
    return [
        (each.name, each.size_bytes, *map(float, column))  # type: ignore[misc]
        for each, column in zip(profile.objects, sums.T, strict=True)
    ]


def native_rows(data: bytes) -> list[Row] | None:
    """Return the rows of a profile; None: the native reader does not accept it."""
    rows = profile_rows(MOST_BYTES)
    if rows.add(data) is None:
        assert len(rows.columns.bytes) == 0
        return None
    found = rows.columns
    text, begins = found.names.tobytes(), found.name_begins.tolist()
    names = [text[a:b].decode() for a, b in pairwise(begins)]
    numbers = (found.bytes, found.chase, found.independent, found.stream, found.write_back)
    return list(zip(names, *(column.tolist() for column in numbers), strict=True))


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_native_rows_equal_those_of_the_document(path: Path) -> None:
    data = path.read_bytes()
    expected = python_rows(read_document(data, "it", WorkloadProfile))
    compact = msgspec.json.encode(msgspec.json.decode(data))
    for written in (data, compact):
        rows = native_rows(written)
        assert rows is not None
        assert [row[:2] for row in rows] == [row[:2] for row in expected]
        assert np.allclose([row[2:] for row in rows], [row[2:] for row in expected], rtol=1e-13)


def rich_profile() -> dict[str, Any]:
    """Return a profile that has every part to which a rule applies."""
    document: dict[str, Any] = json.loads((INPUTS / "lookup.json").read_text())
    document["size"] = {"n": 100.0}
    document["page_curve_bytes"] = [262144.0, 524288.0]
    rows = document["phases"][0]["objects"]
    rows[0]["page_curve"] = {
        "first": 3.0,
        "faults": [2.0, 0.0],
        "written": [1.0, 0.0],
        "times": [1.0, 2.5e3],
    }
    rows[0]["ranges"] = {
        "read_misses": [1.5, 2.0],
        "write_misses": [0.25, 0.0],
        "write_backs": [0.5, 0.0],
        "second_half": [1.0, 1.0],
    }
    rows[0]["intervals"] = [{"begin_s": 0.0, "end_s": 1.0, "llc_misses": 12.0}]
    document["checks"] = [
        {
            "phase": document["phases"][0]["name"],
            "source": "qemu",
            "complete": True,
            "relative_error": 0.1,
            "objects": [copy.deepcopy(rows[0])],
        }
    ]
    return document


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of every value in a document."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def damaged(document: Any, dice: random.Random) -> Any:
    """Return a copy of a document in which one value is another one, twice there, or missing."""
    made = copy.deepcopy(document)
    container, key = dice.choice(list(places(made)))
    value = container[key]
    if isinstance(container, list):
        container.insert(key, value)
    elif dice.random() < 0.1:
        container["unknown"] = value
    others = [None, True, "", "x", '\u00e9\n"\\', -1, 0, 1, 2**62, 2**63, 10**25, -0.0, 0.1]
    others += [1.0 + 1e-15, 12345678901234567.0, 1e-320, 1e300, [], [value], {}, {"x": 1}]
    if isinstance(value, int | float):
        others += [value * 2, value / 3, value + 1, -value]
    if dice.random() < 0.2:
        del container[key]
    else:
        container[key] = dice.choice(others)
    return made


def test_no_damaged_profile_is_accepted_that_python_refuses() -> None:
    dice = random.Random(7)
    document = rich_profile()
    assert native_rows(json.dumps(document).encode()) is not None
    accepted = refused = 0
    for _ in range(1000):
        data = json.dumps(damaged(document, dice)).encode()
        rows = native_rows(data)
        try:
            profile = read_document(data, "it", WorkloadProfile)
        except NearfarError:
            assert rows is None, data
            refused += 1
            continue
        if rows is not None:
            accepted += 1
            assert rows == python_rows(profile), data
        # What Python writes again is read natively, so that no valid profile is lost.
        written = profile_rows(1 << 62).add(msgspec.json.encode(profile), plain=True)
        total = sum(each.size_bytes for each in profile.objects)
        assert (written is not None) == (total <= 1 << 62), data
    assert min(accepted, refused) > 100


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1],
        lambda text: text + "x",
        lambda text: text.replace('"id": 0', '"id": 00'),
        lambda text: text.replace('"id": 0', '"id": 0, "id": 0'),
        lambda text: text.replace('"id": 0', '"id": 0,'),
        lambda text: text.replace('"line": ', '"line": +'),
        lambda text: text.replace('"instrumented_slowdown": ', '"instrumented_slowdown": .'),
        lambda text: text.replace('"instrumented_slowdown": ', '"instrumented_slowdown": NaN'),
        lambda text: text.replace('"name": "', '"name": "\t'),
        lambda text: text.replace('"name": "', '"name": "\\u0007'),
        lambda text: text.replace('"objects": [', '"objects": [,'),
    ],
)
def test_malformed_json_is_not_accepted(change: Any) -> None:
    text = json.dumps(rich_profile())
    changed = change(text)
    assert changed != text
    assert native_rows(changed.encode()) is None


def test_numbers_are_the_nearest_doubles() -> None:
    dice = random.Random(3)
    counts = [dice.uniform(0, 10 ** dice.uniform(-20, 29)) for _ in range(300)]
    texts = [repr(each) for each in counts] + [f"{each:.{dice.randint(0, 25)}f}" for each in counts]
    texts += ["9007199254740993", "9007199254740992.5", "0.1e1", "1E+2", "1e-5", "4.35", "-0.0"]
    document = rich_profile()
    traffic = document["phases"][0]["objects"][0]["traffic"]
    traffic["read_misses"] = {}
    traffic["read_sequential"] = {}
    traffic["write_misses"] = {}
    head, tail = json.dumps(document).split('"read_misses": {}', 1)
    for text in texts:
        data = f'{head}"read_misses": {{"chase": {text}}}{tail}'.encode()
        read = read_document(data, "it", WorkloadProfile)
        rows = native_rows(data)
        assert rows is not None, text
        assert rows == python_rows(read), text


def test_unusual_texts_are_kept_in_the_rows(tmp_path: Path) -> None:
    document = rich_profile()
    names = ['quote " and \\', "caf\u00e9", "bell \u0007", "line\nbreak", "plain"]
    document["objects"] = [
        {**document["objects"][0], "id": i, "name": name} for i, name in enumerate(names)
    ]
    for phase in document["phases"]:
        phase["objects"] = phase["instructions"] = []
    document["checks"] = []
    document["producer"]["host"] = "h\u00f6st"
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(document, ensure_ascii=False))
    condense([str(path)], tmp_path, "rows")
    profile = read_document(path.read_bytes(), "it", WorkloadProfile)
    kept = pq.read_table(tmp_path / "rows-objects.parquet").column("object").to_pylist()
    assert kept == [each.name for each in profile.objects]
    (row,) = pq.read_table(tmp_path / "rows-profiles.parquet").to_pylist()
    assert (row["host"], row["objects"], row["problem"]) == ("h\u00f6st", len(names), "")


def test_a_number_beyond_64_bits_makes_a_bad_profile_and_no_end(tmp_path: Path) -> None:
    document = json.loads((INPUTS / "bursts.json").read_text())
    paths = [tmp_path / "good.json", tmp_path / "bad.json"]
    paths[0].write_text(json.dumps(document))
    document["bursts"]["blocks"][0]["begin"] = 2**63
    paths[1].write_text(json.dumps(document))
    condense([str(path) for path in paths], tmp_path, "rows")
    rows = pq.read_table(tmp_path / "rows-profiles.parquet").to_pylist()
    problems = {row["uri"]: row["problem"] for row in rows}
    assert problems[str(paths[0])] == ""
    assert "64 bits" in problems[str(paths[1])]


def test_every_class_of_access_is_in_its_sum() -> None:
    document = rich_profile()
    traffic = document["phases"][0]["objects"][0]["traffic"]
    empty = dict.fromkeys(AccessClasses.__struct_fields__, 0.0)
    for misses in ("read_misses", "read_sequential", "write_misses"):
        for access in empty:
            for each in ("read_misses", "read_sequential", "write_misses"):
                traffic[each] = {**empty, access: 16.0} if each == misses else dict(empty)
            data = json.dumps(document).encode()
            assert native_rows(data) == python_rows(read_document(data, "it", WorkloadProfile))
