"""Redis' own suite passes with its data in far memory; it forks, saves and loads all the time."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.documents import RunRecord, load, save

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import placement, plan

ROOT = Path(__file__).parents[3]
SUITES = ("unit/type/string", "unit/type/hash", "unit/other")


@pytest.mark.long
def test_redis_own_suites_pass_with_far_data(tmp_path: Path) -> None:
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
    functions = ("_sdsnewlen", "createObject", "dictAddRaw", "_dictExpand", "zslCreateNode")
    made = plan([placement(number, name, "far") for number, name in enumerate(functions)])
    save(made, tmp_path / "plan.json")
    single = [word for suite in SUITES for word in ("--single", suite)]
    # The suite starts the servers; the plan is theirs, not tclsh's.
    done = subprocess.run(
        [sys.executable, "-m", "nearfar", "run", str(tmp_path / "plan.json"), "--map",
         "far=file:/dev/shm", "--force", "-o", str(tmp_path / "record.json"), "--", "tclsh",
         "tests/test_helper.tcl", "--clients", "2", *single],
        cwd=tree, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert "All tests passed without errors" in done.stdout
    record = load(tmp_path / "record.json", RunRecord)
    assert record.pages_by_memory["far"] > 1 << 20
    assert record.recognised_share_of_profile == 1.0
