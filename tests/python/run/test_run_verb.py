"""`nearfar run` end to end on this machine: far memory is files in the page cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.__main__ import main
from nearfar.documents import Plan, RunRecord, load, save
from nearfar.documents.plan import Move, PhasePlacements, PlanMemory
from nearfar.documents.run_record import ObjectLanding
from nearfar.native_files import include_folder, native_folder
from nearfar.options.run import RunOptions
from nearfar.program.launch import Job
from nearfar.run.adapt import Pace
from nearfar.run.api import run_plan
from nearfar.run.launch import NEAR_LIBRARY

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import PROGRAMS, objects_plan, placement, plan, run_verb

FAR_FOLDER = "/dev/shm"
ALL = ("make_array", "make_list", "make_growing", "make_mapping", "make_cleared")
MIB = 4
"""Size of each object: about a hundred sampled pages, each of which counts for 32 KiB."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    include = f"-I{include_folder()}"
    subprocess.run(
        ["cc", "-O2", "-g", "-pthread", include, str(PROGRAMS / "objects.c"), "-o",
         str(folder / "objects")], check=True,
    )  # fmt: skip
    subprocess.run(
        ["c++", "-std=c++20", "-O2", "-g", include, str(PROGRAMS / "tagged.cpp"), "-o",
         str(folder / "tagged")], check=True,
    )  # fmt: skip
    return folder


def run(folder: Path, made: Plan, *words: str, options: tuple[str, ...] = ()) -> RunRecord:
    """Run a program of `folder`, which checks its own data, and return the record."""
    save(made, folder / "plan.json")
    done = run_verb(folder, *options, "--", str(folder / words[0]), *words[1:])
    assert done.returncode == 0, done.stderr
    return load(folder / "record.json", RunRecord)


def by_name(record: RunRecord) -> dict[str, ObjectLanding]:
    return {each.name: each for each in record.objects}


def assert_landed(record: RunRecord) -> None:
    for each in record.objects:
        # Within sampling: 4 MiB are 128 sampled pages, and a process may hold the object twice.
        assert each.recognised_bytes > 0.7 * (MIB << 20), each
        assert each.on_plan is not None
        assert each.on_plan >= 0.99, each
        assert each.fallback_bytes == 0, each
    assert record.recognised_share_of_profile == 1.0


TO_FILES = ("--map", f"far=file:{FAR_FOLDER}")


def test_every_object_is_placed_by_the_plan(folder: Path) -> None:
    """The program uses threads, fork and exec, and checks its own data."""
    where = dict(zip(ALL, ("far", "far", "near", "far", "near"), strict=True))
    record = run(
        folder, objects_plan(where), "objects", str(MIB), "threads", "fork", "exec",
        options=TO_FILES,
    )  # fmt: skip
    assert_landed(record)
    assert record.processes >= 3
    assert set(record.pages_by_memory) == {"near", "far"}
    assert record.exit_status == "exited 0"


def test_the_placing_library_serves_an_all_near_plan_too(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does where the other library was not built."""
    for built in native_folder().iterdir():
        if built.name != NEAR_LIBRARY:
            (tmp_path / built.name).symlink_to(built)
    monkeypatch.setenv("NEARFAR_NATIVE", str(tmp_path))
    record = run(folder, objects_plan(dict.fromkeys(ALL, "near")), "objects", "48", "threads")
    assert "libnearfar_run.so" in record.allocator
    assert_landed(record)
    assert record.pages_by_memory.keys() == {"near"}


def test_an_all_near_plan_is_sampled(folder: Path) -> None:
    record = run(folder, objects_plan(dict.fromkeys(ALL, "near")), "objects", "48", "threads")
    for each in record.objects:
        # One block in 512 KiB is sampled: half of the true value is five standard deviations away.
        assert each.recognised_bytes > 24 << 20, each
        assert each.on_plan == 1.0
    assert record.recognised_share_of_profile == 1.0


def test_parts_and_interleaves_divide_objects(folder: Path) -> None:
    made = objects_plan(
        dict(zip(ALL, ("far", "far", "near", "far", "near"), strict=True)),
        parts={"make_array": [("near", 0.25), ("far", 0.75)]},
        interleave={"make_list": {"near": 3, "far": 1}, "make_mapping": {"near": 1, "far": 1}},
    )
    record = run(folder, made, "objects", "8", "fork", options=TO_FILES)
    landed = by_name(record)
    for name, share in (("make_array", 0.75), ("make_list", 0.25), ("make_mapping", 0.5)):
        there = landed[name].bytes_by_memory
        assert there["far"] / sum(there.values()) == pytest.approx(share, abs=0.1), name


def test_what_exceeds_a_full_memory_is_near_and_reported(folder: Path) -> None:
    made = objects_plan({"make_array": "far", "make_list": "near"}, far_capacity=1 << 20)
    record = run(folder, made, "objects", str(MIB), options=TO_FILES)
    array = by_name(record)["make_array"]
    assert array.fallback_bytes > 0.5 * (MIB << 20)
    assert array.on_plan is not None
    assert array.on_plan < 0.5
    assert record.fallback_bytes > 0.5 * (MIB << 20)
    assert any("their memory was full" in warning for warning in record.warnings)


def test_a_full_memory_takes_what_fits_and_the_next_far_memory_the_rest(folder: Path) -> None:
    """It is exact to the byte: rounding to pages must not send a whole part elsewhere."""
    parts = {"make_array": (("far", 0.5), ("roomy", 0.5))}
    made = objects_plan({"make_array": "far"}, parts=parts, far_capacity=(1 << 20) - 1)
    made.memories.append(PlanMemory(name="roomy", device="optane"))
    roomy = ("--map", f"roomy=file:{FAR_FOLDER}/")
    record = run(folder, made, "objects", str(MIB), options=("--map", "far=node:0", *roomy))
    there = by_name(record)["make_array"].bytes_by_memory
    assert there["far"] > 0.5 * (1 << 20), there
    assert there["roomy"] > 2.3 * (1 << 20), there
    assert there.get("near", 0) == 0, there


def test_tags_are_objects_in_c_and_cpp(folder: Path) -> None:
    def tagged(number: int, tag: str, function: str, memory: str) -> object:
        return placement(number, function, memory, split=tag)

    made = plan(
        [
            tagged(0, "cold", "by_tag", "far"),  # type: ignore[list-item]
            tagged(1, "warm", "by_tag", "near"),  # type: ignore[list-item]
            tagged(2, "vector", "main", "far"),  # type: ignore[list-item]
            tagged(3, "resource", "main", "near"),  # type: ignore[list-item]
        ]
    )
    record = run(folder, made, "tagged", options=TO_FILES)
    assert_landed(record)
    assert subprocess.check_output([str(folder / "tagged")]) == b"xxvr\n"  # unlinked too


def test_adapt_requests_moves_of_the_phase_and_idles_on_one_node(folder: Path) -> None:
    """Far is the near node here: when forced, the calls are made, and nothing has to move."""
    made = objects_plan(
        {"make_array": "near", "make_list": "far", "make_growing": "far"},
        interleave={"make_growing": {"near": 1, "far": 3}},
        phases=[
            PhasePlacements(
                phase="work",
                moves=[Move(object=0, source="near", memory="far", bytes=MIB << 20, cost_ns=0)],
            )
        ],
    )
    program = [str(folder / "objects"), str(MIB), "phases"]
    pace = Pace(region_bytes=64 << 10, hysteresis_s=0.05, even_on_one_node=True)
    options = RunOptions(map=["far=node:0"], adapt=True)
    record = run_plan(made, "", options, Job(program), pace=pace)
    (migration,) = record.migrations
    assert (migration.name, migration.memory) == ("make_array", "far")
    assert migration.why == "phase work began"
    assert migration.failed_bytes == 0
    assert any("by shares (make_growing) stays" in text for text in record.warnings)
    record = run(folder, made, "objects", "1", options=("--map", "far=node:0", "--adapt"))
    assert record.migrations == []
    assert any("--adapt has nothing to do" in warning for warning in record.warnings)


def test_bad_input_is_refused_in_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(objects_plan({"make_array": "far"}), folder / "plan.json")
    made, program = str(folder / "plan.json"), str(folder / "objects")
    privileged = folder / "privileged"
    shutil.copy(program, privileged)
    privileged.chmod(0o4755)
    for words, message in (
        ((made, "--", program), "has no local memory"),
        ((made, *TO_FILES, "--", "/bin/true"), "another program's"),
        ((made, *TO_FILES, "--", str(privileged)), "set-user-id"),
        ((made, *TO_FILES, "--", str(folder / "absent")), "no such file"),
        ((made, "--map", f"far=file:{FAR_FOLDER},dax=require", "--", program), "no DAX"),
        ((made, *TO_FILES, "--adapt", "--", program), "between memory nodes"),
        ((made, *TO_FILES, "--region", "1B", "--adapt", "--", program), "at least a page"),
        ((made, *TO_FILES, "--rate", "1GiB", "--", program), "leave out --rate"),
        ((made, *TO_FILES, "--duration", "-5s", "--", program), "cannot read --duration '-5s'"),
        ((made, "--map", "far=node:0,pages=4k", "--", program), "--pages sets"),
        ((made, *TO_FILES, *TO_FILES, "--", program), "names far twice"),
        ((made,), "name a plan and a program"),
        (("--policy", "fastest", "--", program), "no policy"),
        (
            (made, "--policy", "interleave", "--", program),
            "--policy goes without a plan: leave out",
        ),
        ((made, "--far", "zram", "--near", "60%", "--", program), "--far goes without a plan"),
        (("--policy", "interleave", "--map", "far=node:0", "--", program), "--map, --adapt"),
        (("--policy", "interleave", "--force", "--", program), "--force and --pages"),
    ):
        output = folder / "never.json"
        assert main(["run", "-o", str(output), *words]) in (2, 3), words
        error = capsys.readouterr().err
        assert error.startswith("nearfar: "), error
        assert message in error
        assert error.count("\n") == 1, error
        assert not output.exists()


def test_without_addresses_a_program_runs_unplaced_with_a_warning(folder: Path) -> None:
    save(objects_plan({"make_array": "far"}), folder / "plan.json")
    limited = f"ulimit -v 8000000; exec {folder / 'objects'} 1"
    done = run_verb(folder, *TO_FILES, "--force", "--", "/bin/sh", "-c", limited)
    assert done.returncode == 0, done.stderr
    warnings = load(folder / "record.json", RunRecord).warnings
    assert any("may not reserve 56 GiB of addresses" in warning for warning in warnings), warnings


def test_force_runs_another_programs_plan(folder: Path) -> None:
    save(objects_plan({"make_nothing_known": "far"}), folder / "plan.json")
    done = run_verb(folder, *TO_FILES, "--force", "--", str(folder / "objects"), "1")
    assert done.returncode == 0, done.stderr
    record = load(folder / "record.json", RunRecord)
    assert record.recognised_share_of_profile == 0.0
    assert any("0% of the plan's bytes" in warning for warning in record.warnings)


def test_a_failing_program_leaves_its_record(folder: Path) -> None:
    save(objects_plan({"make_array": "far"}), folder / "plan.json")
    script = "import ctypes, os; os._exit(3)"
    done = run_verb(folder, *TO_FILES, "--force", "--", sys.executable, "-c", script)
    assert done.returncode == 4
    assert load(folder / "record.json", RunRecord).exit_status == "exited 3"


def test_under_itself_and_after_another_preload(folder: Path) -> None:
    save(objects_plan({"make_array": "far"}), folder / "plan.json")
    inner = [sys.executable, "-m", "nearfar", "run", str(folder / "plan.json"), *TO_FILES]
    done = subprocess.run(
        [*inner, "--", str(folder / "objects"), "1"],
        env={**os.environ, "NEARFAR_RUN_PLACES": "/nowhere"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "two preloads" in done.stderr


def test_a_policy_reports_where_pages_were(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nearfar", "run", "--policy", "interleave", "-o",
         str(folder / "policy.json"), "--", str(folder / "objects"), "16", "phases"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    record = load(folder / "policy.json", RunRecord)
    assert record.policy == "interleave"
    assert sum(record.pages_by_memory.values()) > 32 << 20
