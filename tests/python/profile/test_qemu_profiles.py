"""Unmodified programs under QEMU: counts, and reports of uncounted parts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from forked import nearfar
from patience import patience
from unmodified_runs import CACHE, Profile, misses, needs_qemu, profile, run

from nearfar.native_files import include_folder, native_folder

pytestmark = pytest.mark.timing

SOURCES = Path(__file__).parent / "unmodified"
KERNELS = Path(__file__).parents[3] / "benchmarks" / "kernels"

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

Compile = Callable[..., Path]


@pytest.fixture(scope="module")
def compile_(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Build a program without nearfar's compilers: `compile_("threads.c")`."""
    folder = tmp_path_factory.mktemp("unmodified")

    def build(source: str | Path, *options: str, compiler: str = "gcc") -> Path:
        path = SOURCES / source
        target = folder / "-".join([path.stem, *(o.strip("-") for o in options)])
        command = [compiler, "-O1", "-g", "-pthread", "-D_GNU_SOURCE", f"-I{include_folder()}"]
        subprocess.run([*command, *options, str(path), "-o", str(target)], check=True)
        return target

    return build


@needs_qemu
@needs_gcc
def test_threads_and_signals_are_followed_and_misses_are_exact(
    compile_: Compile, tmp_path: Path
) -> None:
    profiled = profile(tmp_path, str(compile_("threads.c")))
    # The threads of C11 make theirs a function further down.
    made = [m for name, m in misses(profiled).items() if name.startswith("make_block threads.c")]
    # Each round of each thread begins with lines that its own and the other threads evicted.
    assert made == pytest.approx([2 * 4 * (1 << 14)] * 2, rel=0.01)
    assert profiled["program"]["threads_seen"] == 5
    assert profiled["program"]["compiler"].startswith("unmodified, QEMU ")
    assert profiled["program"]["exit_status"] == "exited 0"
    blocks = [o for o in profiled["objects"] if o["name"].startswith("make_block threads.c")]
    assert [(block["kind"], block["allocations"]) for block in blocks] == [("heap", 2)] * 2


@needs_qemu
@needs_gcc
def test_handlers_of_signals_have_an_aligned_stack(compile_: Compile, tmp_path: Path) -> None:
    profiled = profile(tmp_path, str(compile_("handlers.c")))
    assert profiled["program"]["exit_status"] == "exited 0"
    assert any(o["name"].startswith("main handlers.c") for o in profiled["objects"])


@needs_qemu
@needs_gcc
def test_qemu_computes_with_the_fpu_before_any_result_is_inexact(
    compile_: Compile, tmp_path: Path
) -> None:
    flags = tmp_path / "flags"
    profile(tmp_path, str(compile_("inexact.c")), str(flags))
    # The plain run, then that under QEMU.
    assert flags.read_text() == "--ii"


@needs_qemu
@needs_gcc
def test_instructions_have_function_and_line_and_sequences_are_seen(
    compile_: Compile, tmp_path: Path
) -> None:
    profiled = profile(tmp_path, str(compile_("endless.c")), "10")
    lines = (SOURCES / "endless.c").read_text().splitlines()
    wanted = 1 + next(i for i, line in enumerate(lines) if "block[line * 64]++" in line)
    first = profiled["instructions"][profiled["phases"][0]["instructions"][0]["instruction"]]
    assert (first["function"], Path(first["file"]).name) == ("main", "endless.c")
    assert (first["line"], first["operation"]) == (wanted, "load")
    traffic = profiled["phases"][0]["objects"]
    read = sum(row["traffic"]["read_misses"]["opaque"] for row in traffic)
    followed = sum(row["traffic"]["read_sequential"]["opaque"] for row in traffic)
    assert followed > 0.95 * read
    # There is a dirty line for each miss except those still cached at the end.
    backs = sum(row["traffic"]["write_backs"] for row in traffic)
    assert backs == pytest.approx(10 * (1 << 15), rel=0.02)


@needs_qemu
@needs_gcc
def test_a_runtime_that_reserves_much_address_space_reserves_less(
    compile_: Compile, tmp_path: Path
) -> None:
    # As Haskell's does; QEMU would take 15 s and 6 GiB for its records of a TiB.
    (tmp_path / "reserves.c").write_text("""
#include <stdio.h>
#include <sys/mman.h>
int main(void) {
  size_t bytes = 1ul << 40;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  volatile char* begin;
  while ((begin = mmap(0, bytes, PROT_NONE, flags, -1, 0)) == MAP_FAILED) bytes /= 2;
  mprotect((void*)begin, 1 << 24, PROT_READ | PROT_WRITE);
  for (long at = 0; at < 1 << 24; at += 64) begin[at]++;
  printf("reserved %zu\\n", bytes >> 30);
  return 0;
}
""")
    done, profiled = run(tmp_path, str(compile_(tmp_path / "reserves.c")))
    assert done.returncode == 0, done.stderr
    assert profiled is not None
    assert done.stdout.split() == ["reserved", "1024", "reserved", "128"]
    (mapped,) = (m for name, m in misses(profiled).items() if "reserves.c" in name)
    assert mapped == pytest.approx(1 << 18, rel=0.02)


@needs_qemu
@needs_gcc
def test_mappings_files_and_moved_blocks_are_objects(compile_: Compile, tmp_path: Path) -> None:
    file = tmp_path / "data.bin"
    profiled = profile(tmp_path, str(compile_("mapped.c")), str(file))
    kinds = {o["kind"]: o for o in profiled["objects"] if o["size_bytes"] >= 1 << 20}
    assert kinds["file"]["name"] == "file data.bin"
    assert kinds["mmap"]["size_bytes"] == 2 << 20
    assert kinds["heap"]["size_bytes"] == pytest.approx(1 << 20, rel=0.01)
    by_name = misses(profiled)
    lines = (1 << 20) // 64
    assert by_name["file data.bin"] == pytest.approx(2 * lines, rel=0.02)
    assert by_name[kinds["mmap"]["name"]] == pytest.approx(4 * lines, rel=0.02)
    assert by_name[kinds["heap"]["name"]] == pytest.approx(2 * lines, rel=0.02)


@needs_qemu
@needs_gcc
def test_sampling_ends_after_the_same_number_of_instructions_in_every_run(
    compile_: Compile, tmp_path: Path
) -> None:
    options = ("--source", "qemu", "--rate", "1", "--sample-instructions", "500")
    for _ in range(2):
        profiled = profile(tmp_path, str(compile_("touched.c")), options=options)
        # The loop touches a page every three to five instructions.
        assert 80 < sum(misses(profiled, "few").values()) < 170
        assert not next(p for p in profiled["phases"] if p["name"] == "many")["objects"]
        assert any("500 instructions after the first mark" in text for text in profiled["warnings"])


@needs_qemu
@needs_gcc
def test_sampling_of_a_program_without_marks_ends_so_many_instructions_after_its_start(
    compile_: Compile, tmp_path: Path
) -> None:
    program, options = str(compile_("endless.c")), ("--source", "qemu", "--rate", "1024")
    whole = profile(tmp_path, program, "200", options=options)
    bounded = (*options, "--sample-instructions", "5000000")
    part = profile(tmp_path, program, "200", options=bounded)
    counts = [sum(misses(result).values()) for result in (whole, part)]
    # Of 20 to 30 million.
    assert 0.05 < counts[1] / counts[0] < 0.5
    assert any("sampled in the first 5000000 instructions, " in text for text in part["warnings"])


@needs_qemu
@needs_gcc
def test_children_run_uncounted_and_this_is_reported(compile_: Compile, tmp_path: Path) -> None:
    profiled = profile(tmp_path, str(compile_("children.c")))
    (made,) = (m for name, m in misses(profiled).items() if name.startswith("make_block"))
    assert made == pytest.approx(4 * (1 << 20) / 64, rel=0.02)  # without the child's 100 rounds
    assert any("3 child processes were started and not counted" in w for w in profiled["warnings"])
    # Natively the child's system calls take nearly all of the time.
    assert profiled["uncounted_share"] > 0.5
    assert any("accesses were not counted" in w for w in profiled["warnings"])


@needs_qemu
@needs_gcc
def test_how_a_program_takes_being_stopped_under_qemu_is_no_failure(
    compile_: Compile, tmp_path: Path
) -> None:
    text = (SOURCES / "endless.c").read_text()
    text = text.replace("int main(", "#include <signal.h>\nvoid end(int n) { abort(); }\nint main(")
    text = text.replace("const long lines", "signal(SIGTERM, end);\n  const long lines")
    (tmp_path / "aborts.c").write_text(text)
    options = ("--source", "qemu", "--sample", "300ms")
    profiled = profile(tmp_path, str(compile_(tmp_path / "aborts.c")), "5000", options=options)
    # Stopped at the pace of today's machines; a quicker one may come to the end.
    assert profiled["program"]["exit_status"].split(" (")[0] in (
        "was killed by SIGABRT",
        "exited 0",
    )


@needs_qemu
@needs_gcc
@pytest.mark.long  # the machine's pace decides whether the part ends before the whole
def test_a_part_is_looked_at_and_near_time_is_of_that_part(
    compile_: Compile, tmp_path: Path
) -> None:
    program = str(compile_("endless.c"))
    whole = profile(tmp_path, program, "1000", options=("--rate", "1024"))
    near_s = whole["phases"][0]["near_cpu_time_ns"]["value"] / 1e9
    # Between one and five times --sample under QEMU, at any pace of the machine.
    rounds = round(1000 * 1.2 / (near_s * whole["instrumented_slowdown"]))
    part = profile(tmp_path, program, str(rounds), options=("--sample", "500ms", "--rate", "1024"))
    assert any("sampled" in w and "500 ms under QEMU" in w for w in part["warnings"])
    counted = sum(misses(part).values())
    assert 0 < counted < rounds * (1 << 15)

    def per_miss(found: Profile) -> float:
        near: float = found["phases"][0]["near_cpu_time_ns"]["value"]
        return near / sum(misses(found).values())

    # There is one loop, so each part's time per miss equals the whole's, except for noise.
    assert per_miss(part) == pytest.approx(per_miss(whole), rel=0.6)


@needs_qemu
@needs_gcc
def test_a_program_without_end_is_stopped_and_this_is_reported(
    compile_: Compile, tmp_path: Path
) -> None:
    done, output = run(tmp_path, str(compile_("endless.c")), "60000", options=("--sample", "200ms"))
    assert done.returncode == 0, done.stderr
    assert output is not None
    assert "by nearfar after 3 s, see --sample" in output["program"]["exit_status"]
    assert any("CPU time were sampled" in warning for warning in output["warnings"])
    # That part was timed natively: its misses took some time, and no more than this run had.
    near = output["phases"][0]["near_cpu_time_ns"]
    assert 0 < near["low"] <= near["value"] <= near["high"] < 60e9
    assert output["phases"][0]["near_repetitions"] == 1


@needs_qemu
@needs_gcc
def test_memory_of_static_programs_is_one_object_and_this_is_reported(
    compile_: Compile, tmp_path: Path
) -> None:
    profiled = profile(tmp_path, str(compile_("endless.c", "-static")), "5")
    assert misses(profiled)["mapped memory"] == pytest.approx(5 * (1 << 15), rel=0.02)
    assert any("is linked statically" in warning for warning in profiled["warnings"])
    assert profiled["instructions"][0]["function"] == "main"


@needs_qemu
@pytest.mark.skipif(shutil.which("clang-16") is None, reason="clang-16 is not installed")
@pytest.mark.parametrize(
    ("kernel", "load"),
    [("triad", (1 << 17, 4)), pytest.param("spmv", (1 << 15, 2), marks=pytest.mark.long)],
)
def test_misses_per_object_equal_those_of_compiled_in_code(
    kernel: str, load: tuple[int, int], compile_: Compile, tmp_path: Path
) -> None:
    if not (native_folder() / "nearfar_pass-16.so").exists():
        pytest.skip("the compiler pass was not built")
    source = KERNELS / f"{kernel}.c"
    traced = tmp_path / kernel
    nearfar("cc", "-O1", "-g", f"-I{include_folder()}", source, "-o", traced, check=True)
    plain = compile_(source, compiler="clang-16")
    words = [str(word) for word in load]
    compiled = misses(profile(tmp_path, str(traced), *words), "kernel")
    unmodified = misses(profile(tmp_path, str(plain), *words), "kernel")
    total = sum(compiled.values())
    large = [name for name, count in compiled.items() if count > 0.01 * total]
    assert large
    for name in large:
        assert unmodified[name] == pytest.approx(compiled[name], rel=0.05)


@needs_qemu
def test_a_program_that_execs_another_is_refused(tmp_path: Path) -> None:
    done, output = run(tmp_path, "/bin/sh", "-c", "exec ls /", options=("--source", "qemu"))
    assert (done.returncode, output) == (4, None)
    assert "sh replaced itself with another program" in done.stderr
    # An exec that fails does not count; the shell continues.
    words = ("-c", "exec /not-here 2>/dev/null; exit 0")
    done, output = run(tmp_path, "/bin/bash", "-O", "execfail", *words)
    assert done.returncode == 0, done.stderr
    assert output is not None


@needs_gcc
def test_without_qemu_one_sentence_names_the_package(compile_: Compile, tmp_path: Path) -> None:
    program = str(compile_("endless.c"))
    empty = tmp_path / "bin"
    empty.mkdir()
    done, output = run(tmp_path, program, PATH=str(empty))
    assert (done.returncode, output) == (2, None)
    assert "is not instrumented" in done.stderr
    assert "apt-get install qemu-user" in done.stderr
    done, output = run(tmp_path, program, options=("--source", "qemu"), PATH=str(empty))
    assert (done.returncode, output) == (3, None)
    assert "apt-get install qemu-user" in done.stderr


@needs_qemu
@needs_gcc
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--rate", "3"), "power of two"),
        (("--sample", "soon"), "cannot read --sample"),
        (("--plain", "/bin/true"), "--plain is for instrumented programs"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(
    options: tuple[str, ...], said: str, compile_: Compile, tmp_path: Path
) -> None:
    words = ("--source", "qemu", *options)
    done, output = run(tmp_path, str(compile_("endless.c")), options=words)
    assert (done.returncode, output) == (2, None)
    assert said in " ".join(done.stderr.split())


@needs_qemu
def test_programs_of_other_architectures_are_refused(tmp_path: Path) -> None:
    program = tmp_path / "arm"
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    header[16:20] = (2).to_bytes(2, "little") + (183).to_bytes(2, "little")  # AArch64
    program.write_bytes(header)
    program.chmod(0o755)
    done, output = run(tmp_path, str(program))
    assert (done.returncode, output) == (2, None)
    assert "is not a 64-bit x86 program" in done.stderr


@needs_qemu
@needs_gcc
def test_an_interrupt_leaves_no_process_and_no_folder(compile_: Compile, tmp_path: Path) -> None:
    program = str(compile_("endless.c"))
    command = [sys.executable, "-m", "nearfar", "profile", "-o", str(tmp_path / "run.json")]
    command += ["--source", "qemu", "--repetitions", "1", *CACHE, "--", program, "2000"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    while "under qemu" not in running.stderr.readline():
        assert running.poll() is None
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    folder = ""
    while not folder:  # until QEMU starts, the child is a copy of its parent
        assert running.poll() is None
        for pid in (pids := children.read_text().split()):
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            results = [v for v in variables if v.startswith(b"NEARFAR_RUN_DIR=")]
            folder = os.fsdecode(results[0].partition(b"=")[2]) if results else ""
    # The interrupt arrives while it runs, not while it starts.
    while "libnearfar_guest" not in Path(f"/proc/{pid}/maps").read_text():
        assert running.poll() is None
    assert Path(folder).is_dir()
    os.kill(running.pid, signal.SIGINT)
    running.communicate(timeout=patience(30))
    assert running.returncode == 130
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not Path(folder).exists()
    assert not (tmp_path / "run.json").exists()


@needs_qemu
@needs_gcc
def test_a_driver_reports_its_operations(compile_: Compile, tmp_path: Path) -> None:
    program = str(compile_("endless.c"))
    marks = f"{sys.executable} -m nearfar mark"
    driver = f"{marks} begin work && sleep {patience(1):.1f} && {marks} end work --operations 50"
    words = ("--source", "qemu", "--driver", driver)
    done, output = run(tmp_path, program, "100000000", options=words)
    assert done.returncode == 0, done.stderr
    assert output is not None
    work = next(phase for phase in output["phases"] if phase["name"] == "work")
    assert work["operations"] == 50
    assert sum(misses(output, "work").values()) > 0
    assert not any("the sampled share is not known" in warning for warning in output["warnings"])


@needs_qemu
@needs_gcc
def test_tags_of_an_unmodified_program_are_objects(compile_: Compile, tmp_path: Path) -> None:
    profiled = profile(tmp_path, str(compile_("tagged.c")))
    made = {name: m for name, m in misses(profiled).items() if name.startswith("make tagged.c")}
    assert sorted(name.rpartition(", ")[2] for name in made if ", " in name) == ["orders", "users"]
    assert list(made.values()) == pytest.approx([2 * (1 << 20) / 64] * 3, rel=0.02)
