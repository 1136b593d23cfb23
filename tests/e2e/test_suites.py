"""Suites of other programs pass when these are built by `nearfar cc` and profiled.

SQLite (one long process; its allocator, its journals) and gawk (hundreds of short ones; fork,
pipes). Redis' suite is in test_redis.py. Skipped with the reason where sources are unavailable.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearfar.profile.run_file import read_run
from nearfar.profile.session import prepare_folder

from .suites import attempt, configured, need, source_tree, step

pytestmark = pytest.mark.long

SQLITE_SUBSET = (
    *("select1", "select4", "insert", "update", "delete", "index", "join", "where", "expr"),
    *("func", "trans", "savepoint", "vacuum", "pager1", "wal", "trigger1", "view", "autovacuum"),
    *("shared", "thread001", "incrblob", "fts3aa", "json101", "window1", "corrupt"),
)
"""Some of a thousand files: each part of the library, its thread and corruption tests.
NEARFAR_SUITE=veryquick runs all that SQLite's developers run before each commit."""
FAIL_FOR_ROOT = {f"delete-8.{number}" for number in range(1, 7)} | {
    "pager1.4.7.2",
    "pager1.4.8.1",
}
"""They remove a file's read or write permission, which root does not need."""
PROCESS_TABLES_BYTES = 4 << 20
"""Size per process: gawk's suite starts hundreds, and the test needs no complete counts."""


@pytest.fixture
def run_folder() -> Iterator[Path]:
    """Make a folder into which every instrumented process writes its counts."""
    shared = Path("/dev/shm")
    folder = Path(
        tempfile.mkdtemp(prefix="nearfar-suite-", dir=shared if shared.is_dir() else None)
    )
    prepare_folder(folder, 32 << 20, 16, PROCESS_TABLES_BYTES).close()
    yield folder
    shutil.rmtree(folder)


def failures(said: str) -> set[str]:
    """Return the tests that SQLite's suite reports as failed."""
    match = re.search(r"^!?Failures on these tests: (.*)$", said, re.MULTILINE)
    return set(match[1].split()) if match else set()


def test_sqlites_own_tests_pass_while_it_is_profiled(run_folder: Path) -> None:
    need("tclsh", "tcl")
    if not list(Path("/usr/lib").glob("**/tclConfig.sh")):
        pytest.skip("Tcl's headers are not installed (apt-get install tcl-dev)")
    folder = configured(source_tree("sqlite3"), "--with-tcl=/usr/lib/tcl8.6")
    step(folder, ["make", "-j2", "testfixture"])
    names = [os.environ["NEARFAR_SUITE"]] if "NEARFAR_SUITE" in os.environ else SQLITE_SUBSET
    for name in names:
        command = ["./testfixture", f"../test/{name}.test"]
        code, message = attempt(folder, command, NEARFAR_RUN_DIR=str(run_folder))
        assert re.search(r"^\d+ errors out of \d+ tests", message, re.MULTILINE), (
            name,
            message[-2000:],
        )
        assert (code == 0) == (not failures(message)), (name, message[-2000:])
        assert failures(message) <= (FAIL_FOR_ROOT if os.geteuid() == 0 else set()), message[-2000:]
    assert sum(len(file.counters) for file in read_run(run_folder)) > 0


def test_gawks_own_tests_pass_while_it_is_profiled(run_folder: Path) -> None:
    folder = configured(source_tree("gawk"), "--disable-nls")
    step(folder, ["make", "-j2", "-C", "support"])
    step(folder, ["make", "-j2", "gawk"])
    # Tests that need locales or the network are left out, because not all build machines have them.
    # gawk's suite leaves unexpected output in files whose names begin with _.
    for left in (folder / "test").glob("_*"):
        left.unlink()
    for part in ("basic", "unix-tests", "machine-tests"):
        step(folder / "test", ["make", part], NEARFAR_RUN_DIR=str(run_folder))
    assert not list((folder / "test").glob("_*"))
    assert sum(len(file.counters) for file in read_run(run_folder)) > 0
