"""`nearfar profile` and `nearfar mark` from the command line, on programs built by `nearfar cc`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from compiling import compiled, nearfar
from patience import patience
from processes import wait_until_it_runs

from nearfar.documents import WorkloadProfile, load
from nearfar.native_files import include_folder

pytestmark = pytest.mark.timing

KERNELS = Path(__file__).parent / "kernels"
NEARFAR = [sys.executable, "-m", "nearfar"]
OUTPUT = "59999700000 77\n"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("program.c", tmp_path_factory.mktemp("program"), "-O1")


def nothing_left(folder: Path) -> bool:
    """Return whether no temporary file or run folder of this user was left."""
    return not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_a_complete_profile(program: Path, tmp_path: Path) -> None:
    answer = nearfar(
        "profile", "-o", "run.json", "--llc", "1MiB", "--ways", 16, "--size", "n=2e5",
        "--", program,
        cwd=tmp_path,
    )  # fmt: skip
    assert answer.stdout == 4 * OUTPUT
    profile = load(tmp_path / "run.json", WorkloadProfile)
    assert profile.size == {"n": 2e5}
    assert profile.program.exit_status == "exited 0"
    assert profile.cache.size_bytes == 1 << 20
    assert "clang" in profile.program.compiler
    phases = {phase.name: phase for phase in profile.phases}
    assert list(phases) == ["-", "load", "walk"]
    assert phases["walk"].operations == 600_000
    assert phases["walk"].near_repetitions == 3
    assert phases["walk"].near_cpu_time_ns.value > 0
    nodes = next(each for each in profile.objects if "build_list" in each.name)
    # 200,000 blocks of 64 bytes take 80 with the allocator's header.
    assert nodes.size_bytes == pytest.approx(200_000 * 72, rel=0.05)
    walked = next(row for row in phases["walk"].objects if row.object == nodes.id)
    # A node of 64 bytes every 80 starts a new line; its first 16 bytes are in one line in 4/5 of
    # cases.
    assert walked.traffic.read_misses.chase == pytest.approx(3 * 200_000, rel=0.07)
    # The list is laid out in the order of the walk, so a prefetcher follows it.
    assert walked.traffic.read_sequential.chase > 0.7 * walked.traffic.read_misses.chase
    top = max(phases["walk"].instructions, key=lambda row: row.misses)
    assert profile.instructions[top.instruction].function == "walk"
    assert profile.instructions[top.instruction].access_class == "chase"
    table = next(each for each in profile.objects if "build_table" in each.name)
    assert table.size_bytes == pytest.approx(8 << 20, rel=0.01)
    assert profile.live[-1].bytes_by_object[str(table.id)] == table.peak_live_bytes
    assert "walk" in answer.stderr
    assert nothing_left(tmp_path)


def test_json_goes_to_standard_output_and_the_programs_to_standard_error(
    program: Path, tmp_path: Path
) -> None:
    answer = nearfar(
        "profile", "--json", "--quiet", "--repetitions", 1, "--", program, cwd=tmp_path
    )
    document = json.loads(answer.stdout)
    assert document["kind"] == "workload-profile"
    assert answer.stderr == 2 * OUTPUT
    assert document == json.loads((tmp_path / "run.json").read_text())


def test_a_plain_build_may_be_given(program: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    source = str(KERNELS / "program.c")
    subprocess.run(["clang-16", "-O1", f"-I{include_folder()}", source, "-o", plain], check=True)
    nearfar("profile", "--plain", plain, "--repetitions", 2, "-q", "--", program, cwd=tmp_path)
    profile = load(tmp_path / "run.json", WorkloadProfile)
    assert profile.program.plain_executable == str(plain)
    assert profile.phases[-1].name == "walk"
    assert profile.phases[-1].near_cpu_time_ns.value > 0


def test_a_program_without_its_plain_twin_asks_for_one(program: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copy(program, bare)
    subprocess.run(["objcopy", "--remove-section=.nearfar.plain", bare], check=True)
    answer = nearfar("profile", "--", bare, cwd=tmp_path, code=2)
    assert "--plain" in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("mode", "status"), [("fails", "exited 9"), ("kill", "was killed by SIGKILL")]
)
def test_a_failing_program_is_named_and_its_profile_saved(
    program: Path, tmp_path: Path, mode: str, status: str
) -> None:
    answer = nearfar("profile", "-q", "--", program, mode, cwd=tmp_path, code=4)
    assert status in answer.stderr
    profile = load(tmp_path / "run.json", WorkloadProfile)
    assert profile.program.exit_status == status
    assert any(row.traffic.misses() for phase in profile.phases for row in phase.objects)


@pytest.fixture(scope="session")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the program so that hardly any line is sampled, also not its arguments' lines."""
    return compiled("program.c", tmp_path_factory.mktemp("sparse"), "-O1", "--nearfar-rate=4096")


def test_a_program_that_fails_at_once_leaves_no_files(sparse: Path, tmp_path: Path) -> None:
    answer = nearfar("profile", "-q", "--", sparse, "dies", cwd=tmp_path, code=4)
    assert "exited 7" in answer.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_program_without_accesses_has_no_misses(sparse: Path, tmp_path: Path) -> None:
    nearfar("profile", "-q", "--", sparse, "nothing", cwd=tmp_path)
    profile = load(tmp_path / "run.json", WorkloadProfile)
    assert not sum(row.traffic.misses() for phase in profile.phases for row in phase.objects)
    assert any("no sampled line" in text for text in profile.warnings)


def test_a_plain_build_of_another_program_is_reported(program: Path, tmp_path: Path) -> None:
    # Python interprets the program's argument as a script.
    (tmp_path / "nothing").write_text("sum(range(5_000_000))")
    words = ["-q", "--repetitions", 1, "--plain", sys.executable, "--", program, "nothing"]
    nearfar("profile", *words, cwd=tmp_path)
    profile = load(tmp_path / "run.json", WorkloadProfile)
    (warning,) = [text for text in profile.warnings if "--plain" in text]
    assert "times the CPU time of the instrumented program" in warning


def test_duration_stops_a_server_without_failure(program: Path, tmp_path: Path) -> None:
    # Loading takes some 50 ms on a quiet machine.
    after = f"{patience(1):.0f}s"
    nearfar(
        "profile", "-q", "--repetitions", 1, "--duration", "400ms", "--after", after, "--",
        program, "serve", cwd=tmp_path,
    )  # fmt: skip
    profile = load(tmp_path / "run.json", WorkloadProfile)
    assert profile.program.exit_status == "was killed by SIGTERM (by nearfar after --duration)"
    assert [phase.name for phase in profile.phases] == ["-"]  # loading ended before --after
    # It spins until it is stopped, and what stops it may have to wait for a CPU.
    assert 0 < profile.phases[0].near_cpu_time_ns.value < patience(10) * 1e9
    assert any("operations" in warning for warning in profile.warnings)


def test_a_driver_marks_phases_and_ends_the_run(program: Path, tmp_path: Path) -> None:
    driver = (
        f"{sys.executable} -m nearfar mark begin served && sleep {patience(0.5):.1f} && "
        f"{sys.executable} -m nearfar mark end served --operations 50"
    )
    answer = nearfar(
        "profile", "--repetitions", 1, "--driver", driver, "--", program, "polite", cwd=tmp_path
    )
    assert answer.stdout.count("goodbye") == 2
    profile = load(tmp_path / "run.json", WorkloadProfile)
    phases = {phase.name: phase for phase in profile.phases}
    assert phases["served"].operations == 50
    assert phases["served"].near_cpu_time_ns.value > 0
    assert sum(row.traffic.accesses for row in phases["served"].objects) > 0
    assert profile.program.exit_status == "exited 0 (by nearfar after its driver had ended)"


def test_a_failing_driver_is_reported(program: Path, tmp_path: Path) -> None:
    answer = nearfar(
        "profile", "-q", "--driver", "exit 3", "--", program, "serve", cwd=tmp_path, code=4
    )
    assert "the driver 'exit 3' failed: exited 3" in answer.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_ends_before_its_driver_is_reported(program: Path, tmp_path: Path) -> None:
    answer = nearfar("profile", "-q", "--driver", "sleep 30", "--", program, cwd=tmp_path, code=4)
    assert "must stay in the foreground" in answer.stderr


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + signal.SIGTERM)]
)
def test_an_interrupt_leaves_no_partial_file_and_no_process(
    program: Path, tmp_path: Path, number: int, code: int
) -> None:
    shared = Path("/dev/shm")
    before = set(shared.glob("nearfar-*"))
    process = subprocess.Popen(
        [*NEARFAR, "profile", "--", program, "serve"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until_it_runs(process, "serve")
    mine = set(shared.glob("nearfar-*")) - before
    os.killpg(process.pid, number)
    _, errors = process.communicate(timeout=patience(30))
    assert process.returncode == code
    assert "Traceback" not in errors
    assert number != signal.SIGINT or errors.splitlines()[-1].startswith("nearfar: interrupted")
    assert list(tmp_path.iterdir()) == []
    # On a busy machine init reaps killed processes late, and other tests' runs may have begun
    # meanwhile: they end within seconds.
    deadline = time.monotonic() + patience(60)
    while any(folder.exists() for folder in mine) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not [folder for folder in mine if folder.exists()]
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("a process of the program's group is still there")


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        ([], 2, "name the program"),
        (["--", "./nothere"], 2, "no such file"),
        (["--", "nothere-at-all"], 2, "not in PATH"),
        (["--", "/tmp"], 2, "folder"),
        (["--", "/etc/passwd"], 2, "is not a program of this system"),
        (["--source", "compiled", "--", "/bin/true"], 2, "not instrumented"),
        (["-o", "/nonexistent/run.json", "--", "/bin/true"], 3, "mkdir -p"),
        (["--memory", "12", "--", "/bin/true"], 2, "unit"),
        (["--memory", "1KiB", "--", "/bin/true"], 2, "at least 1MiB"),
        (["--llc", "1KiB", "--ways", "64", "--", "/bin/true"], 2, "cannot have"),
        (["--duration", "5", "--", "/bin/true"], 2, "such as 10s"),
        (["--size", "n", "--", "/bin/true"], 2, "n=1e5"),
        (["--size", "n=abc", "--", "/bin/true"], 2, "n=1e5"),
        (["--size", "n=nan", "--", "/bin/true"], 2, "above 0"),
        (["--size", "n=-5", "--", "/bin/true"], 2, "above 0"),
        (["--size", "n=1e999", "--", "/bin/true"], 2, "above 0"),
        (["--sample", "0s", "--source", "qemu", "--", "/bin/true"], 2, "--sample 0s leaves no"),
        (["--duration", "0ms", "--", "/bin/true"], 2, "--duration 0ms leaves no time"),
        (["--repetitions", "0", "--", "/bin/true"], 2, "at least 1"),
        (["--duration", "1s", "--driver", "true", "--", "/bin/true"], 2, "not both"),
        (["--bogus", "--", "/bin/true"], 2, "--bogus"),
    ],
)
def test_wrong_use_is_refused_in_one_sentence(
    refused: Callable[[list[str]], tuple[int, str]], words: list[str], code: int, part: str
) -> None:
    returned, sentence = refused(["profile", *words])
    assert returned == code, sentence
    assert part in sentence


def test_a_sample_of_a_full_run_is_refused(program: Path, tmp_path: Path) -> None:
    answer = nearfar("profile", "--sample", "5s", "--", program, cwd=tmp_path, code=2)
    assert "--sample applies to --source qemu or counters" in " ".join(answer.stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_a_script_is_not_accepted_as_a_program(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    assert "is a script" in nearfar("profile", "--", script, cwd=tmp_path, code=2).stderr


def test_output_to_the_file_of_standard_output_is_refused(program: Path, tmp_path: Path) -> None:
    with (tmp_path / "run.json").open("w") as same:
        answer = subprocess.run(
            [*NEARFAR, "profile", "--", program],
            cwd=tmp_path,
            stdout=same,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert answer.returncode == 2
    assert "name another file" in answer.stderr


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["begin", "x"], "no run is named"),
        (["begin", "x", "--run", "/nonexistent"], "No such file"),
        (["begin", "x", "--pid", "1", "--run", "/tmp"], "not both"),
        (["begin", "x", "--operations", "3", "--run", "/tmp"], "when a phase ends"),
        (["start", "x"], "begin"),
    ],
)
def test_wrong_marks_are_refused_in_one_sentence(
    tmp_path: Path, words: list[str], part: str
) -> None:
    answer = nearfar("mark", *words, cwd=tmp_path, code=2)
    assert part in answer.stderr


def test_a_file_that_is_not_a_control_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "control").write_bytes(b"something else entirely" * 5000)
    answer = nearfar("mark", "begin", "x", "--run", tmp_path, cwd=tmp_path, code=2)
    assert "Invalid argument" in answer.stderr


def test_a_bundled_allocator_is_recognised(tmp_path: Path) -> None:
    program = compiled("own_allocator.c", tmp_path, "-O1")
    nearfar("profile", "-q", "--repetitions", 1, "--", program, cwd=tmp_path)
    profile = load(tmp_path / "run.json", WorkloadProfile)
    (warning,) = [text for text in profile.warnings if "jemalloc" in text]
    assert "MALLOC=libc" in warning


def totals(profile: WorkloadProfile) -> dict[str, float]:
    """Return misses by object in the marked phases."""
    result: dict[str, float] = {}
    for phase in profile.phases:
        for row in phase.objects:
            name = profile.objects[row.object].name
            result[name] = result.get(name, 0.0) + row.traffic.misses()
    return result


def test_sampled_misses_equal_those_of_the_full_simulation(program: Path, tmp_path: Path) -> None:
    full = compiled("program.c", tmp_path, "-O1", "--nearfar-rate=1")
    for name, which in (("full", full), ("sampled", program)):
        nearfar(
            "profile", "-q", "-o", f"{name}.json", "--llc", "2MiB", "--ways", 16,
            "--repetitions", 1, "--", which, cwd=tmp_path,
        )  # fmt: skip
    exact = load(tmp_path / "full.json", WorkloadProfile)
    sampled = load(tmp_path / "sampled.json", WorkloadProfile)
    assert (exact.sampling.rate, exact.sampling.relative_error) == (1, 0.0)
    assert sampled.sampling.rate == 64
    for name, misses in totals(exact).items():
        if misses > 10_000:
            assert totals(sampled)[name] == pytest.approx(misses, rel=0.03)


def test_missing_address_space_for_the_tables_is_reported(program: Path, tmp_path: Path) -> None:
    # 16 GiB suffice for Python and the program, but not for the shadow of the address space.
    answer = subprocess.run(
        ["bash", "-c", 'ulimit -v 16777216; exec "$@"', "bash", *NEARFAR, "profile", "--", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 3
    assert "address space" in answer.stderr
    assert list(tmp_path.iterdir()) == []
