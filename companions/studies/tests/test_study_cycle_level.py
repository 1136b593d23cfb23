"""The cycle-level study without its inputs: one sentence, and no profile half made."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.base.errors import ExitCode, NearfarError
from nearfar_studies import cycle_level
from nearfar_studies.cycle_profiles import SIMULATOR_MARK, build, profiles
from nearfar_studies.run import reproduce
from nearfar_studies.study import Given


def test_absent_kernels_are_said(tmp_path: Path):
    with pytest.raises(NearfarError, match="not here") as caught:
        profiles(tmp_path / "kernels.c", ("gather",))
    assert caught.value.exit_code == ExitCode.MACHINE_LACKS


def test_a_source_without_marks_is_refused(tmp_path: Path):
    source = tmp_path / "other.c"
    source.write_text("int main(void) { return 0; }\n")
    with pytest.raises(NearfarError, match="no MARK"):
        build(source, tmp_path / "nowhere")


def test_the_simulators_mark_is_found():
    text = '#define MARK(n) __asm__ volatile("nop" ::"i"(n))\nint x;\n#define MARKED\n'
    assert [match.group() for match in SIMULATOR_MARK.finditer(text)] == [text.splitlines()[0]]


def test_the_study_is_skipped_where_nothing_is_shared(tmp_path: Path):
    (found,) = reproduce(["cycle-level"], Given(shared=tmp_path)).studies
    assert "not here" in found.skipped
    assert not found.tables


def test_the_chains_are_the_device_and_are_not_judged():
    runs = {"runs": {"nopf": dict.fromkeys(("chain1", "gather", "wchain16", "sort", "chainsaw"))}}
    assert cycle_level.kernels(runs) == ["gather", "sort", "chainsaw"]
    assert cycle_level.fitted(runs) == ["gather", "chainsaw"]
