"""A fresh clone: `make demo` from nothing, `make demo` again, and the tests of `make test`.

Caches are new and the virtual environment is built. Packages of the system that `make` installs
with apt are there already.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Row, make_row
from nearfar.base.errors import ExitCode, NearfarError

SECONDS = 900
LONG = True

CHECKOUT = Path(__file__).parents[2]
COMMAND = "make benchmarks ONLY=fresh_clone"
LEFT_OUT = re.compile(
    "(ONLY|AGAIN|LONG|PLAN|RESULTS|QUICK|BUSY|BASE|MAKE.*|MFLAGS|NEARFAR_.*|VIRTUAL_ENV|PYTHONPATH)"
)
"""Variables of `make benchmarks` and of this environment, which the clone's `make` must not see."""

JOB = re.compile(r"the job took ([0-9]+) s")
TESTS = re.compile(r"([0-9]+) passed.* in ([0-9.]+)s")
"""pytest's last line, which gives the time of the tests without set-up."""


def rows() -> Iterator[Row]:
    """Time the three commands, in this order, in a clone of the last commit."""
    with tempfile.TemporaryDirectory(prefix="nearfar-clone-") as name:
        clone = Path(name) / "nearfar"
        subprocess.run(["git", "clone", "-q", str(CHECKOUT), str(clone)], check=True)
        fresh_s, printed = _make("demo", clone)
        yield _row("make demo in a fresh clone", fresh_s, 300.0)
        yield _row("make demo, its job in the fresh clone", _job_s(printed), 60.0)
        again_s, printed = _make("demo", clone)
        yield _row("make demo again", again_s, 75.0)
        yield _row("make demo again, its job", _job_s(printed), 60.0)
        _, printed = _make("test", clone)
        passed, seconds = _last(TESTS, printed)
        yield _row("make test, its tests without set-up", float(seconds), 600.0, f"{passed} passed")


def _row(name: str, seconds: float, bar_s: float, note: str = "") -> Row:
    peer = "none: no other tool has this job"
    return make_row(name, seconds, "s", bar=bar_s, peer=peer, command=COMMAND, note=note)


def _make(target: str, clone: Path) -> tuple[float, str]:
    """Run one target with caches of its own; return its seconds and what it printed."""
    kept = {name: text for name, text in os.environ.items() if not LEFT_OUT.fullmatch(name)}
    folders = [each for each in kept["PATH"].split(":") if not Path(each).is_relative_to(CHECKOUT)]
    own = {"PATH": ":".join(folders), "XDG_CACHE_HOME": str(clone.parent / "cache")}
    started = time.monotonic()
    done = subprocess.run(
        ["make", target],
        cwd=clone,
        env=kept | own,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        last = done.stdout.strip()[-500:]
        raise NearfarError(
            f"make {target} failed in a fresh clone: {last}", ExitCode.PROGRAM_FAILED
        )
    return time.monotonic() - started, done.stdout


def _job_s(printed: str) -> float:
    return float(_last(JOB, printed)[0])


def _last(pattern: re.Pattern[str], printed: str) -> tuple[str, ...]:
    """Return the groups of the last match; raises NearfarError if there is none."""
    matches = list(pattern.finditer(printed))
    if not matches:
        raise NearfarError(f"no {pattern.pattern!r} in what make printed", ExitCode.PROGRAM_FAILED)
    return matches[-1].groups()
