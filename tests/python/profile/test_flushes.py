"""Flushes, fences and non-temporal stores of programs with known counts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from compiling import compiled, traced

from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import Traffic

pytestmark = pytest.mark.timing

KERNELS = Path(__file__).parent / "kernels"
ROUNDS = 1000
FLAGS = ("clwb", "clflushopt")


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> WorkloadProfile:
    known = Path("/proc/cpuinfo").read_text().split()
    if not all(flag in known for flag in FLAGS):
        pytest.skip("this processor cannot run clwb")
    return profiled("flushing.c", tmp_path_factory.mktemp("flushing"), "-mclwb", "-mclflushopt")


def profiled(source: str, folder: Path, *options: str) -> WorkloadProfile:
    """Build a program and profile its run on a file of its own."""
    return traced(compiled(source, folder, *options), folder, "pool", ROUNDS)


def traffic(profile: WorkloadProfile, phase: str, thing: str) -> Traffic:
    """Return the counts of the objects with that name."""
    rows = [
        row.traffic
        for item in profile.phases
        for row in item.objects
        if item.name == phase and thing in profile.objects[row.object].name
    ]
    assert len(rows) == 1, [each.name for each in profile.objects]
    return rows[0]


def test_every_flush_of_a_mapped_file_is_counted(profile: WorkloadProfile) -> None:
    result = traffic(profile, "file", "pool")
    # Three by intrinsics, two in assembly; one of three fences waits for nothing.
    assert result.flushes == 5 * ROUNDS
    assert result.fences == 2 * ROUNDS
    assert (result.syncs, result.sync_bytes) == (1, 1 << 16)
    assert result.nt_store_bytes == result.log_bytes == 0
    assert profile.flushes_counted
    assert not any("assembly" in warning for warning in profile.warnings)


def test_every_non_temporal_byte_of_a_block_is_counted(profile: WorkloadProfile) -> None:
    result = traffic(profile, "block", "main")
    assert result.nt_store_bytes == 24 * ROUNDS
    assert result.write_backs >= 24 * ROUNDS / 64  # and all bytes reach memory
    assert (result.flushes, result.fences) == (0, 1)


def test_flushes_of_small_blocks_are_divided_without_loss(
    profile: WorkloadProfile,
) -> None:
    result = traffic(profile, "nodes", "main")
    assert result.flushes == pytest.approx(8192, abs=1e-6)
    assert result.fences == pytest.approx(8192, abs=1e-6)


def test_calls_of_libpmem_are_counted(tmp_path: Path) -> None:
    built = subprocess.run(
        ["cc", "-shared", "-o", str(tmp_path / "x.so"), "-l:libpmem.so.1"],
        capture_output=True,
        check=False,
    )
    if built.returncode != 0:
        pytest.skip("libpmem is not installed")
    result = traffic(profiled("libpmem.c", tmp_path, "-l:libpmem.so.1"), "-", "pool")
    # Each round persists a line and copies 1000 bytes: 896 of them are whole lines stored non-
    # temporally, and the lines at both ends are flushed.
    assert result.flushes == 3 * ROUNDS
    assert result.fences == 2 * ROUNDS
    assert result.nt_store_bytes == 896 * ROUNDS
