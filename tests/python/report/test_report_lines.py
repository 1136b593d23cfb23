"""Source lines are ranked by misses, with text only from readable source files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import samples

from nearfar.documents import WorkloadProfile
from nearfar.report.data import TOTAL, SourceLine
from nearfar.report.lines import MAX_LINES, source_lines


def of_total(profile: WorkloadProfile, *folders: Path) -> list[SourceLine]:
    position = {each.id: each.id for each in profile.objects}
    rows = source_lines(profile, position, list(folders))
    return [row for row in rows if row.phase == TOTAL]


def test_most_misses_first_and_shares_add_up() -> None:
    profile = samples.workload(objects=6)
    rows = of_total(profile)
    misses = [row.misses for row in rows]
    assert misses == sorted(misses, reverse=True)
    assert sum(row.share for row in rows) == pytest.approx(1.0)


def test_one_line_of_two_objects_is_one_row() -> None:
    profile = samples.workload(objects=2, phases=("get",))
    for row in profile.phases[0].instructions:
        row.instruction = 0
    (only,) = of_total(profile)
    assert only.misses == sum(row.misses for row in profile.phases[0].instructions)
    assert [part for _, part in only.objects] == sorted(
        (part for _, part in only.objects), reverse=True
    )


def test_rows_per_phase_are_limited() -> None:
    assert len(of_total(samples.workload(objects=MAX_LINES + 5))) == MAX_LINES


def test_text_around_the_line(tmp_path: Path) -> None:
    profile = samples.workload(objects=1)
    source = tmp_path / "src" / "store.c"
    source.parent.mkdir()
    source.write_text("".join(f"line {n}\n" for n in range(1, 301)))
    os.utime(source, (0, 0))
    for file in ("store.c", "/elsewhere/src/store.c", str(source)):
        profile.instructions[0].file = file
        row = of_total(profile, tmp_path / "src")[0]
        assert row.text == [(n, f"line {n}") for n in range(198, 203)]
        assert row.text_note == ""


def test_a_changed_file_is_reported(tmp_path: Path) -> None:
    profile = samples.workload(objects=1)
    (tmp_path / "store.c").write_text("x\n" * 300)
    os.utime(tmp_path / "store.c", (4e9, 4e9))
    assert "has changed since the run" in of_total(profile, tmp_path)[0].text_note
    (tmp_path / "store.c").write_text("x\n")
    assert "has 1 lines now" in of_total(profile, tmp_path)[0].text_note


def test_line_zero_is_no_line(tmp_path: Path) -> None:
    profile = samples.workload(objects=1)
    (tmp_path / "store.c").write_text("x\n")
    profile.instructions[0].line = 0
    assert "merged lines" in of_total(profile, tmp_path)[0].text_note


@pytest.mark.parametrize("file", ["/etc/passwd", "id_rsa", "secret.key", "../../etc/shadow"])
def test_only_source_files_are_read(file: str, tmp_path: Path) -> None:
    (tmp_path / "id_rsa").write_text("secret\n")
    (tmp_path / "secret.key").write_text("secret\n")
    profile = samples.workload(objects=1)
    profile.instructions[0].file, profile.instructions[0].line = file, 1
    row = of_total(profile, tmp_path)[0]
    assert row.text == []
    assert "does not end like a source file's" in row.text_note


def test_missing_files_and_debug_information_are_reported() -> None:
    profile = samples.workload(objects=1)
    assert "--sources" in of_total(profile)[0].text_note
    profile.instructions[0].file = ""
    assert "(-g)" in of_total(profile)[0].text_note
