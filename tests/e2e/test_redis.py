"""An unmodified large program: Redis from Debian's source, built by nearfar's compilers.

Shares the build of `make demo` (build/demo). Skipped with the reason where the source is
unavailable.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.documents import WorkloadProfile, load

from .conftest import NEARFAR, ROOT, nearfar

sys.path.insert(0, str(ROOT / "examples/demo"))

pytestmark = [pytest.mark.long, pytest.mark.timing]

TYPES = ("string", "hash", "list", "set", "zset")
SUITES = [*(f"unit/type/{kind}" for kind in TYPES), "unit/expire", "unit/sort", "unit/scripting"]


@pytest.fixture(scope="session")
def redis_tree() -> Path:
    import redis_server
    from source import SourceUnavailableError, fetch_source

    folder = ROOT / "build/demo"
    try:
        tree = fetch_source("redis", folder / "source")
    except SourceUnavailableError as error:
        pytest.skip(f"Redis' source is not available here: {error}")
    redis_server.build(tree, f"{NEARFAR} cc", folder / "redis-build.log")
    return tree


def test_objects_are_those_of_redis_and_misses_are_in_its_tables(
    redis_tree: Path, tmp_path: Path
) -> None:
    import redis_server

    socket = tmp_path / "s"
    driver = [sys.executable, str(ROOT / "examples/demo/drive_redis.py"), str(socket)]
    sizes = ["--sessions", "60000", "--requests", "60000"]
    done = nearfar(
        *("profile", "-o", tmp_path / "run.json", "--repetitions", 1, "--llc", "1MiB"),
        *("--driver", shlex.join([*driver, *sizes]), "--"),
        *redis_server.server_command(redis_tree / "src/redis-server", socket),
    )
    assert done.returncode == 0, done.stderr
    profile = load(tmp_path / "run.json", WorkloadProfile)
    phases = {phase.name: phase for phase in profile.phases}
    assert {"load", "get", "order", "rank"} <= set(phases)
    names = {item.id: item.name for item in profile.objects}
    assert not any(name.startswith(("zmalloc", "ztry", "zcalloc")) for name in names.values())
    get = sorted(phases["get"].objects, key=lambda row: -row.traffic.misses())
    # A GET reads the key space's table, its entry, the key and the value: 60,000 random keys in 1
    # MiB of cache cost at least one miss each, mostly in these four structures.
    assert sum(row.traffic.misses() for row in get) > 60_000
    top = " ".join(names[row.object] for row in get[:6])
    assert "dict" in top
    assert "sds" in top or "createEmbeddedString" in top or "createRawString" in top


def test_its_own_suites_pass_instrumented(redis_tree: Path) -> None:
    if shutil.which("tclsh") is None:
        pytest.skip("tclsh is not installed, and Redis' test suite needs it")
    compiler = f"{NEARFAR} cc"
    import redis_server

    subprocess.run(
        ["make", "-j2", f"CC={compiler}", *redis_server.BUILD_OPTIONS, "all"],
        cwd=redis_tree,
        check=True,
        capture_output=True,
    )
    single = [word for suite in SUITES for word in ("--single", suite)]
    done = subprocess.run(
        ["./runtest", "--clients", "2", "--tags", "-needs:debug -large-memory", *single],
        cwd=redis_tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "All tests passed without errors" in done.stdout
