"""Accesses of uninstrumented libraries by memcpy and similar functions."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiling import compiled, traced

pytestmark = pytest.mark.timing


def test_strings_copied_by_the_cxx_library_are_counted(tmp_path: Path) -> None:
    program = compiled("library_strings.cpp", tmp_path, driver="c++")
    options = ("--llc", "1MiB", "--ways", 16)
    profile = traced(program, tmp_path, options=options)
    (phase,) = [phase for phase in profile.phases if phase.name == "copy"]
    names = {each.id: each.name for each in profile.objects}
    read = sum(
        row.traffic.read_misses.opaque
        for row in phase.objects
        if "main library_strings.cpp" in names[row.object]
    )
    # 60 of every 80 bytes that begin at multiples of 16 lie in 1.75 lines; the cache holds 1 of the
    # 10.7 MB of the strings and their headers.
    assert read == pytest.approx(400_000 * 1.75 * 0.9, rel=0.1)
