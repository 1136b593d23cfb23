"""Programs that `nearfar run` is measured with: Redis and SQLite, profiled and plain builds."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.documents import Plan, load, save

if TYPE_CHECKING:
    from drive_redis import Client  # type: ignore[import-not-found]

FOLDER = Path("build/run")
NEARFAR = Path(sys.executable).parent / "nearfar"
SESSIONS = 60_000
"""Keys that Redis is profiled with: some tens of MiB."""

SQL = """
PRAGMA cache_size=-65536;
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, price REAL, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < {rows})
INSERT INTO item SELECT i, 'name' || (i * 7919 % 1000003), i % 977 * 0.5,
  substr('lorem ipsum dolor sit amet consectetur', 1, 5 + i % 30) FROM n;
CREATE INDEX by_name ON item(name);
CREATE TEMP TABLE total AS SELECT price, count(*) c, group_concat(substr(name, 1, 6)) g
  FROM item GROUP BY price;
SELECT sum(c), count(*) FROM total;
SELECT count(*) FROM item a JOIN item b ON a.name = b.name WHERE a.id % 3 = 0;
"""
ROWS = 500_000
"""About a second: querying stacks at the start is then negligible."""


@dataclass(frozen=True)
class Real:
    """Holds a program: instrumented for its profile, plain for its run."""

    name: str
    traced: Path
    plain: Path
    arguments: Sequence[str] = ()
    driver: str | None = None


def sqlite() -> Real:
    """Build SQLite's shell; raises SourceUnavailableError or CalledProcessError."""
    sys.path.insert(0, "examples/demo")
    from source import fetch_source  # type: ignore[import-not-found]

    tree = Path(fetch_source("sqlite3", Path("build/validate/sqlite")))
    options = ["-O2", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"]
    if not (tree / "shell.c").is_file() or not (tree / "Makefile").is_file():
        _shell("./configure -q --disable-tcl --disable-readline --disable-load-extension", tree)
        _shell("make -s sqlite3.c shell.c", tree)
    sources = [str(tree / "shell.c"), str(tree / "sqlite3.c")]
    FOLDER.mkdir(parents=True, exist_ok=True)
    traced, plain = FOLDER / "sqlite-traced", FOLDER / "sqlite-plain"
    for program, compiler in ((traced, [str(NEARFAR), "cc"]), (plain, ["cc"])):
        if not _is_newer(program):
            libraries = ["-o", str(program), "-lm"]
            subprocess.run([*compiler, *options, "-g", *sources, *libraries], check=True)
    script = FOLDER / "script.sql"
    script.write_text(SQL.format(rows=ROWS))
    return Real("SQLite", traced.resolve(), plain.resolve(), [":memory:", f".read {script}"])


def redis() -> Real:
    """Build Redis twice; raises SourceUnavailableError, BuildFailedError or CalledProcessError."""
    sys.path.insert(0, "examples/demo")
    import redis_server  # type: ignore[import-not-found]
    from source import fetch_source

    demo = Path("build/demo")
    tree = Path(fetch_source("redis", demo / "source"))
    traced = redis_server.build(tree.resolve(), f"{NEARFAR} cc", demo.resolve() / "redis-build.log")
    FOLDER.mkdir(parents=True, exist_ok=True)
    other = FOLDER / "redis"
    plain = other / "src" / "redis-server"
    if not plain.is_file():
        subprocess.run(["cp", "-r", str(tree), str(other)], check=True)
        (other / ".built-with").unlink(missing_ok=True)
        options = " ".join([*redis_server.BUILD_OPTIONS, "OPTIMIZATION=-O2"])
        _shell("make -s distclean", other)
        _shell(f"make -s -j {os.cpu_count()} {options} redis-server", other)
    socket = (FOLDER / "redis.sock").resolve()
    driver = f"{sys.executable} examples/demo/drive_redis.py {socket}"
    driver += f" --sessions {SESSIONS} --requests {SESSIONS}"
    arguments = redis_server.server_command(plain, socket)[1:]
    return Real("Redis", traced, plain.resolve(), arguments, driver)


@contextmanager
def loaded_redis(
    program: Real, environment: Mapping[str, str], keys: int
) -> Iterator[tuple[subprocess.Popen[bytes], Client]]:
    """Start a server of `redis` with that many sessions; end it on leaving if necessary.

    drive_redis.py is the client.
    """
    from drive_redis import LOAD_SESSIONS, Client
    from redis_server import server_command

    with tempfile.TemporaryDirectory() as name:
        socket = Path(name) / "s"
        process = subprocess.Popen(
            server_command(program.plain, socket), env=dict(environment),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            client = Client(socket, patience_s=60)
            client.script(LOAD_SESSIONS, keys)
            yield process, client
        finally:
            if process.returncode is None:
                process.terminate()
                process.wait()


def all_near_plan(program: Real) -> Path:
    """Profile the instrumented build and place everything near; return the plan's file."""
    return _plan(program, "near")


def all_far_plan(program: Real) -> Path:
    """Profile the instrumented build and place everything far; return the plan's file."""
    return _plan(program, "far")


def _plan(program: Real, memory: str) -> Path:
    profile = FOLDER / f"{program.name}.json"
    plan = FOLDER / f"{program.name}-{memory}-plan.json"
    options = [] if program.driver is None else ["--driver", program.driver]
    if not profile.exists() or profile.stat().st_mtime < program.traced.stat().st_mtime:
        _quietly("profile", "-q", "-o", str(profile), "--repetitions", "1", *options, "--",
                 str(program.traced), *program.arguments)  # fmt: skip
    _quietly("place", "-q", str(profile), "--near", "ddr4-2666-cascade-lake", "--far",
             "optane-100-6dimm", "--budget", "0", "-o", str(plan))  # fmt: skip
    # No budget places everything there: objects without cost may be anywhere.
    made = load(plan, Plan)
    for placement in made.placements:
        placement.memory, placement.parts, placement.interleave = memory, [], {}
    save(made, plan)
    return plan


def _quietly(*words: str) -> None:
    done = subprocess.run(
        [str(NEARFAR), *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"nearfar {words[0]}: {done.stderr.strip()[-300:]}")


def _shell(command: str, folder: Path) -> None:
    subprocess.run(command, shell=True, cwd=folder, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)  # fmt: skip


def _is_newer(program: Path) -> bool:
    """Return whether the current nearfar built `program`."""
    from nearfar.native_files import native_folder

    # Compiled-in and linked-in parts count; other libraries load at run time.
    parts = [*native_folder().glob("nearfar_pass-*"), native_folder() / "libnearfar_profile.so"]
    newest = max(path.stat().st_mtime for path in parts)
    return program.is_file() and program.stat().st_mtime > newest
