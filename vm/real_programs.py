"""Two programs that others wrote, Redis and SQLite, with plans that send all of their data far.

    python vm/real_programs.py [--missing]    builds and profiles them into build/vm/real

They are built from Debian's sources as for `make benchmarks ONLY=run`: instrumented for the profile
and plainly for the run. That takes minutes the first time, so it is done before the
guest boots, and the guest's check of them is skipped where it was not done.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))
FOLDER = REPOSITORY / "build/vm/real"

GUEST = Path("/payload/real")
ROWS, SESSIONS = 30_000, 4_000
"""So much less than on the host: the far node has some 50 MiB, and its processor is emulated."""


def main() -> int:
    """Make both; what cannot be had is said, and is no failure."""
    from benchmarks.run_programs import SQL, Real, all_far_plan, redis, sqlite

    makers = {"sqlite": sqlite, "redis": redis}
    for name, make in makers.items():
        if "--missing" in sys.argv and (FOLDER / name / "command").exists():
            continue
        try:
            program: Real = make()
            plan = all_far_plan(program)
        except Exception as error:  # no network, no sources, no compiler: the guest goes without
            print(f"# {name} cannot be had here: {error}")
            continue
        into = FOLDER / name
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(parents=True)
        # Its lines would take an emulated processor minutes to read.
        subprocess.run(["strip", "-g", "-o", into / "program", program.plain], check=True)
        shutil.copy(plan, into / "plan.json")
        if name == "sqlite":
            (into / "script.sql").write_text(SQL.format(rows=ROWS))
        else:
            shutil.copy(REPOSITORY / "examples/demo/drive_redis.py", into)
        (into / "command").write_text(COMMANDS[name])
    return 0


COMMANDS = {
    "sqlite": shlex.join(
        ["--", str(GUEST / "sqlite/program"), ":memory:", f".read {GUEST / 'sqlite/script.sql'}"]
    ),
    "redis": shlex.join(
        [
            "--driver",
            # It waits for the server for 20 s of its own, and all is slow there.
            "for i in $(seq 120); do test -S /tmp/redis.sock && break; sleep 1; done; "
            f"exec python3 {GUEST / 'redis/drive_redis.py'} /tmp/redis.sock "
            f"--sessions {SESSIONS} --requests {SESSIONS}",
            *("--", str(GUEST / "redis/program"), "--port", "0"),
            *("--unixsocket", "/tmp/redis.sock", "--save", "", "--appendonly", "no"),
            *("--loglevel", "warning"),
        ]
    ),
}
"""What follows `nearfar run plan.json`, in the guest."""


if __name__ == "__main__":
    sys.exit(main())
