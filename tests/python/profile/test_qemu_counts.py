"""Counts by QEMU beside the compiler pass's: of code that the pass does not see."""

from __future__ import annotations

import shutil
from pathlib import Path

import forked
import pytest
from patience import patience

from nearfar.documents import WorkloadProfile, load

SOURCE = Path(__file__).parent / "unmodified" / "assembly.c"
STEPS = 1 << 18

pytestmark = [
    pytest.mark.timing,
    pytest.mark.skipif(shutil.which("clang-16") is None, reason="clang-16 is not installed"),
    pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="no qemu-x86_64"),
]


def nearfar(*words: str, folder: Path) -> None:
    forked.nearfar(*words, cwd=folder, check=True, timeout=patience(100))


@pytest.mark.parametrize("options", [(), ("--bursts",)], ids=["by itself", "with bursts"])
def test_loads_in_inline_assembly_are_counted_by_qemu(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    nearfar("cc", "-O2", str(SOURCE), "-o", "program", folder=tmp_path)
    words = ["--quiet", "--llc", "256KiB", "--repetitions", "1", "-o", "run.json", *options]
    nearfar("profile", *words, "--", "./program", folder=tmp_path)
    result = load(tmp_path / "run.json", WorkloadProfile)
    assert any("inline assembly was left out" in warning for warning in result.warnings)
    (check,) = result.checks
    assert check.complete
    by_pass, by_qemu = (
        sum(row.traffic.misses() for row in rows)
        for rows in (result.phases[0].objects, check.objects)
    )
    # The cycle is longer than the cache, so each step misses.
    assert by_qemu - by_pass == pytest.approx(STEPS, rel=0.05)
    if result.bursts is not None:
        assert result.bursts.build_digest == result.program.plain_digest != ""


def test_assembly_without_memory_is_not_left_out(tmp_path: Path) -> None:
    source = tmp_path / "clock.c"
    source.write_text(
        "int main(void) {\n"
        "  unsigned low, high;\n"
        '  __asm__ volatile("pause" ::: "memory");\n'
        '  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));\n'
        "  return low == high && low == 1;\n"
        "}\n"
    )
    nearfar("cc", "-O2", str(source), "-o", "program", folder=tmp_path)
    words = ["--quiet", "--repetitions", "1", "-o", "run.json", "--", "./program"]
    nearfar("profile", *words, folder=tmp_path)
    result = load(tmp_path / "run.json", WorkloadProfile)
    assert not any("assembly" in warning for warning in result.warnings)
    assert not result.checks
