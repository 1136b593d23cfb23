"""Profiles of several runs are added, with any names of objects."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest
from forked import nearfar

sys.path.insert(0, str(Path(__file__).parent))
from compiling import compiled, profiled
from made_profiles import heap, made

from nearfar.base.errors import NearfarError
from nearfar.documents import WorkloadProfile, load, save
from nearfar.documents.workload import Frame, MemoryObject
from nearfar.profile.identity import align_objects
from nearfar.profile.merge import merge

pytestmark = pytest.mark.timing

NAMES = ["one.json", "other.json"]


def with_objects(profile: WorkloadProfile, *objects: MemoryObject) -> WorkloadProfile:
    return msgspec.structs.replace(profile, objects=list(objects))


def test_counts_and_times_add_up_and_memory_does_not() -> None:
    small, large = made(1e4), made(4e4)
    total = merge([small, large], NAMES, [10.0, 1.0])
    (phase,), (first,), (other,) = total.phases, small.phases, large.phases
    assert phase.near_cpu_time_ns.value == pytest.approx(
        10 * first.near_cpu_time_ns.value + other.near_cpu_time_ns.value
    )
    # Independent errors add to less than their sum.
    width = phase.near_cpu_time_ns.high - phase.near_cpu_time_ns.value
    widths = [p.near_cpu_time_ns.high - p.near_cpu_time_ns.value for p in (first, other)]
    assert max(10 * widths[0], widths[1]) < width < 10 * widths[0] + widths[1]
    assert phase.operations == 10 * 1e4 + 4e4
    row, a, b = phase.objects[0], first.objects[0], other.objects[0]
    assert row.traffic.misses() == pytest.approx(10 * a.traffic.misses() + b.traffic.misses())
    assert row.curve is not None and a.curve is not None and b.curve is not None
    assert row.curve.read[5] == pytest.approx(10 * a.curve.read[5] + b.curve.read[5], abs=0.1)
    assert [i.misses for i in phase.instructions] == [pytest.approx(row.traffic.misses())]
    assert len(total.instructions) == 1
    assert total.objects[0].size_bytes == large.objects[0].size_bytes
    assert total.size == {}
    assert "one.json (x 10), other.json" in total.warnings[0]


def test_a_phase_or_an_object_of_one_run_is_kept() -> None:
    more = made(1e4, extra_bytes=5000)
    phase = msgspec.structs.replace(more.phases[0], name="late", operations=None)
    total = merge([made(1e4), msgspec.structs.replace(more, phases=[*more.phases, phase])], NAMES)
    assert [p.name for p in total.phases] == ["get", "late"]
    assert total.phases[1].operations is None
    assert [each.name for each in total.objects] == ["table prog.c:10", "late prog.c:99"]


def test_sites_distinguished_in_one_run_only_are_merged() -> None:
    """Large objects are distinguished by their callers, small objects are not."""
    called = [Frame(function=name, file="prog.c", line=5, module="prog") for name in ("a", "b")]
    inner = Frame(function="table", file="prog.c", line=10, module="prog")

    def object_(number: int, *frames: Frame) -> MemoryObject:
        plain = heap(number, "table", 10, 100.0)
        return msgspec.structs.replace(plain, frames=list(frames), told_by=len(frames))

    apart = with_objects(made(1e4), object_(0, inner, called[0]), object_(1, inner, called[1]))
    result = align_objects([with_objects(made(1e4), object_(0, inner)), apart])
    assert [same.members for same in result.objects] == [[[0], [0, 1]]]
    result = align_objects([apart, apart])
    assert [same.members for same in result.objects] == [[[0], [0]], [[1], [1]]]


def test_another_folder_module_name_and_order_are_the_same_object() -> None:
    profile = made(1e4)
    frame = Frame(function="int table<4>(int)", file="/old/prog.c", line=10, module="prog-2")
    moved = msgspec.structs.replace(heap(0, "table", 10, 64e4), frames=[frame])
    other = with_objects(profile, moved)
    program = msgspec.structs.replace(other.program, executable="/tmp/prog-2")
    result = align_objects([profile, msgspec.structs.replace(other, program=program)])
    assert [same.members for same in result.objects] == [[[0], [0]]]


def test_moved_lines_match_only_if_the_source_was_edited() -> None:
    old = with_objects(made(1e4), heap(0, "table", 10, 8e5), heap(1, "table", 14, 1e3))
    new = with_objects(made(1e4), heap(0, "table", 13, 8e5), heap(1, "table", 17, 1e3))
    total = merge([old, new], NAMES)
    assert len(total.objects) == 4
    total = merge([old, new], NAMES, edited=True)
    assert [each.size_bytes for each in total.objects] == [800_000, 1000]
    text = [warning for warning in total.warnings if "is assumed to be" in warning]
    assert "table prog.c:13 is assumed to be table prog.c:10" in text[0]
    # With one site more than before, the nearest lines match.
    three = with_objects(
        made(1e4), heap(0, "table", 9, 1.0), heap(1, "table", 11, 8e5), heap(2, "table", 30, 1e3)
    )
    total = merge([old, three], NAMES, edited=True)
    assert len(total.objects) == 3


def refused(*profiles: WorkloadProfile, weights: list[float] | None = None) -> str:
    with pytest.raises(NearfarError) as caught:
        merge(list(profiles), NAMES[: len(profiles)], weights)
    return str(caught.value)


def test_different_programs_are_refused() -> None:
    profile = made(1e4)
    assert "two or more profiles" in refused(profile)
    assert "1 weights for 2" in refused(profile, profile, weights=[1.0])
    assert "above 0" in refused(profile, profile, weights=[1.0, 0.0])
    cache = msgspec.structs.replace(profile.cache, size_bytes=1 << 22)
    assert "same --llc" in refused(profile, msgspec.structs.replace(profile, cache=cache))
    program = msgspec.structs.replace(profile.program, executable="/bin/other")
    assert "is of other" in refused(profile, msgspec.structs.replace(profile, program=program))
    producer = msgspec.structs.replace(profile.producer, cpu_model="another")
    assert "two processors" in refused(profile, msgspec.structs.replace(profile, producer=producer))


def test_two_builds_of_a_real_program(tmp_path: Path) -> None:
    """Another optimisation, folder and input give the same objects."""
    folders = [tmp_path / "one", tmp_path / "two"]
    runs = []
    for folder, option, n in zip(folders, ("-O1", "-O2"), (2000, 6000), strict=True):
        folder.mkdir()
        program = compiled("growing.c", folder, option, "--nearfar-rate=4")
        runs.append(profiled(program, "hash", n, cache_bytes=1 << 20, size={"n": float(n)}))
        save(runs[-1], tmp_path / f"{n}.json")
    words = ["merge", "2000.json", "6000.json", "--weight", "3", "--weight", "1", "-o", "all.json"]
    nearfar(*words, "-q", cwd=tmp_path, check=True)
    total = load(tmp_path / "all.json", WorkloadProfile)
    tables = [each for each in total.objects if each.name.startswith("hash growing.c")]
    assert len(tables) == 2
    get = next(phase for phase in total.phases if phase.name == "get")
    assert get.operations == 3 * 8000 + 24000
