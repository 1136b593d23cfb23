"""`crash_test`: records a program once and explores what a power cut could leave of its pool."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.crash.bugs import Bugs, Found
from nearfar.crash.checker import Checker
from nearfar.crash.explore import explore
from nearfar.crash.image import Image
from nearfar.crash.judge import Budget, Judge
from nearfar.crash.layout import Kind
from nearfar.crash.lints import lints_of
from nearfar.crash.memory import Memory
from nearfar.crash.record import MOST_POOL_BYTES, Recorded, environment, record
from nearfar.crash.sites import Sites
from nearfar.documents.crash_report import CrashReport
from nearfar.documents.header import producer

_LEAST_MEMORY_BYTES = 256 << 20
"""Room in /dev/shm below which files are made elsewhere: containers often have 64 MiB of it."""


@dataclass(frozen=True)
class Request:
    """What to explore."""

    command: Sequence[str]
    """With ``{pool}`` where the pool's path goes."""
    check: str
    pool: Path | None
    """To begin with; it is copied. None: the program makes it."""
    budget: Budget
    timeout_s: float
    """Of one check."""
    seed: int
    eadr: bool
    json: bool


def crash_test(request: Request, say: Callable[[str], None]) -> tuple[CrashReport, list[Found]]:
    """Return the report and, in its order, the bugs with their images."""
    with scratch() as folder:
        pool = folder / "pool"
        checker = Checker(request.check, folder / "state", request.timeout_s, environment())
        if not any("{pool}" in word for word in request.command):
            raise CommandError(
                "the program is not told where its pool is: put {pool} among its arguments"
            )
        if request.pool is not None:
            _copy(request.pool, pool)
        command = [word.replace("{pool}", str(pool)) for word in request.command]
        recorded = record(command, pool, folder, json=request.json)
        trace = recorded.trace
        say(f"recorded {len(trace.events)} events in {recorded.seconds:.1f} s")
        check_room(folder, trace.pool_bytes)
        image = Image(folder / "state", trace.pool_bytes)
        try:
            _check_uncrashed(recorded, checker, image)
            judge = Judge(checker, image, request.budget)
            sites = Sites(trace)
            bugs = Bugs(judge, sites)
            explored = explore(trace, judge, bugs, eadr=request.eadr, seed=request.seed)
        finally:
            image.close()
    kinds = [event.kind for event in trace.events]
    report = CrashReport(
        producer=producer(),
        program=list(request.command),
        check=request.check,
        exit_status=recorded.exit_status,
        pool_bytes=trace.pool_bytes,
        eadr=request.eadr,
        seed=request.seed,
        operations=kinds.count(Kind.END),
        stores=kinds.count(Kind.STORE),
        flushes=kinds.count(Kind.FLUSH),
        fences=kinds.count(Kind.FENCE),
        points=explored.points,
        points_explored=len(explored.explored),
        store_sites=len({e.stack[:1] for e in trace.events if e.kind is Kind.STORE}),
        fence_sites=len({e.stack for e in trace.events if e.kind is Kind.FENCE}),
        states=judge.states,
        duplicates=judge.duplicates,
        complete=explored.complete,
        record_s=recorded.seconds,
        judge_s=judge.judge_s,
        states_per_s=judge.states / judge.judge_s if judge.judge_s else 0.0,
        bugs=[found.bug for found in bugs.found()],
        lints=[] if request.eadr else lints_of(trace, sites),
        warnings=_warnings(recorded, eadr=request.eadr),
    )
    return report, bugs.found()


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Have a folder in memory for pool and images; it is gone afterwards."""
    memory = Path("/dev/shm")
    fits = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= _LEAST_MEMORY_BYTES
    parent = memory if fits else None
    folder = Path(tempfile.mkdtemp(prefix="nearfar-crash-", dir=parent))
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield folder
    finally:
        signal.signal(signal.SIGTERM, before)
        shutil.rmtree(folder, ignore_errors=True)


def _end(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def check_room(folder: Path, pool_bytes: int) -> None:
    """Refuse an image that would not fit: a full file in memory ends whoever stores into it."""
    free = shutil.disk_usage(folder).free
    if free < pool_bytes:
        raise NearfarError(
            f"an image of the pool needs {pool_bytes >> 20} MiB, and {folder.parent} has "
            f"{free >> 20} MiB free: free some, or explore a smaller pool",
            ExitCode.MACHINE_LACKS,
        )


def _copy(source: Path, pool: Path) -> None:
    try:
        if source.stat().st_size > MOST_POOL_BYTES:
            raise CommandError(
                f"{source} is larger than {MOST_POOL_BYTES >> 20} MiB, more than is explored: "
                "give the program a smaller pool"
            )
        shutil.copyfile(source, pool)
    except OSError as error:
        raise CommandError(f"cannot read the pool {source}: {error.strerror}") from error


def _check_uncrashed(recorded: Recorded, checker: Checker, image: Image) -> None:
    """Refuse a checker that does not like what the program leaves when nothing goes wrong."""
    memory = Memory(recorded.trace.pool_bytes, eadr=True)
    for event in recorded.trace.events:
        memory.feed(event)
    image.write(memory.durable, {})
    verdict = checker.run(memory.done, memory.begun)
    if verdict.symptom:
        said = f": {verdict.said.splitlines()[-1]}" if verdict.said else ""
        raise NearfarError(
            f"the checker refuses the pool as the program left it, without any crash "
            f"({verdict.symptom}{said}); mend the checker or the program first",
            ExitCode.PROGRAM_FAILED if recorded.failed else ExitCode.WRONG_USE,
        )


def _warnings(recorded: Recorded, *, eadr: bool) -> list[str]:
    trace = recorded.trace
    found = []
    if recorded.failed:
        found.append(f"the program {recorded.exit_status}: what it did until then was explored")
    if not eadr and not any(event.kind is Kind.FENCE for event in trace.events):
        found.append(
            "no fence was seen: the program never flushes, or it does so by instructions that only "
            "`nearfar cc` shows"
        )
    if trace.full:
        found.append("the trace is full: what the program did after that was not seen")
    if trace.coarse:
        found.append(
            "the program stores too often for each store to be seen alone: tears within a line may "
            "have been missed"
        )
    if trace.forks:
        found.append("the program forked while it had the pool: its children were not followed")
    if trace.others:
        found.append("another process mapped the pool meanwhile: its stores were not seen")
    if trace.several_threads:
        found.append(
            "several threads store into the pool: the fence of one counts for all, so that lost "
            "stores of another may be missed"
        )
    if trace.outside and trace.pool_bytes:
        found.append("a mapping of the pool was not followed: too large, or too many at once")
    return found
