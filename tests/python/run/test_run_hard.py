"""Difficult programs and environments: complex C++, refused calls, no library to preload."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.documents import RunRecord, load, save
from nearfar.documents.plan import Part
from nearfar.documents.workload import Frame
from nearfar.native_files import include_folder

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import PROGRAMS, objects_plan, placement, plan, run_verb

HERE = Path(__file__).parent


def compiled(*words: str) -> None:
    subprocess.run([*words, f"-I{include_folder()}"], check=True)


def run(folder: Path, *words: str, before: tuple[str, ...] = (), status: int = 0) -> RunRecord:
    done = run_verb(folder, *words, before=before)
    if "no seccomp here" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == status, done.stderr
    return load(folder / "record.json", RunRecord)


def test_cpp_threads_libraries_and_children(tmp_path: Path) -> None:
    """The allocations of a library's constructor, which runs first, are placed too.

    The far memory has room for the program and some children of its forks with their copies, but
    not for all twenty: room of children that ended without notice is reused.
    """
    early = str(PROGRAMS / "early.c")
    for name in ("linked", "opened", "other"):
        compiled("cc", "-O2", "-g", "-shared", "-fPIC", f"-DEARLY=early_{name}", early, "-o",
                 str(tmp_path / f"lib{name}.so"))  # fmt: skip
    linking = (f"-L{tmp_path}", "-llinked", f"-Wl,-rpath,{tmp_path}")
    compiled("c++", "-std=c++20", "-O1", "-g", "-pthread", str(PROGRAMS / "hard.cpp"), "-o",
             str(tmp_path / "hard"), *linking)  # fmt: skip
    far = ("early_linked", "early_opened", "make_wide", "make_strings[abi:cxx11]", "make_huge")
    placements = [placement(number, name, "far") for number, name in enumerate(far)]
    placements.append(placement(len(far), "early_other", "near"))
    save(plan(placements, far_capacity=240 << 20), tmp_path / "plan.json")
    program = [str(tmp_path / name) for name in ("hard", "libopened.so", "libother.so")]
    record = run(tmp_path, "--map", "far=file:/dev/shm", "--force", "--", *program)
    for each in record.objects[: len(far)]:
        assert each.recognised_bytes > 2 << 20, each
        assert each.on_plan is not None
        assert each.on_plan >= 0.99, each
    assert record.recognised_share_of_profile == 1.0
    assert record.fallback_bytes == 0


def test_where_calls_are_refused_the_run_continues_with_a_warning(tmp_path: Path) -> None:
    compiled("cc", "-O2", "-g", "-pthread", str(PROGRAMS / "objects.c"), "-o",
             str(tmp_path / "objects"))  # fmt: skip
    save(objects_plan({"make_array": "far"}), tmp_path / "plan.json")
    denied = (sys.executable, str(HERE / "denied.py"))
    words = ("--map", "far=node:0", "--pages", "2MiB", "--", str(tmp_path / "objects"), "4")
    record = run(tmp_path, *words, before=denied)
    assert any("refused to report the nodes" in warning for warning in record.warnings)
    assert any("mbind failed" in warning for warning in record.warnings)
    assert any("madvise refused" in warning for warning in record.warnings)
    (array,) = record.objects
    assert array.recognised_bytes > 2 << 20
    assert array.bytes_by_memory == {}


@pytest.mark.parametrize("what", ["fork", "close"])
def test_files_behind_memory_belong_to_the_process(tmp_path: Path, what: str) -> None:
    compiled("cc", "-O2", "-g", "-D_GNU_SOURCE", str(PROGRAMS / "files.c"), "-o",
             str(tmp_path / "files"))  # fmt: skip
    parts = [Part(memory="near", share=0.25), Part(memory="far", share=0.75)]
    save(plan([placement(0, "make_large", "far", parts=parts)]), tmp_path / "plan.json")
    record = run(tmp_path, "--map", "far=file:/dev/shm", "--", str(tmp_path / "files"), what)
    (large,) = record.objects
    assert large.bytes_by_memory["far"] > 2 << 20, record
    assert record.fallback_bytes == 0


VARYING = """#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) char* make_large(int count) {
  double scratch[count];
  memset(scratch, 0, sizeof scratch);
  __asm__ volatile("" : : "r"(scratch) : "memory");
  char* volatile large = malloc(1 << 20);
  if (!large) abort();
  return memset(large, 1, 1 << 20);
}
int main(void) {
  for (int i = 1; i <= 8; ++i) {
    char* first = make_large(100 * i);
    make_large(37 * i); /* stays */
    free(first);
  }
  return 0;
}
"""


def test_an_all_near_plan_recognises_callers_with_frames_of_varying_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options of the user for jemalloc do not hide blocks from the record."""
    (tmp_path / "varying.c").write_text(VARYING)
    compiled("cc", "-O2", "-g", str(tmp_path / "varying.c"), "-o", str(tmp_path / "varying"))
    save(plan([placement(0, "make_large", "near")]), tmp_path / "plan.json")
    monkeypatch.setenv("MALLOC_CONF", "tcache_max:8388608,dss:primary,prof_log:true")
    done = run_verb(tmp_path, "--", str(tmp_path / "varying"))
    assert done.returncode == 0, done.stderr
    assert "conf pair" not in done.stderr
    (large,) = load(tmp_path / "record.json", RunRecord).objects
    # 8 MiB stay, of which one page in eight is sampled.
    assert 7 << 20 <= large.recognised_bytes <= 10 << 20, large


def test_samples_of_an_all_near_plan_do_not_enlarge_a_heap(tmp_path: Path) -> None:
    """Their pages serve later samples; jemalloc would merge them with the slabs around them."""
    compiled("cc", "-O1", "-fno-builtin", str(PROGRAMS / "trees.c"), "-o", str(tmp_path / "trees"))
    save(plan([placement(0, "build", "near")]), tmp_path / "plan.json")
    done = run_verb(tmp_path, "--force", "--", str(tmp_path / "trees"))
    assert done.returncode == 0, (done.stdout, done.stderr)
    record = load(tmp_path / "record.json", RunRecord)
    assert record.objects[0].recognised_bytes > 1 << 20
    assert "libnearfar_run_near.so" in record.allocator


LARGE = """#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) char* make_large(size_t size) {
  char* volatile large = malloc(size); /* no tail call, which would leave no frame */
  if (large) memset(large, 1, size < 1 << 30 ? size : 1);
  return large;
}
int main(int count, char** words) {
  char* large = make_large(strtoul(words[count - 1], 0, 10));
  if (!large) return 1;
  usleep(200000);
  free(large);
  return 0;
}
"""


def large_program(folder: Path) -> Path:
    """Return a program with one block of the given bytes; it exits with 1 if it gets none."""
    (folder / "large.c").write_text(LARGE)
    compiled("cc", "-O2", "-g", str(folder / "large.c"), "-o", str(folder / "large"))
    return folder / "large"


def test_parts_that_are_impossible_together_are_refused(tmp_path: Path) -> None:
    """The C library's malloc refuses the whole; the kernel would map each part alone."""
    if Path("/proc/sys/vm/overcommit_memory").read_text().strip() != "0":
        pytest.skip("the kernel refuses nothing here, or by another rule")
    words = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    kib = sum(int(words[name].split()[0]) for name in ("MemTotal", "SwapTotal"))
    large = placement(0, "make_large", "far", interleave={"near": 3, "far": 1})
    save(plan([large], far_capacity=64 << 20), tmp_path / "plan.json")
    program = (str(large_program(tmp_path)), str(2 * kib << 10))
    record = run(tmp_path, "--map", "far=file:/dev/shm", "--", *program, status=4)
    assert record.exit_status == "exited 1"
    assert record.fallback_bytes == 0


def test_memory_in_files_is_not_counted_as_anonymous_memory(tmp_path: Path) -> None:
    """RLIMIT_DATA counts what a kernel that never overcommits counts.

    The object exceeds the limit, its part in near memory does not; then that part does, too.
    """
    large = large_program(tmp_path)
    limited = f"ulimit -d 65536; exec {large} {96 << 20}"
    words = ("--map", "far=file:/dev/shm", "--force", "--", "/bin/sh", "-c", limited)
    for near, elsewhere in ((0.25, 0), (0.75, 72 << 20)):
        parts = [Part(memory="near", share=near), Part(memory="far", share=1 - near)]
        made = plan([placement(0, "make_large", "far", size_mib=96, parts=parts)])
        save(made, tmp_path / "plan.json")
        record = run(tmp_path, *words)
        (thing,) = record.objects
        assert thing.recognised_bytes > 90 << 20, record
        there = thing.bytes_by_memory
        assert there.get("near", 0) == pytest.approx(0 if elsewhere else 24 << 20, abs=1 << 20)
        assert record.fallback_bytes == pytest.approx(elsewhere, abs=1 << 20)
        assert not any("of addresses" in warning for warning in record.warnings), record.warnings


def test_uncontrolled_bytes_of_a_static_program_are_reported(tmp_path: Path) -> None:
    try:
        compiled("cc", "-O2", "-static", "-pthread", str(PROGRAMS / "objects.c"), "-o",
                 str(tmp_path / "objects"))  # fmt: skip
    except subprocess.CalledProcessError:
        pytest.skip("no static C library here")
    save(objects_plan({"make_array": "far"}), tmp_path / "plan.json")
    words = (str(tmp_path / "objects"), "4", "phases", "phases")
    record = run(tmp_path, "--map", "far=node:0", "--", *words)
    assert any("linked statically" in warning for warning in record.warnings)
    assert record.out_of_sight_bytes > 8 << 20


def test_a_path_that_no_object_has_does_not_follow_its_call(tmp_path: Path) -> None:
    """All objects of the call are far, so it decides alone until another path shows."""
    compiled("cc", "-O1", "-g", str(PROGRAMS / "paths.c"), "-o", str(tmp_path / "paths"))
    names = ("make_planned", "make_also_planned")
    placements = [
        placement(
            number, name, "far", frames=[Frame(function="take"), Frame(function=name)], told_by=2
        )
        for number, name in enumerate(names)
    ]
    save(plan(placements), tmp_path / "plan.json")
    record = run(tmp_path, "--map", "far=file:/dev/shm", "--", str(tmp_path / "paths"))
    for each in record.objects:
        assert each.recognised_bytes > 2 << 20, each
        assert each.on_plan is not None
        assert each.on_plan >= 0.99, each
    # 4 MiB are on the plan's objects' side twice, and only a few blocks of the third are there.
    assert 7 << 20 < record.pages_by_memory["far"] < 9.5 * (1 << 20)
    assert record.pages_by_memory["near"] > 2 << 20


def test_children_share_the_answers_of_the_first(tmp_path: Path) -> None:
    compiled("cc", "-O1", "-g", str(PROGRAMS / "paths.c"), "-o", str(tmp_path / "paths"))
    save(plan([placement(0, "take", "far")]), tmp_path / "plan.json")
    program = str(tmp_path / "paths")
    words = ("--map", "far=file:/dev/shm", "--force", "--", "sh", "-c")
    once = run(tmp_path, *words, f"{program} 8192")
    many = run(tmp_path, *words, f"for i in 1 2 3 4 5 6 7 8 9; do {program} 8192; done")
    assert many.processes == once.processes + 8
    assert once.stacks_asked > 0
    assert many.stacks_asked < 2 * once.stacks_asked
    assert many.recognised_share_of_profile == 1.0


def test_children_of_programs_with_threads_get_zeroed_memory(tmp_path: Path) -> None:
    # Threads write to memory of the file while the child's copy is made.
    compiled("cc", "-O1", "-g", "-pthread", str(PROGRAMS / "zero.c"), "-o", str(tmp_path / "zero"))
    save(objects_plan({"make_block": "far"}), tmp_path / "plan.json")
    record = run(tmp_path, "--map", "far=file:/dev/shm", "--force", "--", str(tmp_path / "zero"))
    assert record.objects[0].recognised_bytes > 1 << 20


def test_the_heap_of_far_blocks_starts_with_the_first_of_them(tmp_path: Path) -> None:
    """A child that has none starts nothing; one that forks meanwhile ends."""
    program = str(tmp_path / "late_heap")
    compiled("cc", "-O1", "-g", "-pthread", str(PROGRAMS / "late_heap.c"), "-o", program)
    save(objects_plan({"make_far": "far"}), tmp_path / "plan.json")
    done = run_verb(tmp_path, "--map", "far=node:0", "--force", "--", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "1", "0"]


@pytest.mark.parametrize("memory", ["near", "far"])
def test_blocks_of_another_allocator_go_back_to_it(tmp_path: Path, memory: str) -> None:
    source = str(PROGRAMS / "foreign.c")
    compiled("cc", "-O1", "-g", "-fno-builtin", source, "-o", str(tmp_path / "foreign"))
    save(plan([placement(0, "main", memory)]), tmp_path / "plan.json")
    words = ("--map", "far=node:0", "--force", "--", str(tmp_path / "foreign"))
    record = run(tmp_path, *words)
    assert record.exit_status.startswith("exited 0"), record.exit_status
