"""Crash states judged per second, next to their limit, and the cost of recording.

Rates are per second of processor time of explorer and checkers together: states per second of one
core, independent of other load.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import Row, make_row, wall_seconds
from nearfar.crash.checker import Check, parse
from nearfar.crash.engine import RANKS, Engine, ExplorationPlan
from nearfar.crash.record import RecordedRun, environment, record
from nearfar.crash.scratch import copy_sparse, scratch
from nearfar.crash.trace import EventKind
from nearfar.native_files import include_folder

SECONDS = 70

FOLDER = Path(__file__).parent
COMMAND = "make benchmarks ONLY=crash"
ROUNDS = 5
MIN_RAW_RATE = 100_000.0
"""States per second and core on a raw log."""
MIN_FLOOR_SHARE = 1.5
"""Rate over that of pmemobj_open and pmemobj_close alone."""
MIN_TWO_WORKERS_RATIO = 1.8
MAX_STORE_US = 10.0
"""Maximum time to record a store: a fault, a copy of the instruction, a record."""
_LOG_ENTRIES = 1500
_SHARED_LOG_ENTRIES = 3000
_LIST_NODES = 20
_SHARED_LIST_NODES = 40
"""For several workers, each of which takes a while to start and judges its first states alone."""
_FLOOR_TIMES = 200


@dataclass(frozen=True)
class _Judged:
    states: int
    cpu_s: float


def rows() -> Iterator[Row]:
    """Yield the rows, each with its limit or peer."""
    if shutil.which("cc") is None:
        print("crash: no row, since there is no C compiler")
        return
    for name in ("libpmem", "libpmemobj"):
        if not Path(f"/usr/include/{name}.h").exists():
            print(f"crash: no row, since {name}-dev is not installed")
            return
    with tempfile.TemporaryDirectory(prefix="nearfar-rows-") as made:
        log = _compiled("crash_log", ["-lpmem"], Path(made))
        yield from _raw(log)
        yield from _recording(log)
        yield from _pmemobj(_compiled("crash_list", ["-lpmemobj", "-lpmem"], Path(made)))


def _compiled(name: str, libraries: list[str], folder: Path) -> Path:
    program = folder / name
    include = f"-I{include_folder()}"
    source = FOLDER / f"{name}.c"
    subprocess.run(["cc", "-O2", "-g", include, "-o", program, source, *libraries], check=True)
    return program


def _raw(log: Path) -> Iterator[Row]:
    with scratch() as folder:
        recorded = _recorded([str(log), "{pool}", str(_LOG_ENTRIES)], folder)
        judged = [_judge(log, recorded, folder, workers=1) for _ in range(ROUNDS)]
    alone = statistics.median(each.states / each.cpu_s for each in judged)
    print(f"  raw log: {judged[0].states} states, {alone:.0f} a second and core")
    yield make_row(
        "crash states on a raw log",
        alone,
        "states/s a core",
        bar=MIN_RAW_RATE,
        at_most=False,
        peer="starting a process a state (true)",
        peer_value=_processes_per_s(),
        command=COMMAND,
    )
    with scratch() as folder:
        recorded = _recorded([str(log), "{pool}", str(_SHARED_LOG_ENTRIES)], folder)
        yield _two_workers("a raw log", log, recorded, folder)


def _processes_per_s() -> float:
    """Return the rate of processes that start and end: a checker started for each state."""
    count = 200
    return count / wall_seconds(
        lambda: [subprocess.run(["true"], check=True) for _ in range(count)]
    )


def _two_workers(what: str, checker: Path, recorded: RecordedRun, folder: Path) -> Row:
    """Compare two workers with one; states of one count, not what both judge."""
    one, two = [], []
    for _ in range(ROUNDS):
        one.append(_judge(checker, recorded, folder, workers=1))
        two.append(_judge(checker, recorded, folder, workers=2))
    return make_row(
        f"two workers on {what}, by processor time",
        statistics.median(2 * one[0].states / each.cpu_s for each in two),
        "states/s",
        bar=MIN_TWO_WORKERS_RATIO,
        at_most=False,
        judge="ratio",
        peer="one worker",
        peer_value=statistics.median(each.states / each.cpu_s for each in one),
        command=COMMAND,
    )


def _pmemobj(program: Path) -> Iterator[Row]:
    with scratch() as folder:
        start = folder / "empty"
        _run([str(program), str(start), "0"])
        recorded = _recorded([str(program), "{pool}", str(_LIST_NODES)], folder, start)
        rates, floors = [], []
        for _ in range(ROUNDS):
            judged = _judge(program, recorded, folder, workers=1)
            rates.append(judged.states / judged.cpu_s)
            floors.append(1e9 / float(_run([str(program), str(start), "floor", str(_FLOOR_TIMES)])))
        print(f"  libpmemobj: {judged.states} states a round")
        yield make_row(
            "crash states on libpmemobj",
            statistics.median(rates),
            "states/s a core",
            bar=MIN_FLOOR_SHARE,
            at_most=False,
            judge="ratio",
            peer="pmemobj_open + pmemobj_close in a loop",
            peer_value=statistics.median(floors),
            command=COMMAND,
        )
        (folder / "pool").unlink()
        recorded = _recorded([str(program), "{pool}", str(_SHARED_LIST_NODES)], folder, start)
        yield _two_workers("libpmemobj", program, recorded, folder)


def _recording(log: Path) -> Iterator[Row]:
    with scratch() as folder:
        pool = folder / "pool"
        command = [str(log), str(pool), str(_LOG_ENTRIES)]
        plain, seen = [], []
        stores = 0
        for _ in range(ROUNDS):
            pool.unlink(missing_ok=True)
            plain.append(_cpu_s(command))
            pool.unlink(missing_ok=True)
            before = _spent_s()
            recorded = record(command, pool, folder / "trace", json=True)
            seen.append(_spent_s() - before)
            stores = recorded.trace.counts[EventKind.STORE]
    cost_us = (statistics.median(seen) - statistics.median(plain)) / stores * 1e6
    print(
        f"  recording: {statistics.median(seen):.3f} s of CPU, {statistics.median(plain):.3f} plain"
    )
    yield make_row(
        "recording one store of a raw log",
        cost_us,
        "us",
        bar=MAX_STORE_US,
        peer="the program alone",
        peer_value=statistics.median(plain) / stores * 1e6,
        command=COMMAND,
    )


def _recorded(command: list[str], folder: Path, start: Path | None = None) -> RecordedRun:
    pool = folder / "pool"
    if start is not None:
        copy_sparse(start, pool)
    words = [word.replace("{pool}", str(pool)) for word in command]
    return record(words, pool, folder / "trace", json=True)


def _judge(checker: Path, recorded: RecordedRun, folder: Path, *, workers: int) -> _Judged:
    """Judge all states of a recording; measure processor time of explorers and checkers."""
    check = Check(f"{checker} {{pool}}")
    plan = ExplorationPlan(
        trace=folder / "trace",
        pool_bytes=recorded.trace.pool_bytes,
        seed=1,
        eadr=False,
        workers=workers,
        seconds=120.0,
        states=1_000_000,
        timeout_s=10.0,
        checks=[(check, parse(check.command))],
        environment=environment(),
    )
    before = _spent_s()
    states = 0
    engines = [Engine(plan, n, folder / f"state-{n}", None) for n in range(workers)]
    try:
        for engine in engines:
            if engine.modes != (2,):
                raise RuntimeError("the checker is not called as a function")
            engine.send("E", 0)
        for engine in engines:
            ranks = 0
            while ranks < RANKS:
                frame = engine.receive()
                if frame.kind == "T":
                    states += frame.number()
                elif frame.kind in "FX":
                    raise RuntimeError("a correct program was refused, or it took too long")
                ranks += frame.kind == "Z"
    finally:
        for engine in engines:
            engine.close()
    return _Judged(states, _spent_s() - before)


def _cpu_s(command: list[str]) -> float:
    before = _spent_s()
    _run(command)
    return _spent_s() - before


def _run(command: list[str]) -> str:
    done = subprocess.run(command, env=environment(), check=True, capture_output=True, text=True)
    return done.stdout


def _spent_s() -> float:
    """Return the processor time of ended children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
