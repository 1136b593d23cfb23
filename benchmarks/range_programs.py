"""The programs of the row `ranges`: memcached, LMDB, Redis, lua from Debian's sources, a hash join.

Their workloads were written down before any of their profiles: a cache of two sizes of values whose
keys follow Zipf's law, reads of the newest records (YCSB's workload D), the demo's shop, an
interpreter that builds and looks up tables, a join whose foreign keys follow Zipf's law.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.documents import WorkloadProfile, load

HERE = Path(__file__).parent
FOLDER = Path("build/ranges")
NEARFAR = Path(sys.executable).parent / "nearfar"

CACHE = "2MiB"
"""Simulated last-level cache: what one core of many gets."""

LUA = """
local state = 12345
local function random(n)
  state = (state * 1103515245 + 12345) % 2147483648
  return state % n + 1
end
local n, found = 300000, 0
local by_name, list = {}, {}
for i = 1, n do
  local item = {id = i, name = "item" .. i, price = i % 977}
  by_name[item.name] = item
  list[i] = item
end
for i = 1, 2 * n do
  local rank = math.floor(n ^ (random(1000000) / 1000000))
  if by_name["item" .. rank].price == list[rank].price then found = found + 1 end
end
assert(found == 2 * n)
"""
"""Builds objects, then looks them up by name: Zipf's law with exponent 1."""


@dataclass(frozen=True)
class RangeProgram:
    """Holds a traced program, its arguments, and the driver of a server."""

    name: str
    command: Sequence[str]
    driver: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def programs() -> dict[str, Callable[[], RangeProgram]]:
    """Return what makes each program; each raises RuntimeError with the reason if it cannot."""
    return {
        "memcached": _memcached,
        "LMDB": _lmdb,
        "Redis": _redis,
        "lua": _lua,
        "hash join": _join,
    }


def profile_of(program: RangeProgram, options: Sequence[str] = ("--llc", CACHE)) -> WorkloadProfile:
    """Profile a program with the simulated cache of `CACHE`, or with other options."""
    path = FOLDER / f"{program.name.replace(' ', '-')}.json"
    driver = [] if program.driver is None else ["--driver", program.driver]
    run(
        [str(NEARFAR), "profile", "-q", *options, "--repetitions", "1", *driver,
         "-o", str(path), "--", *program.command],
        environment=program.environment,
    )  # fmt: skip
    return load(path, WorkloadProfile)


def tree_of(package: str, folder: str = "") -> Path:
    """Return the unpacked Debian source of `package`; raise RuntimeError where there is none."""
    sys.path.insert(0, "examples/demo")
    from source import fetch_source  # type: ignore[import-not-found]

    return Path(fetch_source(package, (FOLDER / (folder or package)).resolve()))


def _memcached() -> RangeProgram:
    tree = tree_of("memcached")
    flags = _libevent()
    program = FOLDER / "memcached-traced"
    run(
        ["sh", "-c", f"./configure -q --disable-docs CC='{NEARFAR} cc' CFLAGS='-O2 -g {flags[0]}' "
         f"LDFLAGS='{flags[1]}' && make -s clean && make -s -j 2 memcached"],
        cwd=tree,
    )  # fmt: skip
    shutil.copy(tree / "memcached", program)
    socket = (FOLDER / "memcached.sock").resolve()
    socket.unlink(missing_ok=True)
    command = [str(program.resolve()), "-s", str(socket), "-m", "96", "-t", "1", "-u", "root"]
    driver = f"{sys.executable} {HERE / 'drive_memcached.py'} {socket}"
    return RangeProgram("memcached", command, driver)


def _libevent() -> tuple[str, str]:
    """Return compiler and linker options of libevent; its packages are unpacked, not installed."""
    if Path("/usr/include/event.h").is_file():
        return "", ""
    folder = (FOLDER / "libevent").resolve()
    if not (folder / "usr/include/event.h").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        run(["apt-get", "-q", "download", "libevent-dev", "libevent-2.1-7"], cwd=folder)
        for package in folder.glob("*.deb"):
            run(["dpkg-deb", "-x", str(package), str(folder)])
    libraries = folder / "usr/lib/x86_64-linux-gnu"
    for name in ("libevent-2.1.so.7.0.1",):
        if not (libraries / name).exists():
            raise RuntimeError(f"libevent's packages have no {name}")
    return f"-I{folder}/usr/include", f"-L{libraries} -Wl,-rpath,{libraries}"


def _lmdb() -> RangeProgram:
    library = tree_of("lmdb") / "libraries/liblmdb"
    program = FOLDER / "lmdb-traced"
    run(
        [str(NEARFAR), "cc", "-O2", "-g", "-pthread", f"-I{library}",
         str(HERE / "rows/ranges_lmdb.c"), str(library / "mdb.c"), str(library / "midl.c"),
         "-o", str(program), "-lm"]
    )  # fmt: skip
    data = (FOLDER / "lmdb.data").resolve()
    return RangeProgram("LMDB", [str(program.resolve()), str(data)])


def _redis() -> RangeProgram:
    return redis("Redis")


def redis(name: str, *options: str) -> RangeProgram:
    """Return a traced Redis, built with further options of its Makefile."""
    sys.path.insert(0, "examples/demo")
    import redis_server  # type: ignore[import-not-found]

    tree = tree_of("redis", name.replace(" ", "-").lower())
    log = FOLDER.resolve() / "redis-build.log"
    chosen = [*redis_server.BUILD_OPTIONS, *options]
    try:
        traced = redis_server.build(tree, f"{NEARFAR} cc", log, chosen)
    except redis_server.BuildFailedError as error:
        raise RuntimeError(str(error)) from error
    socket = (FOLDER / "redis.sock").resolve()
    driver = f"{sys.executable} examples/demo/drive_redis.py {socket}"
    driver += " --sessions 100000 --requests 100000"
    return RangeProgram(name, redis_server.server_command(traced, socket), driver)


def _lua() -> RangeProgram:
    tree = tree_of("lua5.4")
    sources = [path for path in sorted((tree / "src").glob("*.c")) if path.name != "luac.c"]
    program, script = FOLDER / "lua-traced", FOLDER / "tables.lua"
    # Debian's build writes this header.
    header = tree / "src/lua5.4-deb-multiarch.h"
    header.write_text('#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"\n')
    run(
        [str(NEARFAR), "cc", "-O2", "-g", "-DLUA_USE_POSIX", *map(str, sources),
         "-o", str(program), "-lm"]
    )  # fmt: skip
    script.write_text(LUA)
    return RangeProgram("lua", [str(program.resolve()), str(script.resolve())])


def _join() -> RangeProgram:
    program = FOLDER / "join-traced"
    source = str(HERE / "rows/ranges_join.c")
    run([str(NEARFAR), "cc", "-O2", "-g", source, "-o", str(program), "-lm"])
    return RangeProgram("hash join", [str(program.resolve())])


def run(
    command: Sequence[str], cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> None:
    """Run a command of a build; raise RuntimeError if it fails."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "log").open("ab") as log:
        done = subprocess.run(
            list(command), cwd=cwd, stdout=log, stderr=log, check=False,
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
        )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: see {FOLDER / 'log'}")
