"""Two profiles side by side: what is the same, what differs, and what chance may explain."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parent))
from made_profiles import made

from nearfar.documents import WorkloadProfile, save
from nearfar.profile.compare import compare

NAMES = ("one.json", "other.json")


def sampled(profile: WorkloadProfile, error: float) -> WorkloadProfile:
    sampling = msgspec.structs.replace(profile.sampling, rate=64, relative_error=error)
    return msgspec.structs.replace(profile, sampling=sampling)


def test_an_object_is_known_by_its_place_and_differences_by_their_noise() -> None:
    one, other = sampled(made(4e4), 0.1), sampled(made(4.1e4), 0.1)
    (same,) = compare(one, other, NAMES).objects
    assert (same.name, same.here, same.differs) == ("table prog.c:10", (True, True), False)
    (grown,) = compare(one, sampled(made(8e4), 0.1), NAMES).objects
    assert grown.differs
    assert grown.size_bytes == (round(64 * 4e4), round(64 * 8e4))
    # Counted one by one, the small difference is one.
    assert compare(made(4e4), made(4.1e4), NAMES).objects[0].differs


def test_what_only_one_has_is_there_and_said() -> None:
    more = made(4e4, extra_bytes=5000)
    late = msgspec.structs.replace(more.phases[0], name="late")
    found = compare(made(4e4), msgspec.structs.replace(more, phases=[*more.phases, late]), NAMES)
    assert [thing.here for thing in found.objects] == [(True, True), (False, True)]
    assert [phase.name for phase in found.phases] == ["get"]
    assert found.warnings == ["only other.json has the phase late: left out"]


def test_two_programs_are_said_to_be_two() -> None:
    other = made(4e4)
    program = msgspec.structs.replace(other.program, executable="/bin/other")
    found = compare(made(4e4), msgspec.structs.replace(other, program=program), NAMES)
    assert len(found.warnings) == 1
    assert "one.json is of prog, other.json of other" in found.warnings[0]


def test_lines_that_moved_are_recognised_where_the_source_was_edited() -> None:
    one, other = made(4e4), made(4e4, line=14)
    assert len(compare(one, other, NAMES).objects) == 2
    found = compare(one, other, NAMES, edited=True)
    assert len(found.objects) == 1
    assert any("lines moved" in warning for warning in found.warnings)


def test_the_verb_prints_a_table_or_a_document(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in NAMES]
    for path, n in zip(paths, (4e4, 8e4), strict=True):
        save(made(n), path)
    command = [sys.executable, "-m", "nearfar", "compare", *map(str, paths)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "table prog.c:10" in shown.stdout
    printed = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(printed.stdout)["objects"][0]["differs"] is True
    command[-1] = str(tmp_path / "none.json")
    wrong = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)
