"""`crash_test`: records a program and explores what a power cut could leave of its pool."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.base.units import PAGE_BYTES
from nearfar.crash import resume
from nearfar.crash.adapters.oracle import ContentOracle
from nearfar.crash.adapters.pool_check import pool_checks
from nearfar.crash.bugs import Bugs, Found
from nearfar.crash.causes import merged
from nearfar.crash.checker import Check, parse
from nearfar.crash.code import code_of
from nearfar.crash.coverage import places_of
from nearfar.crash.engine import Engine, Oracle, Plan
from nearfar.crash.explore import Exploration, Progress, ServedDiffersError
from nearfar.crash.judge import Budget, Judge
from nearfar.crash.layout import Kind
from nearfar.crash.limits import MOST_SEED
from nearfar.crash.lints import lints_of
from nearfar.crash.lints.images import Images
from nearfar.crash.record import MOST_POOL_BYTES, Recorded, environment, record
from nearfar.crash.room import check_room, copy_sparse, scratch
from nearfar.crash.sites import Sites
from nearfar.crash.summary import Summary, report_of
from nearfar.crash.trace import Trace
from nearfar.crash.warnings import warnings_of
from nearfar.documents.crash_report import CrashReport

Say = Callable[[str], None]
_WAYS = ("started for each state", "forked for each state", "called as a function")


@dataclass(frozen=True)
class Request:
    """What to explore."""

    command: Sequence[str]
    """With ``{pool}`` where the pool's path goes."""
    checks: Sequence[Check]
    """Each image is judged by each; the first is the user's."""
    pool: Path | None
    """To begin with; it is copied. None: the program makes it."""
    budget: Budget
    timeout_s: float
    """Of one check."""
    seed: int
    eadr: bool
    json: bool
    workers: int = 1
    schedules: int = 1
    """How often it is recorded, each time with another order of its threads."""
    oracle: Callable[[Trace], Oracle] | None = None
    """Judges what checks with ``oracle`` print."""
    pool_check: bool = False
    """Of a pool of libpmemobj, ask its own check as well."""
    keep: Path | None = None
    """Folder for what is needed to go on, if the budget ends first."""
    resume: bool = False
    """Go on with what is in ``keep``."""


@dataclass(frozen=True)
class Outcome:
    """What was found."""

    report: CrashReport
    found: list[Found]
    """The report's bugs in its order, with their images."""
    interrupted: bool
    checks: list[Check]
    """All that judged, in order."""


def crash_test(request: Request, say: Say) -> Outcome:
    """Record and explore; Ctrl-C ends it with what was found until then."""
    if not any("{pool}" in word for word in request.command):
        raise CommandError(
            "the program is not told where its pool is: put {pool} among its arguments"
        )
    with scratch() as folder:
        test = _Test(request, folder, say)
        test.run()
    bugs = merged(test.bugs.found(), test.summary.lints)
    report = report_of(
        request.command,
        request.checks[0].command,
        test.summary,
        bugs,
        eadr=request.eadr,
        seed=request.seed,
    )
    return Outcome(report, bugs, test.summary.interrupted, test.checks)


class _Test:
    """All schedules of one request."""

    def __init__(self, request: Request, folder: Path, say: Say) -> None:
        self._request = request
        self._folder = folder
        self._say = say
        self.checks = list(request.checks)
        for check in self.checks:
            parse(check.command)  # refused before the program runs
        self._pool = folder / "pool"
        self._begun_s = time.monotonic()
        self._states_before = 0
        self.bugs = Bugs()
        self.summary = Summary()

    def run(self) -> None:
        """Explore; Ctrl-C ends it with what was found."""
        first, trace, recorded, progress = 0, self._folder / "trace", None, Progress()
        if self._request.resume:
            assert self._request.keep is not None
            saved, recorded = resume.load(self._request.keep, self._asked())
            first, trace = saved.schedule, self._request.keep / "trace"
            progress = resume.progress_of(saved.progress)
            self.summary.progress = resume.progress_of(saved.before)
            self.summary.progress.complete = True
            self.bugs.restore(resume.found_of(saved))
            self._states_before = progress.states + self.summary.progress.states
        for schedule in range(first, self._request.schedules):
            if recorded is None:
                recorded = self._record(trace, schedule)
            try:
                self._explore(schedule, trace, recorded, progress)
            except KeyboardInterrupt:
                self.summary.interrupted = True
                self.summary.warn(["interrupted: what was found until then is reported"])
            if not progress.complete:
                self._keep(schedule, trace, recorded, progress)
                return
            self.summary.add(recorded, progress)
            trace, recorded, progress = self._folder / "trace", None, Progress()
        if self._request.keep is not None:
            resume.forget(self._request.keep)

    def _asked(self) -> list[str]:
        request = self._request
        checks = [check.command for check in request.checks]
        # Workers share out the points in another way if there are more of them.
        numbers = [request.seed, int(request.eadr), request.workers]
        return [*request.command, "--", *checks, *map(str, numbers)]

    def _keep(self, schedule: int, trace: Path, recorded: Recorded, progress: Progress) -> None:
        if self._request.keep is not None:
            resume.save(
                self._request.keep,
                trace,
                recorded,
                asked=self._asked(),
                schedule=schedule,
                progress=progress,
                before=self.summary.progress,
                bugs=self.bugs.found(),
            )
        self.summary.add(recorded, progress)

    def _record(self, trace: Path, schedule: int) -> Recorded:
        request = self._request
        self._pool.unlink(missing_ok=True)
        if request.pool is not None:
            _copy(request.pool, self._pool)
        command = [word.replace("{pool}", str(self._pool)) for word in request.command]
        # The first schedule of a seed is the same, however many there are.
        order = (request.seed * 1_000_003 + schedule) % (MOST_SEED + 1)
        recorded = record(command, self._pool, trace, json=request.json, schedule=order)
        events = sum(recorded.trace.counts.values())
        self._say(f"recorded {events} events in {recorded.seconds:.1f} s")
        return recorded

    def _plan(self, schedule: int, trace: Path, recorded: Recorded, progress: Progress) -> Plan:
        request = self._request
        left = request.schedules - schedule
        spent_s = time.monotonic() - self._begun_s
        states = self.summary.progress.states + progress.states - self._states_before
        return Plan(
            trace=trace,
            pool_bytes=recorded.trace.pool_bytes,
            seed=request.seed,
            eadr=request.eadr,
            workers=request.workers,
            seconds=max(request.budget.seconds - spent_s * (schedule > 0), 1.0) / left,
            states=max((request.budget.states - states) // left, 1),
            timeout_s=request.timeout_s,
            checks=[(check, parse(check.command)) for check in self.checks],
            environment=environment(),
            first_rank=progress.rank,
            first_chunk=progress.chunk,
        )

    def _explore(self, schedule: int, trace: Path, recorded: Recorded, progress: Progress) -> None:
        """Explore what one recording may have left, and look at how it was made."""
        check_room(self._folder, self._request.workers * _held_bytes(recorded.trace))
        sites = Sites(recorded.trace)
        if self._request.pool_check and len(self.checks) == len(self._request.checks):
            self.checks += pool_checks(recorded.trace)
        self.bugs.of(sites)
        self.summary.warn(warnings_of(recorded, eadr=self._request.eadr))
        plan = self._plan(schedule, trace, recorded, progress)
        request = self._request
        oracle = request.oracle(recorded.trace) if request.oracle is not None else None
        self.bugs.expecting(oracle.expected if isinstance(oracle, ContentOracle) else None)
        before, bugs_before = dataclasses.replace(progress), self.bugs.found()
        try:
            self._explore_with(plan, recorded, oracle, progress)
        except ServedDiffersError:
            progress.reset(before)
            self.bugs.restore(bugs_before)
            self.summary.warn(
                [
                    "the checker refuses images that it accepts when it is started for each: it "
                    "was started for each, which is slower"
                ]
            )
            self.bugs.of(sites)
            self._explore_with(dataclasses.replace(plan, served=False), recorded, oracle, progress)
        if not self.summary.places:
            self.summary.places = places_of(recorded.trace, sites)
            self.summary.code = code_of(list(recorded.trace.stacks()), sites)
            check = request.checks[0].command
            images = Images(
                self._folder / "image",
                check,
                request.timeout_s,
                environment(),
                before=request.pool,
            )
            self.summary.lints, missed = lints_of(
                recorded.trace,
                sites,
                images,
                eadr=request.eadr,
                ended=not recorded.failed,
                # A recording that is gone on with was compared when it was made.
                pool=None if self._request.resume else self._pool,
            )
            self.summary.warn([missed] if missed else [])

    def _explore_with(
        self, plan: Plan, recorded: Recorded, oracle: Oracle | None, progress: Progress
    ) -> None:
        engines: list[Engine] = []
        try:
            for worker in range(plan.workers):
                engines.append(Engine(plan, worker, self._folder / f"state-{worker}", oracle))
            if not _accepts_uncrashed(recorded, engines[0]) and plan.served:
                raise ServedDiffersError
            self._say(f"the checker is {_WAYS[engines[0].ways[0]]}")
            judge = Judge(time.monotonic() + plan.seconds)
            self.bugs.with_judge(judge)
            Exploration(recorded.trace, plan, engines, progress).run(judge, self.bugs)
        finally:
            for engine in engines:
                engine.close()


def _held_bytes(trace: Trace) -> int:
    """Return what the image of an explorer takes at most: its lines are all in the trace."""
    pages = trace.counts.get(Kind.BASE, 0) + trace.counts.get(Kind.STORE, 0)
    return min(trace.pool_bytes, pages * PAGE_BYTES)


def _copy(source: Path, pool: Path) -> None:
    try:
        if source.stat().st_size > MOST_POOL_BYTES:
            raise CommandError(
                f"{source} is larger than {MOST_POOL_BYTES >> 20} MiB, more than is explored: "
                "give the program a smaller pool"
            )
        copy_sparse(source, pool)
    except OSError as error:
        raise CommandError(f"cannot read the pool {source}: {error.strerror}") from error


def _accepts_uncrashed(recorded: Recorded, engine: Engine) -> bool:
    """Refuse a checker that does not like what the program leaves when nothing goes wrong.

    Return whether the checker that stays loaded accepts it as well.
    """
    engine.send("U")
    served, plain = ((answer.text(), answer.text()) for answer in (engine.take(), engine.take()))
    symptom, text = plain
    if symptom:
        lines = text.strip().splitlines()
        said = f": {lines[-1]}" if lines else ""
        ended = f"; the program itself {recorded.exit_status}" if recorded.failed else ""
        raise NearfarError(
            f"the checker refuses the pool as the program left it, without any crash "
            f"({symptom}{said}{ended}); mend the checker or the program first",
            ExitCode.PROGRAM_FAILED if recorded.failed else ExitCode.WRONG_USE,
        )
    return not served[0]
