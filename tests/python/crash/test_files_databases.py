"""Databases in their safe settings are clean, and their documented unsafe settings are found."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import patience

from nearfar.__main__ import main
from nearfar.documents.crash_report import CrashReport
from nearfar.documents.header import load

SQLITE = """
import sqlite3, sys
folder, mode, synchronous, count, *pragmas = sys.argv[1:]
database = sqlite3.connect(folder + "/db", isolation_level=None)
for pragma in [*pragmas, "journal_mode=" + mode, "synchronous=" + synchronous]:
    database.execute("PRAGMA " + pragma)
database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, text TEXT)")
database.execute("CREATE INDEX i ON t(text)")
for number in range(int(count)):
    database.execute("BEGIN")
    database.execute("INSERT INTO t VALUES(?, ?)", (2 * number, "x" * (number % 7 * 30)))
    database.execute("INSERT INTO t VALUES(?, ?)", (2 * number + 1, "y" * 900))
    database.execute("UPDATE t SET text = text || 'z' WHERE id % 5 = 0")
    database.execute("COMMIT")
    print(f"acknowledged SELECT count(*) FROM t WHERE id = {2 * number + 1}", flush=True)
"""
LMDB = """
import lmdb, sys
folder, mode = sys.argv[1:]
options = {"nosync": {"sync": False}, "mapped": {"writemap": True}}.get(mode, {})
database = lmdb.open(folder + "/db", map_size=1 << 20, **options)
with database.begin() as reader:
    first = reader.stat()["entries"]
for number in range(first, first + 3):
    with database.begin(write=True) as writer:
        writer.put(b"%d" % number, b"v%d " % number * 300)
    print(f"{number}\\n", end="", flush=True)
"""
LMDB_CHECK = """
import lmdb, sys
folder, printed = sys.argv[1:]
with lmdb.open(folder + "/db", map_size=1 << 20) as database, database.begin() as reader:
    rows = dict(reader.cursor())
for key, value in rows.items():
    assert value == b"v%s " % key * 300, key
for line in open(printed).read().split("\\n")[:-1]:
    assert line.encode() in rows, line
"""
REDIS = """
socket=$1.socket
redis-server --dir "$1" --port 0 --unixsocket $socket --save "" --appendonly yes \\
  --appendfsync $2 >/dev/null 2>&1 &
until redis-cli -s $socket ping >/dev/null 2>&1; do sleep 0.02; done
for i in 1 2 3 4; do redis-cli -s $socket set $3$i v$i >/dev/null; echo $3$i; done
redis-cli -s $socket shutdown nosave >/dev/null 2>&1
wait
"""
REDIS_CHECK = """
socket=$1.socket
redis-server --dir "$1" --port 0 --unixsocket $socket --save "" --appendonly yes >/dev/null 2>&1 &
server=$!
until redis-cli -s $socket ping 2>/dev/null | grep -q PONG; do
  kill -0 $server 2>/dev/null || exit 1
  sleep 0.02
done
while read -r key; do
  [ "$(redis-cli -s $socket get $key)" = v${key#?} ] || { echo lost; kill -9 $server; exit 1; }
done < "$2"
kill -9 $server
"""
LEVELDB = """
import plyvel, sys
folder, mode, first = sys.argv[1:]
database = plyvel.DB(folder + "/db", create_if_missing=True, write_buffer_size=1 << 16)
for number in range(int(first), int(first) + 14):
    with database.write_batch(sync=mode == "sync") as batch:
        batch.put(b"a%d" % number, b"%d " % number * 1500)
        batch.put(b"b%d" % number, b"%d " % number * 1500)
    print(f"{number}\\n", end="", flush=True)
database.close()
"""
LEVELDB_CHECK = """
import plyvel, sys
folder, printed = sys.argv[1:]
database = plyvel.DB(folder + "/db", create_if_missing=True)
rows = dict(database.iterator(verify_checksums=True))
for key, value in rows.items():
    assert value == b"%s " % key[1:] * 1500, key
    assert (b"b" if key[:1] == b"a" else b"a") + key[1:] in rows, key
for line in open(printed).read().split("\\n")[:-1]:
    assert b"a" + line.encode() in rows, line
"""


def explore(tmp_path: Path, judge: list[str], program: list[str], *options: str) -> CrashReport:
    output = tmp_path / "crash.json"
    limits = ["--seconds", f"{patience(600):.0f}", "--timeout", f"{patience(60):.0f}s"]
    words = ["crash", "-q", *judge, *limits, "-o", str(output), *options, "--", *program]
    code = main(words)
    report = load(output, CrashReport)
    assert code == bool(report.bugs) or report.ended == "states"
    return report


def sqlite(tmp_path: Path, settings: str, count: int, *options: str) -> CrashReport:
    program = tmp_path / "program.py"
    program.write_text(SQLITE)
    mode, synchronous, *pragmas = settings.split()
    words = [sys.executable, "-I", "-S", str(program), "{files}"]
    words += [mode, synchronous, str(count), *pragmas]
    judge = ["--files", str(tmp_path / "none"), "--adapter", "sqlite"]
    return explore(tmp_path, judge, words, *options)


@pytest.mark.parametrize("settings", ["wal off", "delete off", "truncate off"])
def test_sqlite_without_syncs_is_found_in_a_hundred_states(settings: str, tmp_path: Path) -> None:
    (bug,) = sqlite(tmp_path, settings, 3, "--first").bugs
    assert bug.found_states <= 100
    assert "acknowledged and lost" in bug.said or "malformed" in bug.said


def test_sqlite_in_its_safe_settings_is_clean_in_the_first_states(tmp_path: Path) -> None:
    assert not sqlite(tmp_path, "wal full", 2, "--states", "150").bugs


@pytest.mark.long
@pytest.mark.parametrize(
    "settings",
    ["wal full", "wal full mmap_size=1000000", "delete extra", "truncate full", "persist full"],
)
def test_sqlite_in_its_safe_settings_is_clean(settings: str, tmp_path: Path) -> None:
    assert not sqlite(tmp_path, settings, 8, "--states", "6000").bugs


@pytest.mark.long
def test_sqlite_may_undo_its_last_commit_unless_synchronous_is_extra(tmp_path: Path) -> None:
    # sqlite.org/pragma.html#pragma_synchronous: EXTRA also syncs the folder of the journal.
    report = sqlite(tmp_path, "delete full", 4, "--first")
    assert [line.what for line in report.bugs[0].lost] == ["unlink db-journal"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("mode", "clean"), [("default", True), ("mapped", True), ("nosync", False)]
)
def test_lmdb_is_clean_unless_it_does_not_sync(mode: str, clean: bool, tmp_path: Path) -> None:
    pytest.importorskip("lmdb", reason="install the Python package lmdb")
    for name, text in [("program", LMDB), ("check", LMDB_CHECK)]:
        (tmp_path / f"{name}.py").write_text(text)
    base = tmp_path / "base"
    (base / "db").mkdir(parents=True)
    program = [sys.executable, str(tmp_path / "program.py")]
    subprocess.run([*program, base, "default"], check=True)
    check = f"{sys.executable} {tmp_path}/check.py {{files}} {{printed}}"
    judge = ["--files", str(base), "--check", check]
    report = explore(tmp_path, judge, [*program, "{files}", mode], "--states", "1000")
    assert bool(report.bugs) != clean


@pytest.mark.long
@pytest.mark.parametrize(("policy", "clean"), [("always", True), ("no", False)])
def test_redis_is_clean_if_it_syncs_each_append(policy: str, clean: bool, tmp_path: Path) -> None:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed: run `scripts/setup.sh test`")
    for name, text in [("program", REDIS), ("check", REDIS_CHECK)]:
        (tmp_path / f"{name}.sh").write_text(text)
    base = tmp_path / "base"
    base.mkdir()
    program = ["/bin/sh", str(tmp_path / "program.sh")]
    subprocess.run([*program, base, "always", "a"], check=True)
    judge = ["--files", str(base), "--check", f"sh {tmp_path}/check.sh {{files}} {{printed}}"]
    # A tail of zeros, which ext4 leaves only with data=writeback, keeps Redis from starting.
    judge += ["--file-system", "ordered,journal"]
    report = explore(tmp_path, judge, [*program, "{files}", policy, "b"])
    assert bool(report.bugs) != clean


@pytest.mark.long
@pytest.mark.parametrize(
    ("mode", "systems", "lost"),
    [
        ("sync", "ordered,journal", ""),
        ("sync", "posix", "create db/"),  # ALICE, table 3: a new log's entry is not synced
        ("none", "ordered", "write of"),
    ],
)
def test_leveldb_loses_what_was_published(
    mode: str, systems: str, lost: str, tmp_path: Path
) -> None:
    pytest.importorskip("plyvel", reason="install the Python package plyvel")
    for name, text in [("program", LEVELDB), ("check", LEVELDB_CHECK)]:
        (tmp_path / f"{name}.py").write_text(text)
    base = tmp_path / "base"
    base.mkdir()
    program = [sys.executable, str(tmp_path / "program.py")]
    subprocess.run([*program, base, "sync", "0"], check=True)
    check = f"{sys.executable} {tmp_path}/check.py {{files}} {{printed}}"
    judge = ["--files", str(base), "--check", check, "--file-system", systems]
    words = [*program, "{files}", mode, "14"]
    report = explore(tmp_path, judge, words, "--states", "600")
    texts = [line.what for bug in report.bugs for line in bug.lost]
    assert any(text.startswith(lost) for text in texts) if lost else not texts
