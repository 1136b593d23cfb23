"""Comparison of two profiles: same parts, different parts, differences within noise."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "profile"))
from made_profiles import made

from nearfar.compare.api import compare
from nearfar.compare.junit import text_of
from nearfar.compare.page import render
from nearfar.compare.table import print_comparison, verdict
from nearfar.documents import Comparison, WorkloadProfile, save
from nearfar.documents.comparison import Change


def sampled(profile: WorkloadProfile, error: float) -> WorkloadProfile:
    sampling = msgspec.structs.replace(profile.sampling, rate=64, relative_error=error)
    return msgspec.structs.replace(profile, sampling=sampling)


def compared(
    folder: Path, one: WorkloadProfile, other: WorkloadProfile, **options: bool
) -> Comparison:
    for profile, name in ((one, "one"), (other, "other")):
        save(profile, folder / f"{name}.json")
    return compare(folder / "one.json", folder / "other.json", **options)  # type: ignore[arg-type]


def of(found: Comparison, family: str) -> list[Change]:
    return [change for change in found.changes if change.family == family]


def test_objects_match_by_site_and_differences_are_judged_by_noise(tmp_path: Path) -> None:
    first, other = sampled(made(4e4), 0.1), sampled(made(4.1e4), 0.1)
    (same,) = of(compared(tmp_path, first, other), "objects")
    assert (same.name, same.verdict) == ("table prog.c:10", "same")
    comparison = compared(tmp_path, first, sampled(made(8e4), 0.1))
    assert [change.verdict for change in of(comparison, "objects")] == ["worse"]
    assert [change.verdict for change in of(comparison, "lines")] == ["worse"]
    (size,) = of(comparison, "sizes")
    assert (size.a, size.b) == (round(64 * 4e4), round(64 * 8e4))
    # A profile without sampling has no noise: the small difference is real.
    assert of(compared(tmp_path, made(4e4), made(4.1e4)), "objects")[0].verdict == "worse"


def test_a_part_of_one_profile_alone_is_listed(tmp_path: Path) -> None:
    more = made(4e4, extra_bytes=5000)
    late = msgspec.structs.replace(more.phases[0], name="late")
    more = msgspec.structs.replace(more, phases=[*more.phases, late])
    comparison = compared(tmp_path, made(4e4), more)
    assert {change.name for change in of(comparison, "sizes")} == {
        "table prog.c:10",
        "late prog.c:99",
    }
    assert [change.name for change in of(comparison, "time")] == ["get"]
    assert comparison.warnings == [f"only {tmp_path}/other.json has the phase late: left out"]


def test_an_object_of_one_run_alone_is_no_exact_change(tmp_path: Path) -> None:
    """Two equal runs need not have the same objects: a buffer, a thread."""
    both = made(4e4), made(4e4, extra_bytes=5000)
    for comparison, expected in (
        (compared(tmp_path, *both), "only B"),
        (compared(tmp_path, *reversed(both)), "only A"),
    ):
        (late,) = (change for change in of(comparison, "sizes") if change.name == "late prog.c:99")
        assert (late.verdict, late.p, late.low) == (expected, None, None)
        assert not any(change.verdict in ("worse", "better") for change in comparison.changes)


def test_a_document_against_itself_is_one_line(tmp_path: Path) -> None:
    save(made(4e4, extra_bytes=5000), tmp_path / "one.json")
    comparison = compare(tmp_path / "one.json", tmp_path / "one.json", limit=0.05)
    lines = io.StringIO()
    print_comparison(comparison, Console(file=lines, width=200))
    (line,) = lines.getvalue().splitlines()
    assert line.endswith("values are equal")


@pytest.mark.parametrize(
    ("failed", "said"),
    [(0, "no value of B is"), (1, "1 value of B is"), (2, "2 values of B are")],
)
def test_the_last_line_counts_values_over_the_limit(failed: int, said: str, tmp_path: Path) -> None:
    comparison = compared(tmp_path, made(4e4), made(8e4))
    assert verdict(comparison).startswith(f"of {len(comparison.changes)} values: ")
    limited = msgspec.structs.replace(comparison, limit=0.05, failed=failed)
    assert verdict(limited).startswith(f"{said} worse than A's by more than 5 %")


def test_a_part_shows_its_own_change_and_its_share(tmp_path: Path) -> None:
    comparison = compared(tmp_path, made(4e4, extra_bytes=5000), made(4e4, extra_bytes=4000))
    (late,) = (change for change in of(comparison, "sizes") if change.name == "late prog.c:99")
    # It changes by a fifth, which is 1000 of 2,565,000 bytes.
    text = "-20.0 %, -0.0 % of all"
    assert late.own_change == -0.2
    assert text in text_of(late)
    assert text in render(comparison)
    lines = io.StringIO()
    print_comparison(comparison, Console(file=lines, width=200))
    (row,) = (line for line in lines.getvalue().splitlines() if "late prog.c:99" in line)
    assert text in row


def test_two_different_programs_are_reported_as_such(tmp_path: Path) -> None:
    other = made(4e4)
    program = msgspec.structs.replace(other.program, executable="/bin/other")
    comparison = compared(tmp_path, made(4e4), msgspec.structs.replace(other, program=program))
    assert len(comparison.warnings) == 1
    assert "one.json is of prog" in comparison.warnings[0]
    assert "other.json of other" in comparison.warnings[0]


def test_moved_lines_are_recognised_in_an_edited_source(tmp_path: Path) -> None:
    first, other = made(4e4), made(4e4, line=14)
    assert len(of(compared(tmp_path, first, other), "objects")) == 2
    comparison = compared(tmp_path, first, other, edited=True)
    assert len(of(comparison, "objects")) == 1
    assert any("moved lines" in warning for warning in comparison.warnings)


def test_times_of_another_machine_are_not_judged(tmp_path: Path) -> None:
    slow = made(4e4)
    slow = msgspec.structs.replace(
        slow, producer=msgspec.structs.replace(slow.producer, host="elsewhere")
    )
    comparison = compared(tmp_path, made(2e4), slow)
    assert of(comparison, "time")[0].verdict == "not judged"
    assert of(comparison, "objects")[0].verdict == "worse"
    judged = compared(tmp_path, made(2e4), slow, across_machines=True)
    assert of(judged, "time")[0].verdict == "worse"
