"""The demo: a real program, Redis, from Debian's source to a report of what must stay near.

Every step is a command that is printed as a person would type it. Where the source is not available
(offline), the program in examples/inverted_index takes its place, and the demo says so.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import redis_server
from paged import PagedDemo, print_paged
from source import SourceUnavailableError, fetch_source
from summary import print_summary

from nearfar.__main__ import main as command_line

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path("build/demo")
NEARFAR = Path(sys.executable).parent / "nearfar"
FAR = ["optane-100-6dimm", "cxl-e3s-x8", "ddr4-2666-remote"]
"""Persistent memory, CXL, another socket: the three questions of the demo."""
BUDGETS = ["10%", "25%", "50%"]
START = time.monotonic()


@dataclass
class Subject:
    """The program that is profiled."""

    title: str
    profile_command: list[str]
    """What follows `nearfar profile -o run.json`."""


def say(text: str) -> None:
    """Print with the seconds since start, at once."""
    print(f"[{time.monotonic() - START:5.0f} s] {text}", flush=True)


def nearfar(*words: str | Path) -> None:
    """Run one verb, printed as typed; on failure end with its exit code, its message shown."""
    typed = shlex.join(["nearfar", *map(str, words)])
    say(f"$ {typed}")
    done = subprocess.run([NEARFAR, *map(str, words)], check=False)
    if done.returncode != 0:
        say(f"this step failed with exit code {done.returncode}: {typed}")
        sys.exit(done.returncode)


def side_by_side(verbs: Sequence[tuple[str | Path, ...]]) -> list[str]:
    """Run verbs that only compute, as many at a time as there are cores; return what they print.

    Each core's process runs one after another: it imports numpy and scipy once, for 0.7 s.
    """
    outputs = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for code, typed, output in pool.map(verb, verbs):
            if code != 0:
                pool.shutdown(cancel_futures=True)
                say(f"this step failed with exit code {code}: {typed}")
                sys.exit(code)
            outputs.append(output)
    return outputs


def verb(words: tuple[str | Path, ...]) -> tuple[int, str, str]:
    """Run one verb in this process; return its exit code, how it is typed, and what it prints."""
    sys.argv = ["nearfar", *map(str, words)]
    say(f"$ {shlex.join(sys.argv)}")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = command_line(sys.argv[1:])
    return code, shlex.join(sys.argv), printed.getvalue()


def redis() -> Subject:
    """Fetch and build Redis; raises if either fails."""
    say("Redis: Debian's source package, by an apt configuration of the demo's own")
    tree = fetch_source("redis", FOLDER / "source")
    say(f"Redis: building {tree.name} with `nearfar cc` (at most once)")
    executable = redis_server.build(tree, f"{NEARFAR} cc", FOLDER / "redis-build.log")
    # A UNIX socket's path is limited to 108 bytes, so it is given relative to here.
    socket = FOLDER / "redis.sock"
    driver = [sys.executable, "examples/demo/drive_redis.py", str(socket)]
    return Subject(
        title="Redis",
        profile_command=[
            "--driver",
            shlex.join(driver),
            "--",
            *redis_server.server_command(executable.relative_to(ROOT), socket),
        ],
    )


def inverted_index() -> Subject:
    """Build the shipped program and give it the Python standard library's sources to index."""
    executable = FOLDER / "inverted_index"
    nearfar(
        "c++",
        *("-std=c++20", "-O2", "-Iinclude"),
        *("examples/inverted_index/inverted_index.cpp", "-o", executable),
    )
    texts = sysconfig.get_path("stdlib")
    return Subject(
        title="examples/inverted_index",
        profile_command=["--", str(executable), texts, "--queries", "400000"],
    )


def subject() -> Subject:
    """Return Redis, or what takes its place."""
    try:
        return redis()
    except (SourceUnavailableError, redis_server.BuildFailedError) as error:
        say(f"Redis cannot be used here: {error}")
        say("taking examples/inverted_index, a program that nearfar ships, in its place")
        return inverted_index()


def main() -> None:
    """Run the whole path once."""
    os.chdir(ROOT)
    FOLDER.mkdir(parents=True, exist_ok=True)
    program = subject()
    run, near, report = FOLDER / "run.json", FOLDER / "near.json", FOLDER / "report.html"
    far = [word for name in FAR for word in ("--far", name)]
    started = time.monotonic()
    nearfar("machine", "-o", FOLDER / "machine.json")
    # On a busy machine the measurement takes its rounds twice, then goes on with wider intervals.
    nearfar("measure", "dram", "--quick", "--quiet", "--accept-noise", "-o", near)
    nearfar("profile", "--near", near, "-o", run, *program.profile_command)
    paged = PagedDemo(nearfar, NEARFAR, FOLDER, say)
    records = paged.records(run, near, program.profile_command)
    beside = [word for path in records for word in ("--record", str(path))]
    zram = ["--far", str(FOLDER / "zram.json")] if records else []
    plans = {
        (name, budget): FOLDER / f"plan-{name}-{budget.rstrip('%')}.json"
        for name in FAR
        for budget in BUDGETS
    }
    inputs = (run, "--near", near)
    page, *_ = side_by_side(
        [
            ("report", *inputs, *far, *zram, *beside, "-o", report, "--json"),
            ("predict", *inputs, *far, "-o", FOLDER / "prediction.json", "--quiet"),
            *(
                ("place", *inputs, "--far", name, "--budget", budget, "-o", path, "--quiet")
                for (name, budget), path in plans.items()
            ),
        ]
    )
    print_summary(
        program.title,
        json.loads(run.read_text()),
        json.loads((FOLDER / "prediction.json").read_text()),
        [json.loads(path.read_text()) for path in plans.values()],
    )
    print_paged(program.title, json.loads(page))
    say(f"the job took {time.monotonic() - started:.0f} s; the report is {report.resolve()}")
    if os.environ.get("DISPLAY") and shutil.which("xdg-open"):
        subprocess.run(["xdg-open", str(report)], check=False)


if __name__ == "__main__":
    main()
