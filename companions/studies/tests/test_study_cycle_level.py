"""The cycle-level study: its kernels' marks, and the kernels that it judges."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.base.errors import NearfarError
from nearfar_studies import cycle_level
from nearfar_studies.cycle_profiles import SIMULATOR_MARK, build


def test_a_source_without_marks_is_refused(tmp_path: Path):
    source = tmp_path / "other.c"
    source.write_text("int main(void) { return 0; }\n")
    with pytest.raises(NearfarError, match="no MARK"):
        build(source, tmp_path / "nowhere")


def test_the_simulators_mark_is_found():
    text = '#define MARK(n) __asm__ volatile("nop" ::"i"(n))\nint x;\n#define MARKED\n'
    assert [match.group() for match in SIMULATOR_MARK.finditer(text)] == [text.splitlines()[0]]


def test_the_chains_make_the_device_and_are_not_judged():
    runs = {"runs": {"nopf": dict.fromkeys(("chain1", "gather", "wchain16", "sort", "chainsaw"))}}
    assert cycle_level.kernels(runs) == ["gather", "sort", "chainsaw"]
