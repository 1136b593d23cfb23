"""Other programs' own tests pass with their data in far memory: SQLite's and gawk's, built plainly.

Redis' are in test_run_redis.py. SQLite is one process that allocates and frees all the time, with
threads, other clients and damaged files; gawk's suite starts hundreds of short ones.
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
from made_plans import placement, plan

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.long

SQLITE_FILES = (
    *("select1", "insert", "delete", "index", "join", "trans", "savepoint", "vacuum", "pager1"),
    *("wal", "trigger1", "shared", "thread001", "incrblob", "fts3aa", "json101", "corrupt"),
)
FAIL_FOR_ROOT = ("delete-8", "pager1.4.7.2", "pager1.4.8.1")
"""They take the right to read or write a file away, which root does not need."""
SQLITE_OBJECTS = ("pcache1Alloc", "pcache1AllocPage", "sqlite3BtreeOpen", "sqlite3VdbeSorterWrite")
GAWK_OBJECTS = ("more_blocks", "make_str_node", "str_array_init", "grow_table", "iop_alloc")


def built(package: str, options: Sequence[str], *steps: Sequence[str]) -> Path:
    """Return a build folder of a Debian package's source by the system's compiler; or skip."""
    sys.path.insert(0, str(ROOT / "examples/demo"))
    from source import SourceUnavailableError, fetch_source

    try:
        tree = Path(fetch_source(package, ROOT / "build/suites" / package))
    except SourceUnavailableError as error:
        pytest.skip(f"the source of {package} cannot be had here: {error}")
    folder = tree / "run-build"
    if not (folder / "Makefile").exists():
        folder.mkdir(exist_ok=True)
        steps = (["../configure", *options], *steps)
    for step in steps:
        done = subprocess.run(step, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (step, done.stdout[-1000:], done.stderr[-2000:])
    return folder


def run_far(
    folder: Path, objects: Sequence[str], record: Path, *command: str
) -> subprocess.CompletedProcess[str]:
    """Run a command with these functions' objects in far memory, which is files."""
    where = record.with_name("plan.json")
    save(plan([placement(number, name, "far") for number, name in enumerate(objects)]), where)
    return subprocess.run(
        [sys.executable, "-m", "nearfar", "run", str(where), "--map", "far=file:/dev/shm",
         "--force", "-o", str(record), "--", *command],
        cwd=folder, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip


def test_sqlites_own_tests_pass_with_far_data(tmp_path: Path) -> None:
    if shutil.which("tclsh") is None or not list(Path("/usr/lib").glob("**/tclConfig.sh")):
        pytest.skip("Tcl and its headers are not installed (apt-get install tcl-dev)")
    folder = built("sqlite3", ["--with-tcl=/usr/lib/tcl8.6"], ["make", "-j2", "testfixture"])
    most = 0
    for name in SQLITE_FILES:
        record = tmp_path / "record.json"
        done = run_far(folder, SQLITE_OBJECTS, record, "./testfixture", f"../test/{name}.test")
        assert re.search(r"^\d+ errors out of \d+ tests", done.stdout, re.MULTILINE), (name, done)
        failed = re.search(r"^!?Failures on these tests: (.*)$", done.stdout, re.MULTILINE)
        for test in failed[1].split() if failed else ():
            assert test.startswith(FAIL_FOR_ROOT), (name, done.stdout[-2000:])
        most = max(most, load(record, RunRecord).pages_by_memory.get("far", 0))
    assert most > 1 << 20


def test_gawks_own_tests_pass_with_far_data(tmp_path: Path) -> None:
    folder = built("gawk", ["--disable-nls"], ["make", "-j2", "-C", "support"],
                   ["make", "-j2", "gawk"])  # fmt: skip
    # What differs from what is expected stays in a file whose name begins with _.
    for left in (folder / "test").glob("_*"):
        left.unlink()
    record = tmp_path / "record.json"
    for part in ("basic", "unix-tests", "machine-tests"):
        done = run_far(folder / "test", GAWK_OBJECTS, record, "make", part)
        assert done.returncode == 0, (part, done.stdout[-2000:], done.stderr[-2000:])
        assert load(record, RunRecord).processes > 10
    assert not list((folder / "test").glob("_*"))
