"""Traffic by range of large objects, in programs whose hot ranges are known."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from compiling import nearfar
from unmodified_runs import needs_qemu

from nearfar.documents import WorkloadProfile, load
from nearfar.documents.workload import MemoryObject, ObjectTraffic
from nearfar.profile.positions import positions_in_object

pytestmark = pytest.mark.timing

MIB = 1 << 20
SOURCE = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define MIB (1ul << 20)
static volatile unsigned long sink;
static unsigned long state = 1;
static unsigned long next(void) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return state >> 20;
}
__attribute__((noinline)) static char *make_array(void) {
  char *array = malloc(32 * MIB);
  return memset(array, 1, 32 * MIB);
}
__attribute__((noinline)) static char *make_slab(void) {
  char *slab = malloc(MIB);
  return memset(slab, 1, MIB);
}
int main(int count, char **words) {
  char *array = make_array(), *slabs[16];
  for (int i = 0; i < 17; ++i) {
    if (i == 16) free(slabs[3]); /* the next slab takes its place */
    slabs[i == 16 ? 3 : i] = make_slab();
  }
  int file = open(words[1], O_RDWR);
  char *mapped = mmap(0, 8 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, file, 4 * MIB);
  unsigned long sum = 0;
  for (long i = 0; i < 400000; ++i) {
    sum += array[8 * MIB + next() % (8 * MIB)];
    slabs[3 + next() % 2][next() % MIB] += 1;
    sum += mapped[6 * MIB + next() % (2 * MIB)];
  }
  sink = sum;
  return count < 2;
}
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranges")
    (folder / "a.c").write_text(SOURCE)
    with (folder / "data").open("wb") as file:
        file.truncate(12 * MIB)
    return folder


def lines_by_mib(profile: WorkloadProfile, start: str) -> tuple[MemoryObject, np.ndarray]:
    """Return the object of a name and its misses and write-backs in each MiB."""
    item = next(each for each in profile.objects if each.name.startswith(start))
    rows: list[ObjectTraffic] = [
        row for phase in profile.phases for row in phase.objects if row.object == item.id
    ]
    lines = np.zeros(64)
    for row in rows:
        assert row.ranges is not None
        counted = np.sum(
            [row.ranges.read_misses, row.ranges.write_misses, row.ranges.write_backs], axis=0
        )
        np.add.at(lines, np.arange(len(counted)) * item.range_bytes // MIB, counted)
        assert sum(row.ranges.second_half) == pytest.approx(counted.sum() / 2, rel=0.15)
        traffic = row.traffic
        assert counted.sum() == pytest.approx(traffic.misses() + traffic.write_backs, rel=0.02)
    return item, lines


def check(profile: WorkloadProfile) -> None:
    _, array = lines_by_mib(profile, "make_array a.c")
    filled = array[16:32].mean()
    assert array[8:16].min() > 2 * filled
    assert array[:8].max() < 1.5 * filled
    slabs, lines = lines_by_mib(profile, "make_slab a.c")
    assert slabs.size_bytes >= 15 * MIB
    assert lines[3:5].min() > 3 * lines[5:16].mean()
    assert lines[16:].sum() == 0
    _, mapped = lines_by_mib(profile, "file data")
    # Positions of a file are its offsets, not those of the mapping.
    assert mapped[10:12].sum() > 0.99 * mapped.sum()


def test_hot_ranges_of_blocks_slabs_and_files_are_counted(sources: Path) -> None:
    nearfar("cc", "-O1", "-g", "a.c", "-o", "a", cwd=sources)
    options = ["-q", "--llc", "1MiB", "--repetitions", "1", "-o", "run.json"]
    nearfar("profile", *options, "--", "./a", "data", cwd=sources)
    check(load(sources / "run.json", WorkloadProfile))


@needs_qemu
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_ranges_are_counted_under_qemu(sources: Path) -> None:
    subprocess.run(["gcc", "-O1", "-g", "a.c", "-o", "plain"], cwd=sources, check=True)
    options = ["-q", "--source", "qemu", "--llc", "1MiB", "--repetitions", "1", "-o", "qemu.json"]
    nearfar("profile", *options, "--", "./plain", "data", cwd=sources)
    check(load(sources / "qemu.json", WorkloadProfile))


def test_positions_of_an_object_follow_the_order_of_all_its_sites() -> None:
    events = np.array(
        [
            (5, 0, 0, MIB),
            (7, 0, 0, 2 * MIB),
            (5, 0, MIB, MIB),
            (7, 1, 0, 2 * MIB),
            (5, 0, 2 * MIB, MIB),
        ],
        dtype=[("site", "u4"), ("freed", "u4"), ("position", "u8"), ("bytes", "u8")],
    )
    assert positions_in_object(events, [5, 7]) == {
        5: [(0, MIB, 0), (MIB, MIB, 3 * MIB), (2 * MIB, MIB, MIB)],
        7: [(0, 2 * MIB, MIB)],
    }
    assert positions_in_object(events, [5]) == {
        5: [(0, MIB, 0), (MIB, MIB, MIB), (2 * MIB, MIB, 2 * MIB)]
    }
