"""Databases in their safe settings are clean, and their documented unsafe settings are found."""

from __future__ import annotations

import os
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
folder, word, mode, synchronous, count, *pragmas = sys.argv[1:]
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
    print(f"{word} SELECT count(*) FROM t WHERE id = {2 * number + 1}", flush=True)
"""
REDIS = """
socket=$1.socket
log=yes; [ $2 = save ] && log=no
[ $2 = no ] && sync=no || sync=always
redis-server --dir "$1" --port 0 --unixsocket $socket --save "" --appendonly $log \\
  --appendfsync $sync >/dev/null 2>&1 &
until redis-cli -s $socket ping >/dev/null 2>&1; do sleep 0.02; done
for i in 1 2 3 4; do
  redis-cli -s $socket set $3$i v$i >/dev/null
  [ $2 = save ] && redis-cli -s $socket save >/dev/null
  echo $3$i
done
redis-cli -s $socket shutdown nosave >/dev/null 2>&1
wait
"""
REDIS_CHECK = """
socket=$1.socket
log=no; [ -e $1/appendonlydir ] && log=yes
redis-server --dir "$1" --port 0 --unixsocket $socket --save "" --appendonly $log >/dev/null 2>&1 &
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


def explore(tmp_path: Path, judge: list[str], program: list[str], *options: str) -> CrashReport:
    output = tmp_path / "crash.json"
    limits = ["--seconds", f"{patience(600):.0f}", "--timeout", f"{patience(60):.0f}s"]
    words = ["crash", "-q", *judge, *limits, "-o", str(output), *options, "--", *program]
    code = main(words)
    report = load(output, CrashReport)
    assert code == bool(report.bugs) or report.ended == "states"
    return report


def sqlite(
    tmp_path: Path, settings: str, count: int, *options: str, word: str = "acknowledged"
) -> CrashReport:
    program = tmp_path / "program.py"
    program.write_text(SQLITE)
    mode, synchronous, *pragmas = settings.split()
    words = [sys.executable, "-I", "-S", str(program), "{files}", word]
    words += [mode, synchronous, str(count), *pragmas]
    judge = ["--files", str(tmp_path / "none"), "--adapter", "sqlite"]
    return explore(tmp_path, judge, words, *options)


@pytest.mark.parametrize("settings", ["wal off", "delete off", "truncate off", "memory full"])
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
    assert report.bugs[0].said.endswith("which only synchronous=EXTRA prevents")


@pytest.mark.long
def test_sqlite_keeps_in_its_default_settings_what_it_promises(tmp_path: Path) -> None:
    assert not sqlite(tmp_path, "delete full", 8, "--states", "6000", word="committed").bugs


def test_a_commit_before_the_last_must_survive_in_any_settings(tmp_path: Path) -> None:
    (bug,) = sqlite(tmp_path, "delete off", 3, "--first", word="committed").bugs
    assert bug.found_states <= 100


def key_value(tmp_path: Path, store: str, mode: str, systems: str, *options: str) -> CrashReport:
    """Explore pairs written to a store that has some."""
    library = {"leveldb": "leveldb/c.h", "rocksdb": "rocksdb/c.h", "lmdb": "lmdb.h"}[store]
    if shutil.which("cc") is None or not Path(f"/usr/include/{library}").exists():
        pytest.skip(f"no C compiler or no lib{store}-dev: run `scripts/setup.sh test`")
    program, base = tmp_path / store, tmp_path / "base"
    source = Path(__file__).with_name("key_value.c")
    words = ["cc", "-O1", f"-D{store.upper()}", "-o", program, source, f"-l{store}"]
    subprocess.run(words, check=True)
    base.mkdir()
    count = "3" if store == "lmdb" else "14"
    subprocess.run([program, base, "sync", "0", count], check=True, stdout=subprocess.DEVNULL)
    judge = ["--files", str(base), "--check", f"{program} {{files}} check {{printed}}"]
    judge += ["--file-system", systems]
    return explore(tmp_path, judge, [str(program), "{files}", mode, count, count], *options)


@pytest.mark.parametrize(
    ("store", "mode"),
    [
        ("leveldb", "none"),
        ("rocksdb", "none"),
        ("lmdb", "none"),
        pytest.param("lmdb", "map-async", marks=pytest.mark.long),
        pytest.param("lmdb", "no-meta-sync", marks=pytest.mark.long),
    ],
)
def test_a_store_that_does_not_sync_is_found_in_a_hundred_states(
    store: str, mode: str, tmp_path: Path
) -> None:
    (bug,) = key_value(tmp_path, store, mode, "ordered", "--first").bugs
    assert bug.found_states <= 100
    assert bug.said.splitlines()[-1] == "acknowledged and lost"
    assert bug.lost[0].what.startswith(("write of", "store through a mapping of"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("store", "mode", "systems"),
    [
        ("leveldb", "sync", "ordered,journal"),
        ("rocksdb", "sync", "ordered,journal"),
        ("lmdb", "sync", "ordered,journal,posix,writeback"),
        ("lmdb", "mapped", "ordered,journal,posix,writeback"),
    ],
)
def test_a_store_in_its_safe_settings_is_clean(
    store: str, mode: str, systems: str, tmp_path: Path
) -> None:
    report = key_value(tmp_path, store, mode, systems)
    assert report.complete
    assert not report.bugs


@pytest.mark.long
def test_leveldb_loses_what_was_published(tmp_path: Path) -> None:
    # ALICE, table 3: the entry of a new log is not synced.
    report = key_value(tmp_path, "leveldb", "sync", "posix", "--states", "600")
    lost = [line.what for bug in report.bugs for line in bug.lost]
    assert any(text.startswith("create ") and text.endswith(".log") for text in lost)


@pytest.mark.long
def test_rocksdb_needs_entries_of_a_folder_in_order(tmp_path: Path) -> None:
    # CURRENT is renamed before the entries of what it names are synced.
    report = key_value(tmp_path, "rocksdb", "sync", "posix", "--states", "400")
    lost = [line.what for bug in report.bugs for line in bug.lost]
    assert any(text.startswith("create MANIFEST") for text in lost)


@pytest.mark.long
@pytest.mark.parametrize(("policy", "clean"), [("always", True), ("no", False), ("save", True)])
def test_redis_is_clean_if_it_syncs_each_append(
    policy: str, clean: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Debian's package of tools has the server, under its other name.
    server = shutil.which("redis-server") or shutil.which("redis-check-rdb")
    if server is None:
        pytest.skip("redis-tools is not installed: run `scripts/setup.sh test`")
    (tmp_path / "redis-server").symlink_to(server)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name, text in [("program", REDIS), ("check", REDIS_CHECK)]:
        (tmp_path / f"{name}.sh").write_text(text)
    base = tmp_path / "base"
    base.mkdir()
    program = ["/bin/sh", str(tmp_path / "program.sh")]
    subprocess.run([*program, base, "save" if policy == "save" else "always", "a"], check=True)
    judge = ["--files", str(base), "--check", f"sh {tmp_path}/check.sh {{files}} {{printed}}"]
    # A tail of zeros, which ext4 leaves only with data=writeback, keeps Redis from starting.
    judge += ["--file-system", "ordered,journal"]
    report = explore(tmp_path, judge, [*program, "{files}", policy, "b"])
    assert bool(report.bugs) != clean
