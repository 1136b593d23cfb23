"""The cost of tracing for the demo's program: Redis, driven from inside by scripts.

A: the plain twin; B: the instrumented build under the runtime. Two sizes differ: with 2 M keys most
of a request is misses, with 200 k keys much of it is the interpreter's work in nearer caches, where
a test costs more. The peer, cachegrind, runs the plain twin on a hundredth of the requests; its
slowdown is per request.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Row, alternate, make_row, paired_ratio

SECONDS = 125

DEMO = Path("examples/demo")
SESSIONS = {2_000_000: 3, 200_000: 5}
"""Keys to repetitions; the larger number takes long to load."""
REQUESTS = 400_000
CACHEGRIND_REQUESTS = 4_000
CACHEGRIND_SESSIONS = 10_000


def rows() -> Iterator[Row]:
    """Measure CPU time per GET of the plain, the traced and the cachegrind run."""
    sys.path.insert(0, str(DEMO))
    import redis_server
    from source import SourceUnavailableError, fetch_source

    from nearfar.profile.compiler.twin import extract_plain

    folder = Path("build/demo")
    try:
        tree = fetch_source("redis", folder / "source")
    except SourceUnavailableError as error:
        print(f"tracing_redis: no row, since Redis' source is not available: {error}")
        return
    compiler = f"{Path(sys.executable).parent / 'nearfar'} cc"
    traced = redis_server.build(tree.resolve(), compiler, folder.resolve() / "redis-build.log")
    with tempfile.TemporaryDirectory(dir=folder) as name:
        plain = extract_plain(traced, Path(name))
        if plain is None:
            raise RuntimeError(f"{traced} carries no plain twin")
        slowdowns = {
            sessions: paired_ratio(*reversed(_samples(plain, traced, sessions, repetitions)))
            for sessions, repetitions in SESSIONS.items()
        }
        cachegrind = ["valgrind", "--tool=cachegrind", "--cachegrind-out-file=/dev/null"]
        # Valgrind 3.19 fails on clang's DWARF 5, which it does not need here.
        subprocess.run(["strip", "--strip-debug", str(plain)], check=True)
        peer = get_ns([*cachegrind, str(plain)], CACHEGRIND_REQUESTS, CACHEGRIND_SESSIONS)
        # The same small load on the plain build makes the peer comparable.
        base = get_ns([str(plain)], CACHEGRIND_REQUESTS * 10, CACHEGRIND_SESSIONS)
    for sessions, slowdown in slowdowns.items():
        yield make_row(
            f"tracing slowdown, Redis GET of {sessions:,} keys",
            slowdown,
            "x plain",
            bar=1.2,
            peer=f"valgrind --tool=cachegrind, {CACHEGRIND_SESSIONS:,} keys",
            peer_value=peer / base,
            command="make benchmarks ONLY=tracing_redis",
        )


def _samples(plain: Path, traced: Path, sessions: int, repetitions: int) -> list[list[float]]:
    """Return CPU ns per GET of the plain and of the traced server, taken in turns."""
    return alternate(
        [
            lambda: get_ns([str(plain)], REQUESTS, sessions),
            lambda: get_ns([str(traced)], REQUESTS, sessions, traced=True),
        ],
        repetitions,
    )


def get_ns(prefix: list[str], requests: int, sessions: int, traced: bool = False) -> float:
    """Return CPU ns per GET of a server started with `prefix`, loaded with `sessions` keys."""
    from drive_redis import GET, LOAD_SESSIONS, Client
    from redis_server import server_command

    with tempfile.TemporaryDirectory() as name:
        socket = Path(name) / "s"
        command = [*prefix[:-1], *server_command(Path(prefix[-1]), socket)]
        with _running(command, Path(name) if traced else None) as pid:
            client = Client(socket, patience_s=60)
            client.script(LOAD_SESSIONS, sessions)
            start = _cpu_ns(pid)
            hits = client.script(GET, requests, sessions)
            used = _cpu_ns(pid) - start
    if hits != requests:
        raise RuntimeError(f"{hits} of {requests} GETs found their key")
    return used / requests


@contextlib.contextmanager
def _running(command: list[str], trace_folder: Path | None) -> Iterator[int]:
    environment = dict(os.environ)
    if trace_folder is not None:
        from nearfar.machine.detect import llc
        from nearfar.profile.session import prepare_folder

        prepare_folder(trace_folder, *llc(), memory_bytes=64 << 20)
        environment["NEARFAR_RUN_DIR"] = str(trace_folder)
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def _cpu_ns(pid: int) -> int:
    # The kernel's clock id of another process' CPU time (clock_getcpuclockid(3)).
    return time.clock_gettime_ns((~pid << 3) | 2)
