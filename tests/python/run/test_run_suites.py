"""The test suites of Redis, SQLite and gawk pass with their data in far memory.

Redis forks, saves and loads all the time. SQLite is one process that allocates and frees all the
time, with threads, other clients and damaged files. gawk's suite starts hundreds of processes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from nearfar.documents import RunRecord, load, save

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import placement, plan, run_verb

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.long

SQLITE_FILES = (
    *("select1", "insert", "delete", "index", "join", "trans", "savepoint", "vacuum", "pager1"),
    *("wal", "trigger1", "shared", "thread001", "incrblob", "fts3aa", "json101", "corrupt"),
)
FAIL_FOR_ROOT = ("delete-8", "pager1.4.7.2", "pager1.4.8.1")
"""They remove a file's read or write permission, which root does not need."""
SQLITE_OBJECTS = ("pcache1Alloc", "pcache1AllocPage", "sqlite3BtreeOpen", "sqlite3VdbeSorterWrite")
REDIS_SUITES = ("unit/type/string", "unit/type/hash", "unit/other")
REDIS_OBJECTS = ("_sdsnewlen", "createObject", "dictAddRaw", "_dictExpand", "zslCreateNode")
GAWK_OBJECTS = ("more_blocks", "make_str_node", "str_array_init", "grow_table", "iop_alloc")


def built(package: str, options: Sequence[str], *steps: Sequence[str]) -> Path:
    """Return a build folder of a Debian source package with the system's compiler, or skip."""
    sys.path.insert(0, str(ROOT / "examples/demo"))
    from source import SourceUnavailableError, fetch_source

    try:
        tree = Path(fetch_source(package, ROOT / "build/suites" / package))
    except SourceUnavailableError as error:
        pytest.skip(f"the source of {package} is not available here: {error}")
    folder = tree / "run-build"
    if not (folder / "Makefile").exists():
        folder.mkdir(exist_ok=True)
        steps = (["../configure", *options], *steps)
    for step in steps:
        done = subprocess.run(step, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (step, done.stdout[-1000:], done.stderr[-2000:])
    return folder


def run_far(
    folder: Path, tmp_path: Path, objects: Sequence[str], *command: str
) -> tuple[subprocess.CompletedProcess[str], RunRecord]:
    """Run a command with these functions' objects in far memory, backed by files."""
    placements = [placement(number, name, "far") for number, name in enumerate(objects)]
    save(plan(placements), tmp_path / "plan.json")
    words = ("--map", "far=file:/dev/shm", "--force", "--", *command)
    done = run_verb(tmp_path, *words, cwd=folder)
    return done, load(tmp_path / "record.json", RunRecord)


def test_redis_suites_pass_with_far_data(tmp_path: Path) -> None:
    tree = ROOT / "build/run/redis"
    if shutil.which("tclsh") is None:
        pytest.skip("tclsh is not installed, and Redis' test suite needs it")
    if not (tree / "src/redis-server").is_file():
        sys.path.insert(0, str(ROOT))
        from benchmarks.run_programs import redis

        try:
            redis()
        except Exception as error:
            pytest.skip(f"Redis cannot be built here: {error}")
    subprocess.run(
        ["make", "-s", "MALLOC=libc", "USE_SYSTEMD=no", "BUILD_TLS=no", "OPTIMIZATION=-O2",
         "redis-cli", "redis-benchmark"], cwd=tree, check=True, capture_output=True,
    )  # fmt: skip
    # The suite starts the servers; the plan applies to them, not to tclsh.
    single = [word for suite in REDIS_SUITES for word in ("--single", suite)]
    command = ("tclsh", "tests/test_helper.tcl", "--clients", "2", *single)
    done, record = run_far(tree, tmp_path, REDIS_OBJECTS, *command)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "All tests passed without errors" in done.stdout
    assert record.pages_by_memory["far"] > 1 << 20
    assert record.recognised_share_of_profile == 1.0


def test_sqlites_own_tests_pass_with_far_data(tmp_path: Path) -> None:
    if shutil.which("tclsh") is None or not list(Path("/usr/lib").glob("**/tclConfig.sh")):
        pytest.skip("Tcl and its headers are not installed (apt-get install tcl-dev)")
    folder = built("sqlite3", ["--with-tcl=/usr/lib/tcl8.6"], ["make", "-j2", "testfixture"])
    most = 0
    for name in SQLITE_FILES:
        command = ("./testfixture", f"../test/{name}.test")
        done, record = run_far(folder, tmp_path, SQLITE_OBJECTS, *command)
        assert re.search(r"^\d+ errors out of \d+ tests", done.stdout, re.MULTILINE), (name, done)
        failed = re.search(r"^!?Failures on these tests: (.*)$", done.stdout, re.MULTILINE)
        for test in failed[1].split() if failed else ():
            assert test.startswith(FAIL_FOR_ROOT), (name, done.stdout[-2000:])
        most = max(most, record.pages_by_memory.get("far", 0))
    assert most > 1 << 20


def test_gawks_own_tests_pass_with_far_data(tmp_path: Path) -> None:
    folder = built("gawk", ["--disable-nls"], ["make", "-j2", "-C", "support"],
                   ["make", "-j2", "gawk"])  # fmt: skip
    # gawk's suite leaves unexpected output in files whose names begin with _.
    for left in (folder / "test").glob("_*"):
        left.unlink()
    for part in ("basic", "unix-tests", "machine-tests"):
        done, record = run_far(folder / "test", tmp_path, GAWK_OBJECTS, "make", part)
        assert done.returncode == 0, (part, done.stdout[-2000:], done.stderr[-2000:])
        assert record.processes > 10
    assert not list((folder / "test").glob("_*"))
