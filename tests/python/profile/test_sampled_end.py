"""Parts of programs that are too long for QEMU: where sampling ended, and the native time to it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from patience import patience
from unmodified_runs import needs_qemu, run

from nearfar.native_files import native_file
from nearfar.options.profile import ProfileOptions
from nearfar.profile.deadline import RunDeadline
from nearfar.profile.session import ProfileRequest, run_plain
from nearfar.profile.sources.qemu import QemuSource
from nearfar.profile.sources.sampled_end import (
    BLOCK,
    CodePlace,
    mappings,
    places,
    time_to_place,
)
from nearfar.program.executable import Build, find_executable
from nearfar.program.launch import Job

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

ROUNDS = 200
SOURCE = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void each_round(volatile long* sum) {
  for (int i = 0; i < 20000; ++i) *sum += i;
}
static void* in_thread(void* sum) { each_round(sum); return sum; }
int main(int count, char** words) {
  const int rounds = atoi(words[1]);
  volatile long sum = 0;
  puts("begins");
  fflush(stdout);
  if (count > 2) {
    int status = 0;
    if (fork() == 0) { each_round(&sum); _exit(0); }
    wait(&status);
    if (status != 0) return 9;
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, (void*)&sum);
    pthread_join(thread, NULL);
  }
  for (int round = 0; round < rounds; ++round) each_round(&sum);
  return 0;
}
"""


MAKES_CHILDREN = """
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static long make_child(void) {
  long result = SYS_fork;
  __asm__ volatile(".globl makes_child\\nmakes_child: syscall"
                   : "+a"(result) : : "rcx", "r11", "memory");
  return result;
}
int main(int count, char** words) {
  for (int left = atoi(words[1]); left > 0; --left) {
    int status = 0;
    if (make_child() == 0) _exit(count - 2);
    if (wait(&status) < 0 || status != 0) return 1;
  }
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rounds")
    (folder / "rounds.c").write_text(SOURCE)
    command = ["gcc", "-O1", "-g", "-pthread", str(folder / "rounds.c"), "-o", str(folder / "run")]
    subprocess.run(command, check=True)
    return folder / "run"


def offset_of(program: Path, name: str) -> int:
    """Return a function's offset in the file; gcc maps code at equal offsets and addresses."""
    table = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    (address,) = [line.split()[0] for line in table.splitlines() if line.endswith(f" {name}")]
    return int(address, 16)


def reach(
    program: Path,
    folder: Path,
    times: int,
    *words: str,
    file: Path | None = None,
    name: str = "each_round",
) -> tuple[int, list[int], str]:
    """Return exit code, times written and what was printed."""
    result = folder / "result"
    offset = offset_of(program, name)
    helper = native_file("nearfar_reach")
    command: list[str | Path] = [helper, file or program, str(offset), str(times), result]
    command += [program, "run", *words]
    result.unlink(missing_ok=True)
    done = subprocess.run(command, capture_output=True, timeout=patience(60), check=False)
    times_ns = [int(word) for word in result.read_text().split()] if result.exists() else []
    return done.returncode, times_ns, done.stdout.decode()


@needs_gcc
def test_a_program_is_timed_to_a_place_and_ended_there(program: Path, tmp_path: Path) -> None:
    code, early, printed = reach(program, tmp_path, ROUNDS // 10, str(10 * ROUNDS))
    assert (code, printed) == (0, "")
    code, late, _ = reach(program, tmp_path, 10 * ROUNDS, str(10 * ROUNDS))
    assert code == 0
    # A hundred times the work, in the time of the program's thread.
    assert late[0] > 5 * early[0]


@needs_gcc
def test_children_and_threads_pass_the_place(program: Path, tmp_path: Path) -> None:
    # The thread's round counts, the child's does not.
    assert reach(program, tmp_path, ROUNDS + 1, str(ROUNDS), "more")[0] == 0
    assert reach(program, tmp_path, ROUNDS + 2, str(ROUNDS), "more")[0] == 1


@needs_gcc
def test_a_place_that_makes_children_is_passed(tmp_path: Path) -> None:
    source, program = tmp_path / "makes.c", tmp_path / "makes"
    source.write_text(MAKES_CHILDREN)
    subprocess.run(["gcc", "-O1", source, "-o", program], check=True)
    assert reach(program, tmp_path, 4, "4", name="makes_child")[0] == 0
    assert reach(program, tmp_path, 5, "4", name="makes_child")[0] == 1


@needs_gcc
def test_a_place_that_is_not_reached_or_not_loaded_has_no_time(
    program: Path, tmp_path: Path
) -> None:
    assert reach(program, tmp_path, ROUNDS + 1, str(ROUNDS))[:2] == (1, [])
    assert reach(program, tmp_path, 1, "1", file=tmp_path / "other")[:2] == (2, [])


@needs_gcc
def test_the_time_for_a_part_includes_what_is_not_counted(program: Path) -> None:
    after_s = 1000.0
    job = Job([str(program), str(10**9)], after_s=after_s)
    never = CodePlace(str(program), offset_of(program, "each_round"), 10**9)
    begun = time.monotonic()
    assert time_to_place(never, job, Build(program, dict(os.environ)), 0.5) is None
    assert time.monotonic() - begun < after_s / 2


def blocks(*rows: tuple[int, int, int]) -> NDArray[np.void]:
    return np.array(list(rows), dtype=BLOCK)


def test_places_are_blocks_that_ran_at_last_and_no_others_share(tmp_path: Path) -> None:
    file = tmp_path / "program"
    code = bytearray(4096)
    code[0x300:0x303] = b"\xf3\x48\xa5"  # rep movsq
    file.write_bytes(code)
    before = blocks((0x1100, 16, 7), (0x1200, 32, 5), (0x1210, 8, 5), (0x1300, 3, 1), (0, 0, 0))
    after = blocks((0x1100, 16, 7), (0x1200, 32, 6), (0x1210, 8, 6), (0x1300, 3, 2), (0x1400, 8, 3))
    maps = mappings(
        f"1000-2000 r--p 00000000 fe:01 12 {file}\n"
        f"3000-4000 rw-p 00000000 00:00 0 [heap]\n5000-6000 rw-p 00000000 00:00 0\n"
    )
    assert places(before, after, maps, str(file)) == [
        CodePlace(str(file), 0x400, 3),
        CodePlace(str(file), 0x200, 6),
    ]


@needs_qemu
@needs_gcc
@pytest.mark.timing
def test_a_loop_without_any_rarer_place_has_no_known_share(tmp_path: Path) -> None:
    source = tmp_path / "spins.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "int main(int count, char** words) {\n"
        "  const long most = atol(words[count - 1]);\n"
        "  for (volatile long i = 0; i < most; i++) {}\n"
        "}\n"
    )
    program = tmp_path / "spins"
    subprocess.run(["gcc", "-O1", str(source), "-o", str(program)], check=True)
    # Natively four times as long as it is sampled, on any processor; longer under QEMU.
    few = 200_000_000
    begun = time.monotonic()
    subprocess.run([program, str(few)], check=True)
    rounds = round(few * 1.6 / (time.monotonic() - begun))
    done, output = run(tmp_path, str(program), str(rounds), options=("--sample", "400ms"))
    assert done.returncode == 0, done.stderr
    assert output is not None
    assert any("the sampled share is not known" in warning for warning in output["warnings"])


@needs_qemu
def test_how_a_program_takes_being_stopped_after_its_time_is_no_failure() -> None:
    script = "trap 'exit 1' TERM; while :; do sleep 0.05; done"
    options = ProfileOptions(command=["sh", "-c", script])
    request = ProfileRequest(
        Job(options.command),
        1,
        1 << 20,
        8,
        "asked",
        1 << 20,
        source=QemuSource.of(options, 1.0),
        deadline=RunDeadline(time.monotonic() + 5.0),
    )
    shell = Build(find_executable("sh"), dict(os.environ))
    outcome = run_plain(request, shell).outcome
    assert (outcome.failed, outcome.finished) == (False, False)
    asked = replace(request, job=replace(request.job, duration_s=1.0))
    assert run_plain(asked, shell).outcome.failed
